package table

import (
	"math"
	"time"
)

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
