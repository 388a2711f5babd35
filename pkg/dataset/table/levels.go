package table

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Ordered reports whether the levels of a column have an order.
func (c Column) Ordered() bool { return c.Kind != Categorical }

// span is the range of a numeric or date column, in numbers or days.
func (c Column) span() (low, high float64) {
	if c.Kind == Date {
		return day(c.First), day(c.Last)
	}
	return *c.Low, *c.High
}

// day counts days from 1970; texts of a checked schema are days.
func day(text string) float64 {
	t, _ := time.Parse(time.DateOnly, text) // Check has parsed it
	return math.Floor(float64(t.Unix()) / 86400)
}

// steps returns the first and the last value of a numeric or date column's range, in
// units of the last decimal. The ends themselves may have more decimals than values.
func (c Column) steps() (first, last float64) {
	low, high := c.span()
	digits := math.Pow10(c.Decimals)
	// A quotient is the number that its decimals spell; a product may be beside it.
	if first = math.Round(low * digits); first/digits < low {
		first++
	}
	if last = math.Round(high * digits); last/digits > high {
		last--
	}
	return first + 0, last + 0 // which are no −0
}

// whole returns how many values a numeric or date column can have if each is to
// be a level of its own, 0 if there are too many or the scale is logarithmic.
func (c Column) whole() int {
	if c.Scale == "log" {
		return 0
	}
	first, last := c.steps()
	if last-first >= fineLevels {
		return 0
	}
	return int(last-first) + 1
}

// Levels is how many values a column can have but for a missing one: its names,
// its numbers if they are few, or bins of its range.
func (c Column) Levels() int {
	if c.Kind == Categorical || c.Kind == Ordinal {
		return len(c.Values)
	}
	if whole := c.whole(); whole > 0 {
		return whole
	}
	return fineLevels
}

// Groups is how many groups of levels a column has beside other columns: its
// levels, or Bins of them.
func (c Column) Groups() int {
	if c.Kind == Categorical || c.Kind == Ordinal {
		return len(c.Values)
	}
	bins := c.Bins
	if bins == 0 {
		bins = DefaultBins
	}
	return min(bins, c.Levels())
}

// Group returns the group of a code: 0 for a missing value, then 1 to Groups.
func (c Column) Group(code Code) Code {
	if code == 0 {
		return 0
	}
	return Code((int(code)-1)*c.Groups()/c.Levels()) + 1
}

// place maps a number of the range to [0, 1].
func (c Column) place(v float64) float64 {
	low, high := c.span()
	if c.Scale == "log" {
		return math.Log1p((v-low)/c.LogUnit()) / math.Log1p((high-low)/c.LogUnit())
	}
	return (v - low) / (high - low)
}

// unplace is the inverse of place.
func (c Column) unplace(t float64) float64 {
	low, high := c.span()
	if c.Scale == "log" {
		return low + c.LogUnit()*math.Expm1(t*math.Log1p((high-low)/c.LogUnit()))
	}
	return low + t*(high-low)
}

// level returns the code of a number, which is moved into the range.
func (c Column) level(v float64) Code {
	low, high := c.span()
	v = min(max(v, low), high)
	levels := c.Levels()
	var k float64
	if c.whole() > 0 {
		first, _ := c.steps()
		k = math.Round(v*math.Pow10(c.Decimals)) - first
	} else {
		k = math.Floor(c.place(v) * float64(levels))
	}
	return Code(min(max(k, 0), float64(levels-1))) + 1
}

// Place is where a code lies in its column's range, in [0, 1]: the middle of its
// bin. It is for columns with an order, and 0 for a missing value.
func (c Column) Place(code Code) float64 {
	if code == 0 {
		return 0
	}
	if c.Kind == Ordinal || c.whole() > 0 {
		return float64(code-1) / float64(max(1, c.Levels()-1))
	}
	return (float64(code) - 0.5) / float64(c.Levels())
}

// Nearest returns the code of the level that Place puts nearest to t.
func (c Column) Nearest(t float64) Code {
	levels := float64(c.Levels())
	t = min(max(t, 0), 1)
	if c.Kind == Ordinal || c.whole() > 0 {
		return Code(math.Round(t*(levels-1))) + 1
	}
	return Code(min(math.Floor(t*levels), levels-1)) + 1
}

// start is where a bin begins.
func (c Column) start(code Code, bins int) float64 {
	if c.whole() > 0 {
		first, _ := c.steps()
		return (first + math.Ceil(float64(code-1)*float64(c.Levels())/float64(bins))) / math.Pow10(c.Decimals)
	}
	return c.unplace(float64(code-1) / float64(bins))
}

func (c Column) value(v float64) string {
	if c.Kind == Date {
		return time.Unix(int64(v)*86400, 0).UTC().Format(time.DateOnly)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// number returns a value as a number: of a name the number that it spells, of a day
// its number from 1970; NaN if it is missing.
func (c Column) number(code Code, rng *rand.Rand) float64 {
	switch {
	case code == 0:
		return math.NaN()
	case c.Values != nil:
		v, err := strconv.ParseFloat(c.Values[code-1], 64)
		if err != nil {
			return math.NaN() // CheckEnding refuses such a column
		}
		return v
	}
	return c.draw(code, rng)
}

// Edge is where group g, from 0, begins, as a number, or as a year of a day.
func (c Column) Edge(g int) float64 {
	if c.Values != nil {
		return float64(g)
	}
	v := c.start(Code(g+1), c.Groups())
	if c.Kind == Date {
		return 1970 + v/365.2425
	}
	return v
}

// LogUnit is the unit of a log scale.
func (c Column) LogUnit() float64 { return cmp.Or(c.Unit, 1) }
