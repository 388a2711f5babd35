package table

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Code is a value of a column as a number: 0 for a missing one, then 1 to
// Column.Levels.
type Code = uint16

// Describe tells people what a column's schema declares.
func (c Column) Describe() string { return c.describe(8) }

// Declare is Describe with all names, for whoever is to say that they are public; the
// whole text of a long one is in the schema alone.
func (c Column) Declare() string { return c.describe(math.MaxInt) }

func (c Column) describe(names int) string {
	var text string
	switch c.Kind {
	case Numeric:
		text = fmt.Sprintf("numbers from %v to %v", *c.Low, *c.High)
		if c.Decimals > 0 {
			text += fmt.Sprintf(" with %d decimals", c.Decimals)
		}
		if c.Format != "" {
			text += ", written as " + c.Format
		}
		if c.Scale == "log" {
			text += ", by logarithm"
			if c.Unit > 0 {
				text += fmt.Sprintf(" of 1 + (value − low)/%v", c.Unit)
			}
		}
	case Date:
		text = fmt.Sprintf("days from %s to %s", c.First, c.Last)
		if c.Format != "" {
			text += ", written as " + c.Format
		}
	case Categorical, Ordinal:
		shown, rest := c.Values, ""
		if len(shown) > names {
			shown, rest = shown[:names], fmt.Sprintf(" … and %d more", len(c.Values)-names)
		}
		briefly := make([]string, len(shown))
		for i, v := range shown {
			briefly[i] = brief(v)
		}
		text = fmt.Sprintf("%s, %s: %s%s", c.Kind, counted(len(c.Values)), strings.Join(briefly, ", "), rest)
	default:
		return "excluded"
	}
	if c.Bins > 0 {
		text += fmt.Sprintf("; %d bins", c.Bins)
	}
	if c.Missing {
		text += "; may be missing"
	}
	return text
}

// longest is how many characters of a value people are shown: lines of a table are as
// wide as its longest text.
const longest = 40

// brief cuts a long text.
func brief(text string) string {
	at := 0
	for i := range text {
		if at++; at == longest { // what comes before, and the sign that it is cut
			if utf8.RuneCountInString(text[i:]) > 1 {
				return text[:i] + "…"
			}
			break
		}
	}
	return text
}

func counted(values int) string {
	if values == 1 {
		return "1 value"
	}
	return fmt.Sprintf("%d values", values)
}

// Check returns an error unless the column's settings fit its kind.
func (c Column) Check() error {
	if c.Bins < 0 || c.Bins > fineLevels {
		return fmt.Errorf("bins is %d; expected 1 to %d, or 0 for %d", c.Bins, fineLevels, DefaultBins)
	}
	switch c.Kind {
	case Numeric:
		return c.checkNumeric()
	case Date:
		return c.checkDate()
	case Categorical, Ordinal:
		return c.checkValues()
	case Exclude:
		return nil
	}
	return fmt.Errorf("kind is %q; expected %s, %s, %s, %s or %s", c.Kind, Numeric, Categorical, Ordinal, Date, Exclude)
}

func (c Column) checkNumeric() error {
	switch {
	case c.Low == nil || c.High == nil:
		return errors.New("a numeric column needs low and high: the range that its values can have, known without looking at them")
	case !(*c.Low < *c.High) || math.IsInf(*c.High-*c.Low, 0):
		return fmt.Errorf("low is %v and high is %v; expected low below high, and a finite number from one to the other; a column that always has one value is \"kind\": \"categorical\", or \"exclude\"", *c.Low, *c.High)
	case c.Decimals < 0 || c.Decimals > 12:
		return fmt.Errorf("decimals is %d; expected 0 to 12", c.Decimals)
	case c.Scale != "" && c.Scale != "linear" && c.Scale != "log":
		return fmt.Errorf("scale is %q; expected linear or log", c.Scale)
	case c.Format != "" && !slices.Contains(notations, c.Format):
		return fmt.Errorf("format is %q; expected how 1234.5 is written, one of %s", c.Format, strings.Join(notations, ", "))
	case !(c.Unit >= 0) || math.IsInf(c.Unit, 0):
		return fmt.Errorf("unit is %v; expected a number above 0, or 0 for 1", c.Unit)
	}
	if most := mostSteps(c.Decimals); max(-*c.Low, *c.High) > most {
		return fmt.Errorf("low is %v and high is %v with %d decimals; expected numbers up to %g, as larger ones cannot be told apart to the last digit; take fewer decimals, or a larger unit", *c.Low, *c.High, c.Decimals, most)
	}
	if first, last := c.steps(); first >= last {
		return fmt.Errorf("low is %v and high is %v, and fewer than two numbers with %d decimals lie between; take more decimals, or a wider range", *c.Low, *c.High, c.Decimals)
	}
	// Beyond this the logarithm of a place, or its inverse, is no number, and the code
	// of a value would be left to chance.
	if units := (*c.High - *c.Low) / c.LogUnit(); c.Scale == "log" && !(units >= leastUnits && units <= mostUnits) {
		return fmt.Errorf("unit is %v and the range %v long: %.3g units; a log scale takes %v to %v of them", c.LogUnit(), *c.High-*c.Low, units, leastUnits, mostUnits)
	}
	return c.onlyFor(Numeric)
}

