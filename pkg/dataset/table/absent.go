package table

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// MissingTexts tells people which texts stand for no value: one that is a name in some
// columns is a value there.
func (s *Schema) MissingTexts() string {
	var told []string
	for _, text := range s.Missing {
		said := brief(text)
		if named, _ := s.named(text); len(named) > 0 {
			said += " (but a value of " + strings.Join(named, ", ") + ")"
		}
		told = append(told, said)
	}
	return strings.Join(told, ", ")
}

// named returns the columns that have a text as a name, and whether values may be missing
// in any other.
func (s *Schema) named(text string) (columns []string, elsewhere bool) {
	for _, c := range s.Modelled() {
		if slices.Contains(c.Values, text) {
			columns = append(columns, c.Name)
		} else if c.Missing {
			elsewhere = true
		}
	}
	return columns, elsewhere
}

// checkMissing refuses texts that stand for no value nowhere, as where a column has them
// they are values.
func (s *Schema) checkMissing() error {
	for _, text := range s.Missing {
		if columns, elsewhere := s.named(text); len(columns) > 0 && !elsewhere {
			return fmt.Errorf("missing has %q, which is one of the values of column %q, and values are missing in no other: it cannot be both a value and none; take it off one of the lists", text, columns[0])
		}
	}
	return nil
}

// absentNumbers are the numbers, or days, of a column that stand for no value: what the
// schema's texts for that spell in the column's notation. −1 is then −1.0, too, and the
// same in a file that has numbers and no texts.
func (s *Schema) absentNumbers(c Column) map[float64]bool {
	absent := map[float64]bool{}
	for _, text := range s.Missing {
		switch c.Kind {
		case Numeric:
			v, _, err := notationOf(c.Format).parse(text)
			if err != nil {
				v, _, err = notationOf("").parse(text)
			}
			if err == nil && !math.IsNaN(v) {
				absent[v] = true
			}
		case Date:
			if v, ok := c.dayOf(text); ok {
				absent[v] = true
			}
		}
	}
	return absent
}

// dayOf reads a day, in the column's format or the default one, with a time of day behind
// it perhaps, and counts it from 1970.
func (c Column) dayOf(text string) (float64, bool) {
	t, err := time.Parse(c.layout(), text)
	if err != nil {
		if t, err = time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))]); err != nil {
			return 0, false
		}
	}
	return math.Floor(float64(t.Unix()) / 86400), true
}

// present returns the value of the column's range nearest to v that does not stand for no
// value: what is written is to be read as what it was. v is one of the range's.
func (c Column) present(v float64) float64 {
	if !c.absent[v] {
		return v
	}
	first, last := c.steps()
	digits := math.Pow10(c.Decimals)
	k := math.Round(v * digits)
	for away := 1.0; away <= float64(len(c.absent)); away++ {
		for _, near := range []float64{k + away, k - away} {
			if near >= first && near <= last && !c.absent[near/digits] {
				return near / digits
			}
		}
	}
	return v // all of the range does
}
