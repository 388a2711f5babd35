package train

import (
	"math"
	"strings"
	"testing"
)

// A rate that is constant is, and a cosine falls from the highest at every step, through
// half of it in the middle, almost to 0.
func TestSchedules(t *testing.T) {
	for _, s := range []Schedule{Constant, Cosine} {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		last := math.Inf(1)
		for step := range 100 {
			rate := s.Rate(0.5, step, 100)
			if s == Cosine && !(rate < last && rate > 0) || s != Cosine && rate != 0.5 {
				t.Errorf("%q: %v at step %d, after %v", s, rate, step, last)
			}
			last = rate
		}
	}
	if first, middle, last := Cosine.Rate(0.5, 0, 100), Cosine.Rate(0.5, 50, 100), Cosine.Rate(0.5, 99, 100); first != 0.5 || !(math.Abs(middle-0.25) <= 1e-12 && last <= 2e-4) {
		t.Errorf("cosine: %v, %v, %v", first, middle, last)
	}
	// After a third of the steps the cosine is 1/2, after two thirds −1/2.
	for step, want := range map[int]float64{30: 0.5 * 3 / 4, 60: 0.5 / 4} {
		if rate := Cosine.Rate(0.5, step, 90); !(math.Abs(rate-want) <= 1e-12) {
			t.Errorf("cosine: %v at step %d of 90, want %v", rate, step, want)
		}
	}
	for _, s := range []Schedule{"linear", ""} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), `; it is "constant" or "cosine"`) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