// mostSteps is up to where a float64 tells all numbers with so many decimals apart, and
// finds each again by a product: all whole ones, and a quarter of them as quotients.
func mostSteps(decimals int) float64 {
	if decimals == 0 {
		return 1 << 53
	}
	return (1 << 51) / math.Pow10(decimals)
}

// How many units the range of a log scale may have.
const (
	leastUnits = 1e-6
	mostUnits  = 1e300
)

func (c Column) checkDate() error {
	if c.Format != "" && layouts[c.Format] == "" {
		return fmt.Errorf("format is %q; expected one of %s", c.Format, strings.Join(formats, ", "))
	}
	first, err := time.Parse(time.DateOnly, c.First)
	if err != nil {
		return fmt.Errorf("first is %q; expected the earliest possible day as 2006-01-31", c.First)
	}
	last, err := time.Parse(time.DateOnly, c.Last)
	if err != nil || !last.After(first) {
		return fmt.Errorf("last is %q; expected the latest possible day as 2006-01-31, after %s", c.Last, c.First)
	}
	return c.onlyFor(Date)
}

func (c Column) checkValues() error {
	if len(c.Values) == 0 || len(c.Values) > MaxValues {
		return fmt.Errorf("%d values; expected 1 to %d names; exclude a column of names or free text", len(c.Values), MaxValues)
	}
	seen := map[string]bool{}
	for _, v := range c.Values {
		if !utf8.ValidString(v) {
			return fmt.Errorf("value %q is no UTF-8; save the table as UTF-8", v)
		}
		if strings.Contains(v, "\r") {
			return fmt.Errorf("value %q has a carriage return, which CSV does not keep; exclude a column of free text", v)
		}
		if v == "" || strings.TrimSpace(v) != v {
			return fmt.Errorf("value %q; expected text without space around it; for no value there is \"missing\": true", v)
		}
		if seen[v] {
			return fmt.Errorf("value %q is there twice", v)
		}
		seen[v] = true
	}
	return c.onlyFor(c.Kind)
}

// onlyFor refuses settings of another kind: they would be left out in silence.
func (c Column) onlyFor(kind Kind) error {
	switch {
	case kind != Numeric && (c.Low != nil || c.High != nil || c.Scale != "" || c.Unit != 0 || c.Decimals != 0):
		return fmt.Errorf("low, high, decimals, scale and unit are for numeric columns, this one is %s", kind)
	case kind != Date && (c.First != "" || c.Last != ""):
		return fmt.Errorf("first and last are for date columns, this one is %s", kind)
	case kind != Date && kind != Numeric && c.Format != "":
		return fmt.Errorf("format is for numeric and date columns, this one is %s", kind)
	case kind != Date && kind != Numeric && c.Bins != 0:
		return fmt.Errorf("bins are for numeric and date columns, this one is %s", kind)
	case (kind == Numeric || kind == Date) && c.Values != nil:
		return fmt.Errorf("values are for categorical and ordinal columns, this one is %s", kind)
	}
	return nil
}

// text draws a value of a level: within its bin by the column's scale, rounded to
// its decimals. A missing value is empty.
func (c Column) text(code Code, rng *rand.Rand) string {
	switch {
	case code == 0:
		return ""
	case c.Kind == Categorical || c.Kind == Ordinal:
		return c.Values[code-1]
	}
	v := c.draw(code, rng)
	if c.Kind == Date {
		return time.Unix(int64(v)*86400, 0).UTC().Format(c.layout())
	}
	return notationOf(c.Format).write(strconv.FormatFloat(v, 'f', c.Decimals, 64))
}

// draw returns a number or day of a level.
func (c Column) draw(code Code, rng *rand.Rand) float64 {
	first, last := c.steps()
	digits := math.Pow10(c.Decimals)
	if c.whole() > 0 {
		return c.present((first + float64(code-1)) / digits)
	}
	v := c.unplace((float64(code-1) + rng.Float64()) / float64(c.Levels()))
	return c.present((min(max(math.Round(v*digits), first), last) + 0) / digits)
}

// Label names a level for people.
func (c Column) Label(code Code) string {
	switch {
	case code == 0:
		return "(missing)"
	case c.Kind == Categorical || c.Kind == Ordinal:
		return c.Values[code-1]
	}
	return c.value(c.start(code, c.Levels()))
}

// GroupLabel names a group of levels for people: a name, a number, or a range.
func (c Column) GroupLabel(group Code) string {
	groups := c.Groups()
	if group == 0 || groups == c.Levels() {
		return c.Label(group)
	}
	return c.value(c.start(group, groups)) + "…"
}
