package fairness

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/transport"
)

// Eight people by hand.
var (
	decisions = []bool{true, false, false, true, true, true, false, true}
	group     = []int{0, 0, 0, 0, 1, 1, 1, 1}
	outcome   = []int{1, 1, 0, 0, 1, 1, 0, 0}
)

func TestByHand(t *testing.T) {
	for name, c := range map[string]struct {
		found func() (float64, error)
		want  float64
	}{
		"disparate impact": {func() (float64, error) { return DisparateImpact(decisions, group) }, (2. / 4) / (3. / 4)},
		"parity gap":       {func() (float64, error) { return ParityGap(decisions, group) }, 0.25},
		"EO_1":             {func() (float64, error) { return Odds(decisions, group, outcome, 1) }, 0.5},
		"EO_0":             {func() (float64, error) { return Odds(decisions, group, outcome, 0) }, 1},
		"KS":               {func() (float64, error) { return KolmogorovSmirnov([]float64{1, 2, 2, 5}, []float64{2, 3, 6}) }, 0.75 - 1./3},
		"KS of ties":       {func() (float64, error) { return KolmogorovSmirnov([]float64{1, 1}, []float64{1}) }, 0},
		"KS apart":         {func() (float64, error) { return KolmogorovSmirnov([]float64{4, 5}, []float64{1}) }, 1},
	} {
		if got, err := c.found(); err != nil || !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%s is %v, %v; want %v", name, got, err, c.want)
		}
	}
	over, err := OverDiagonal(transport.Points{Dim: 2, Data: []float32{1, -0.5, -1, 0.5, 0, 0, 0.1, 0}}, []int{0, 0, 1, 1})
	if err != nil || over != [2]float64{0.5, 0.5} {
		t.Errorf("over the diagonal: %v, %v", over, err)
	}
	if d, err := DisparateImpact([]bool{true, false}, []int{0, 1}); err != nil || !math.IsInf(d, 1) {
		t.Errorf("a group that is never chosen: %v, %v", d, err)
	}
}

// Exchanging the groups inverts the ratios, and leaves distances as they are; the
// order of rows does not matter.
func TestSymmetries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 20 + rng.IntN(50)
		d, g, other := make([]bool, n), make([]int, n), make([]int, n)
		var a, b []float64
		for i := range n {
			g[i] = i % 2
			other[i] = 1 - g[i]
			d[i] = i < 4 || rng.IntN(2) == 0
			if v := float64(rng.IntN(10)); g[i] == 0 {
				a = append(a, v)
			} else {
				b = append(b, v)
			}
		}
		one, _ := DisparateImpact(d, g)
		two, _ := DisparateImpact(d, other)
		if !(math.Abs(one*two-1) <= 1e-12) {
			t.Fatalf("disparate impact %v, and of exchanged groups %v", one, two)
		}
		rng.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
		first, err := KolmogorovSmirnov(a, b)
		second, _ := KolmogorovSmirnov(b, a)
		// The definition, at every value.
		var want float64
		for at := range 10 {
			below := func(x []float64) (share float64) {
				for _, v := range x {
					if v <= float64(at) {
						share += 1 / float64(len(x))
					}
				}
				return share
			}
			want = max(want, math.Abs(below(a)-below(b)))
		}
		if err != nil || first != second || !(math.Abs(first-want) <= 1e-12) {
			t.Fatalf("KS %v and %v, by its definition %v, %v", first, second, want, err)
		}
	}
}

func TestBadInputNamesTheGroup(t *testing.T) {
	for want, err := range map[string]error{
		"group 1 has no rows with outcome 1, so that nothing can be said of it; bring at least one of them, or leave this measure out": second(Odds([]bool{true, true}, []int{0, 1}, []int{1, 0}, 1)),
		"group 0 has no rows, so that nothing can be said of it; bring at least one of them, or leave":                                 second(DisparateImpact([]bool{true}, []int{1})),
		"row 1 is of group 2; there are the groups 0 and 1: recode the column, or drop the row":                                        second(ParityGap([]bool{true, true}, []int{0, 2})),
		"groups of 1 rows for 2": second(ParityGap([]bool{true, true}, []int{0})),
		"row 1 has outcome 2; there are the outcomes 0 and 1: recode the column, or drop the row": second(Odds([]bool{true, true}, []int{0, 1}, []int{1, 2}, 1)),
		"odds of outcome -1": second(Odds([]bool{true, true}, []int{0, 1}, []int{1, 0}, -1)),
		"give one each":      second(Odds([]bool{true}, []int{0}, nil, 1)),
		"empty sample":       second(KolmogorovSmirnov(nil, []float64{1})),
		"has NaN":            second(KolmogorovSmirnov([]float64{1, math.NaN()}, []float64{1})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want it to say %q", err, want)
		}
	}
	if _, err := OverDiagonal(transport.Points{Dim: 3}, nil); err == nil || !strings.Contains(err.Error(), "dimension 3") || !strings.Contains(err.Error(), "give two numbers a row") {
		t.Errorf("the diagonal of space: %v", err)
	}
}

func second(_ float64, err error) error { return err }
