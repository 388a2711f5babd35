package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// What comes out of a column is what could go in: every number of its range with its
// decimals, and no other, wherever the ends of the range lie.
func TestNumbersComeBackAsTheyWere(t *testing.T) {
	for _, c := range []struct {
		low, high   float64
		decimals    int
		first, last string
		count       int
	}{
		{10, 50, 0, "10", "50", 41},
		{10.5, 50.5, 0, "11", "50", 40},
		{-0.5, 1.5, 0, "0", "1", 2},
		{-2.5, -0.5, 0, "-2", "-1", 2},
		{0.07, 0.29, 2, "0.07", "0.29", 23},
		{-1.15, 1.15, 2, "-1.15", "1.15", 231},
		{0.075, 0.295, 2, "0.08", "0.29", 22},
	} {
		t.Run(fmt.Sprintf("%v to %v", c.low, c.high), func(t *testing.T) {
			column := Column{Name: "x", Kind: Numeric, Low: number(c.low), High: number(c.high), Decimals: c.decimals}
			if err := column.Check(); err != nil {
				t.Fatal(err)
			}
			if column.Levels() != c.count {
				t.Errorf("%d levels, want %d", column.Levels(), c.count)
			}
			coded := newCoder(&Schema{}, column, true)
			for code := Code(1); int(code) <= column.Levels(); code++ {
				text := column.text(code, nil)
				if code == 1 && text != c.first || int(code) == column.Levels() && text != c.last {
					t.Errorf("level %d is %s, want %s to %s", code, text, c.first, c.last)
				}
				if back, fault := coded.code(text); back != code || fault != fine {
					t.Errorf("level %d is written as %s, and read as %d", code, text, back)
				}
			}
		})
	}
}

// Of ranges with more numbers than levels, too, what is drawn lies in the range and on
// its decimals.
func TestDrawnNumbersHaveTheirDecimals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []Column{
		{Kind: Numeric, Low: number(0.5), High: number(9_007_199_254_740_992)},
		{Kind: Numeric, Low: number(-0.07), High: number(999.07), Decimals: 2},
		{Kind: Numeric, Low: number(0.3), High: number(1e6), Scale: "log"},
	} {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		for code := Code(1); int(code) <= c.Levels(); code++ {
			v := c.draw(code, rng)
			short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', c.Decimals, 64), 64)
			if err != nil || short != v || !(v >= *c.Low && v <= *c.High) {
				t.Errorf("%s: drawn is %v", c.Describe(), v)
			}
			if c.Decimals == 0 && int64(v) < 0 {
				t.Errorf("%s: %v is %d as a whole number", c.Describe(), v, int64(v))
			}
		}
	}
}

func TestRangesWithoutNumbersAreRefused(t *testing.T) {
	for want, c := range map[string]Column{
		"fewer than two": {Kind: Numeric, Low: number(0), High: number(0.8)},
		"up to 9.0":      {Kind: Numeric, Low: number(0), High: number(1e20)},
		"fewer decimals": {Kind: Numeric, Low: number(-1e10), High: number(1), Decimals: 6},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
}

// A draft of any numbers is a whole schema.
func TestADraftOfAnyNumbersIsWhole(t *testing.T) {
	var b strings.Builder
	b.WriteString("huge,tiny,fine,least,sum,sex\n")
	for i := range 50 {
		fmt.Fprintf(&b, "%de19,%de-3,%d.12345678,%de-40,%d00000000000.123456,%s\n", i%7, i%7, i, i%7, i, []string{"f", "m"}[i%2])
	}
	source, err := newCSV(strings.NewReader(b.String()), "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Draft(t.Context(), "numbers", source, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []Column{{Kind: Exclude}, {Kind: Numeric, Decimals: 3}, {Kind: Numeric, Decimals: 6}, {Kind: Exclude}, {Kind: Numeric, Decimals: 2}} {
		if c := s.Columns[i]; c.Kind != want.Kind || c.Decimals != want.Decimals || c.Note == "" {
			t.Errorf("drafted is %+v, want %+v", c, want)
		}
	}
}

// As many numbers as a column may have it tells apart: each is read as what it was written
// as, up to the last one's ends.
func TestTheLargestNumbersAreToldApart(t *testing.T) {
	for _, decimals := range []int{0, 1, 2, 6, 12} {
		most := mostSteps(decimals)
		for _, high := range []float64{most, most / 1.9, most / 3} {
			c := Column{Name: "x", Kind: Numeric, Decimals: decimals, High: &high}
			low := high - 100/math.Pow10(decimals)
			if c.Low = &low; c.Check() != nil {
				t.Fatal(c.Check())
			}
			k := newCoder(&Schema{}, c, true)
			for code := Code(1); int(code) <= c.Levels(); code++ {
				if got, fault := k.code(c.text(code, nil)); got != code || fault != fine {
					t.Errorf("%d decimals up to %v: code %d came back as %d", decimals, high, code, got)
				}
			}
		}
	}
}
