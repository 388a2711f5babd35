package table

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// formats of days, the default first.
var formats = []string{"YYYY-MM-DD", "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "YYYY/MM/DD", "YYYYMMDD"}

var layouts = map[string]string{
	"YYYY-MM-DD": "2006-01-02", "DD.MM.YYYY": "02.01.2006", "DD/MM/YYYY": "02/01/2006",
	"MM/DD/YYYY": "01/02/2006", "YYYY/MM/DD": "2006/01/02", "YYYYMMDD": "20060102",
}

func (c Column) layout() string {
	if c.Format == "" {
		return time.DateOnly
	}
	return layouts[c.Format]
}

// fault says how a value disagrees with its schema.
type fault int

const (
	fine    fault = iota
	clamped       // a number or day beyond the range
	unknown       // no number, no day, no name of the column
	absent        // missing, in a column that says it never is
)

// coder turns the texts of a column into codes.
type coder struct {
	Column
	schema   *Schema
	names    map[string]Code
	days     bool // whether days may be their number from 1970, as in an archive of numbers
	notation notation
}

// newCoder returns the coder of a column, whose values are texts of whoever wrote the file
// or numbers and days that this package has spelled.
func newCoder(s *Schema, c Column, texts bool) coder {
	c.absent = s.absentNumbers(c)
	k := coder{Column: c, schema: s, notation: notationOf("")}
	if texts && c.Kind == Numeric {
		k.notation = notationOf(c.Format)
	}
	if c.Values != nil {
		k.names = make(map[string]Code, len(c.Values))
		for i, v := range c.Values {
			k.names[v] = Code(i + 1)
		}
	}
	return k
}

// code returns the code of a text, which depends on the text and the schema alone.
func (k coder) code(text string) (Code, fault) {
	text = strings.TrimSpace(text)
	if k.names != nil { // a name may be a text that stands for a missing value elsewhere
		if code, ok := k.names[text]; ok {
			return code, fine
		}
	}
	if k.schema.missing(text) {
		return k.none()
	}
	var v float64
	switch k.Kind {
	case Numeric:
		parsed, _, err := k.notation.parse(text)
		if math.IsNaN(parsed) || err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, unknown
		}
		v = parsed
	case Date:
		day, ok := k.dayOf(text)
		if !ok && k.days {
			var err error
			day, err = strconv.ParseFloat(text, 64)
			ok = err == nil && day == math.Trunc(day)
		}
		if !ok {
			return 0, unknown
		}
		v = day
	default:
		return 0, unknown
	}
	if k.absent[v] {
		return k.none()
	}
	if low, high := k.span(); v < low || v > high {
		return k.level(v), clamped
	}
	return k.level(v), fine
}

// none is the code of a missing value.
func (k coder) none() (Code, fault) {
	if !k.Missing {
		return 0, absent
	}
	return 0, fine
}
