package sinkhorn

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

// All costs at once are those of each pair, for numbers of columns that fill the machine's
// lanes and others.
func TestCostsAreThoseOfPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for _, cost := range []Cost{SquaredL2, L1, L2, Mixture{Squared: 1, Absolute: 0.3}, Func{Value: func(x, y []float32) float64 { return float64(x[0] * y[0]) }}} {
		for _, m := range []int{1, 7, 16, 57} {
			x, y := transport.NewPoints(5, 9), transport.NewPoints(m, 9)
			for _, p := range []transport.Points{x, y} {
				for i := range p.Data {
					p.Data[i] = float32(rng.NormFloat64())
				}
			}
			costs, err := Costs(x, y, cost)
			if err != nil || len(costs) != 5*m {
				t.Fatalf("%d costs, %v", len(costs), err)
			}
			for k, c := range costs {
				if want := cost.At(x.Row(k/m), y.Row(k%m)); !(math.Abs(c-want) <= 1e-12*(1+math.Abs(want))) {
					t.Errorf("%v, %d columns: cost %d is %v, want %v", cost, m, k, c, want)
				}
			}
		}
	}
	far := transport.NewPoints(3, 2)
	copy(far.Data, []float32{1e12, 0, 1, 2, 3, 4})
	for _, cost := range []Cost{SquaredL2, L2} {
		costs, err := Costs(far, far, cost)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range costs {
			if want := cost.At(far.Row(k/3), far.Row(k%3)); !(math.Abs(c-want) <= 1e-7*want) {
				t.Errorf("%v beside an outlier: cost %d is %v, want %v", cost, k, c, want)
			}
		}
	}
	if _, err := Costs(transport.NewPoints(2, 3), transport.NewPoints(2, 4), L1); err == nil {
		t.Error("points of other dimensions have costs")
	}
}
