package transport

import (
	"math"
	"testing"
)

// A sum beside ½, whose plain additions round up one by one: 2⁻⁵⁴·1.5 is kept by the
// compensation and becomes 2⁻⁵³, a third more, without it.
func TestSumsDoNotDrift(t *testing.T) {
	const n, small = 1_000_000, 1.5 * 0x1p-54
	var s Sum
	plain := 0.5
	s.Add(0.5)
	for range n {
		s.Add(small)
		plain += small
	}
	want := 0.5 + n*small
	if !(math.Abs(s.Value()-want) <= 0x1p-52) {
		t.Errorf("the sum is off by %g", s.Value()-want)
	}
	if !(math.Abs(plain-want) >= 100*0x1p-52) {
		t.Errorf("a plain sum is off by %g: the test has lost its power", plain-want)
	}
}

func TestSumOfOpposites(t *testing.T) {
	var s Sum
	for i := range 1000 {
		s.Add(float64(i) + 0.1)
	}
	for i := range 1000 {
		s.Add(-float64(i) - 0.1)
	}
	if !(math.Abs(s.Value()) <= 1e-9) {
		t.Errorf("what was added and taken away leaves %g", s.Value())
	}
}
