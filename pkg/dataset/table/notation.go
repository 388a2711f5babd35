package table

import (
	"fmt"
	"strconv"
	"strings"
)

// notations are the ways to write numbers that are read, each by the example of one
// thousand two hundred and thirty-four and a half, the default first. Of those that fit all
// values alike a draft takes the first: 1,234 is more often a thousand than one and a bit.
var notations = []string{"1234.5", "1,234.5", "1234,5", "1.234,5", "1 234,5", "1 234.5", "1'234.5"}

// notation is how the numbers of a column are written.
type notation struct {
	group string // between thousands, "" for nothing
	point string // before decimals
}

// notationOf reads an example, the default for "".
func notationOf(format string) notation {
	if format == "" {
		format = notations[0]
	}
	n := notation{point: format[len(format)-2 : len(format)-1]}
	if len(format) == len("1,234.5") {
		n.group = format[1:2]
	}
	return n
}

// typeset are the spaces and the apostrophe that programs write for those on keyboards.
var typeset = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "’", "'")

// parse reads a number as strconv does, and a text that is none of this notation with
// strconv's error. Thousands may go without what stands between them, but not with it in
// another place: 12,34 is a slip where 1,234 is a thousand.
func (n notation) parse(text string) (v float64, plain string, err error) {
	if n == notationOf("") {
		v, err = strconv.ParseFloat(text, 64)
		return v, text, err
	}
	none := &strconv.NumError{Func: "ParseFloat", Num: text, Err: strconv.ErrSyntax}
	if n.group == " " || n.group == "'" {
		text = typeset.Replace(text)
	}
	whole, decimals, pointed := strings.Cut(text, n.point)
	if n.group != "" && strings.Contains(whole, n.group) {
		sign := whole[:len(whole)-len(strings.TrimLeft(whole, "+-"))]
		parts := strings.Split(whole[len(sign):], n.group)
		if len(parts[0]) < 1 || len(parts[0]) > 3 || parts[0][0] == '0' {
			return 0, "", none
		}
		for i, part := range parts {
			if i > 0 && len(part) != 3 || strings.Trim(part, "0123456789") != "" {
				return 0, "", none
			}
		}
		whole = sign + strings.Join(parts, "")
	}
	if plain = whole; pointed {
		plain += "." + decimals
	}
	if strings.Contains(whole, ".") || strings.Trim(plain, "0123456789+-.eE") != "" {
		return 0, "", none // a point that is not this notation's, or no decimal number
	}
	v, err = strconv.ParseFloat(plain, 64)
	return v, plain, err
}

// hint says in which notation the first value of a numeric column would be a number that
// is none in the column's.
func hint(c Column, d Disagreement) string {
	if c.Kind != Numeric || d.Unknown == 0 {
		return ""
	}
	if _, _, err := notationOf(c.Format).parse(d.Example); err == nil { // it disagrees otherwise
		return ""
	}
	for _, format := range notations {
		if _, _, err := notationOf(format).parse(d.Example); err == nil {
			return fmt.Sprintf("written like %s it would be a number: \"format\" in the schema says how numbers are written", format)
		}
	}
	return ""
}

// write turns a number with a decimal point, as strconv writes it, into this notation.
func (n notation) write(plain string) string {
	whole, decimals, pointed := strings.Cut(plain, ".")
	if n.group != "" {
		sign := whole[:len(whole)-len(strings.TrimLeft(whole, "-"))]
		digits := whole[len(sign):]
		first := (len(digits)-1)%3 + 1
		var b strings.Builder
		b.WriteString(sign + digits[:first])
		for at := first; at < len(digits); at += 3 {
			b.WriteString(n.group + digits[at:at+3])
		}
		whole = b.String()
	}
	if pointed {
		whole += n.point + decimals
	}
	return whole
}
