package sampling

import (
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/privacy/accountant"
)

// stratified takes 2 of 5, 7 of 11, 0 of 3 and 1 of 1 rows, interleaved.
func stratified(t *testing.T) (s Stratified, categories []int) {
	t.Helper()
	categories = []int{0, 1, 1, 2, 0, 1, 1, 3, 1, 2, 0, 1, 1, 0, 1, 1, 2, 1, 0, 1}
	s, err := NewStratified(categories, []int{2, 7, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	return s, categories
}

func TestStratifiedDrawsCategoryByCategory(t *testing.T) {
	s, categories := stratified(t)
	draws(t, s, len(categories), 100, func(batch []int) {
		if len(batch) != 10 {
			t.Fatalf("%d rows, want 10", len(batch))
		}
		for i, row := range batch {
			want := 1
			if i < 2 {
				want = 0
			} else if i == 9 {
				want = 3
			}
			if categories[row] != want {
				t.Fatalf("place %d of %v has category %d, want %d", i, batch, categories[row], want)
			}
		}
	})
}

func TestStratifiedIsAccountedForByItsDensestCategory(t *testing.T) {
	base := accountant.Gaussian{NoiseMultiplier: 2}
	categories := make([]int, 100)
	for i := range categories[:30] {
		categories[i] = 1
	}
	for _, c := range []struct {
		sizes            []int
		size, population int
	}{
		{[]int{10, 5}, 5, 30}, {[]int{12, 5}, 12, 70}, {[]int{0, 0}, 0, 100}, {[]int{70, 1}, 70, 70}, {[]int{7, 3, 0}, 7, 70},
	} {
		s, err := NewStratified(categories, c.sizes)
		if err != nil {
			t.Fatal(err)
		}
		want := accountant.FixedSizeSampled{Size: c.size, Population: c.population, Event: base}
		if got := s.Event(100, base); got != want {
			t.Errorf("%v: %v, want %v", s, got, want)
		}
		if accountant.Validate(s.Event(99, base)) == nil {
			t.Errorf("%v of 99 rows is a valid event", s)
		}
	}
}

func TestStratifiedRefusesBadInput(t *testing.T) {
	_, category := NewStratified([]int{0, 2}, []int{1, 1})
	_, negative := NewStratified([]int{0, -1}, []int{1, 1})
	_, size := NewStratified([]int{0, 1, 1}, []int{1, 3})
	_, below := NewStratified([]int{0}, []int{-1})
	s, categories := stratified(t)
	_, rows := s.Draw(len(categories)+1, rand.New(rand.NewPCG(1, 1)))
	for want, err := range map[string]error{
		"row 1 has category 2": category, "row 1 has category -1": negative, "3 rows of category 1, which has 2": size,
		"-1 rows": below, "found 21 rows": rows,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
	categories[0], categories[1] = 1, 0
	if other, err := NewStratified(categories, []int{2, 7, 0, 1}); err != nil || Identify(other) == Identify(s) || other.String() != s.String() {
		t.Errorf("samplers of other rows: %q and %q, shown as %v and %v (%v); want names of their own, and one text", Identify(s), Identify(other), s, other, err)
	}
}
