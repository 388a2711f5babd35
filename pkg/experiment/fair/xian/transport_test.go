package xian

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// twoHumps are distributions to the left and to the right.
func twoHumps(k int, weight float64) Histogram {
	h := Histogram{Bins: Bins{Low: -1, High: 1, Count: k}, Weights: [2]float64{weight, 1 - weight}}
	for a, at := range []float64{-0.4, 0.3} {
		h.Given[a] = make([]float64, k)
		for i := range k {
			h.Given[a][i] = math.Exp(-math.Pow((h.Bins.Middle(i)-at)/0.3, 2))
		}
		h.Given[a][k/3] = 0 // as noise makes them
		floats.Scale(1/floats.Sum(h.Given[a]), h.Given[a])
	}
	return h
}

func apart(t *Transport) float64 {
	a := floats.CumSum(make([]float64, t.Bins.Count), t.Moved[0])
	b := floats.CumSum(make([]float64, t.Bins.Count), t.Moved[1])
	return floats.Distance(a, b, math.Inf(1))
}

// Two people at a distance of 4 bins, with shares ¼ and ¾: both move to where the
// mean is, 3 bins and 1 from them, which costs ¼·9 + ¾·1 = 3 squares of a bin.
func TestBarycentreByHand(t *testing.T) {
	h := Histogram{Bins: Bins{Low: 0, High: 5, Count: 5}, Weights: [2]float64{0.25, 0.75},
		Given: [2][]float64{{1, 0, 0, 0, 0}, {0, 0, 0, 0, 1}}}
	for _, c := range []struct {
		radius, cost float64
		moved        [2][]float64
	}{
		{0, 3, [2][]float64{{0, 0, 0, 1, 0}, {0, 0, 0, 1, 0}}},
		// Half of each group may stay apart.
		{0.25, 1.5, [2][]float64{{0.5, 0, 0, 0.5, 0}, {0, 0, 0, 0.5, 0.5}}},
		{0.5, 0, h.Given},
		{1, 0, h.Given},
	} {
		tr, err := NewTransport(h, c.radius)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(tr.Cost-c.cost) <= 1e-9 && apart(tr) <= 2*c.radius+1e-9) {
			t.Errorf("β = %v costs %v with groups %v apart; want %v", c.radius, tr.Cost, apart(tr), c.cost)
		}
		for a := range c.moved {
			if c.radius != 0.25 && !floats.EqualApprox(tr.Moved[a], c.moved[a], 1e-9) {
				t.Errorf("β = %v moves group %d to %v, want %v", c.radius, a, tr.Moved[a], c.moved[a])
			}
		}
	}
}

// Groups end within 2β of each other, at a cost that falls as β grows, to none where
// they are as near from the start; and β = 0 costs what the barycentre of quantiles
// does, but for its rounding to bins: Σ w_a W²₂(h_a, bar) = w₀w₁W²₂(h₀, h₁).
func TestTransportKeepsItsRadius(t *testing.T) {
	const k = 12
	h := twoHumps(k, 0.6)
	a := floats.CumSum(make([]float64, k), h.Given[0])
	b := floats.CumSum(make([]float64, k), h.Given[1])
	before := math.Inf(1)
	for _, radius := range []float64{0, 0.05, 0.1, 0.2, 0.4, 0.5} {
		tr, err := NewTransport(h, radius)
		if err != nil {
			t.Fatal(err)
		}
		if !(apart(tr) <= 2*radius+1e-9) {
			t.Errorf("β = %v leaves the groups %v apart", radius, apart(tr))
		}
		if !(tr.Cost <= before+1e-12) {
			t.Errorf("β = %v costs %v, more than the smaller one before", radius, tr.Cost)
		}
		before = tr.Cost
		if radius > 0 {
			continue
		}
		square, width := 0.0, 2./k
		for _, q := range quantiles(a, b) {
			square += q.mass * math.Pow(float64(q.a-q.b)*width, 2)
		}
		if want := h.Weights[0] * h.Weights[1] * square; !(tr.Cost >= want-1e-9 && tr.Cost <= want+width*width/4) {
			t.Errorf("the barycentre costs %v, want %v or up to a quarter of a squared bin more", tr.Cost, want)
		}
	}
	if !(before <= 1e-12) {
		t.Errorf("groups that are near enough are moved at a cost of %v", before)
	}
}

type piece struct {
	a, b int
	mass float64
}

// quantiles is the monotone coupling of two distributions by cumulated shares.
func quantiles(a, b []float64) (all []piece) {
	i, j, done := 0, 0, 0.0
	for i < len(a) && j < len(b) {
		next := min(a[i], b[j])
		all = append(all, piece{i, j, next - done})
		done = next
		if a[i] <= next {
			i++
		} else {
			j++
		}
	}
	return all
}

// Predictions that follow the histogram are moved to the distribution that the
// transport states. Bounds are five standard errors of a frequency of 20,000,
// exceeded by chance with probability 6e-7 each.
func TestApplyMovesDistributions(t *testing.T) {
	const k, n = 8, 20_000
	h := twoHumps(k, 0.5)
	tr, err := NewTransport(h, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for a := range 2 {
		r, found, middles := seeded(uint64(a)), make([]float64, k), 0
		cumulated := floats.CumSum(make([]float64, k), h.Given[a])
		for range n {
			u, i := r.Float64(), 0
			for i < k-1 && u >= cumulated[i] {
				i++
			}
			v := tr.Apply(h.Bins.Middle(i), a, r)
			found[h.Bins.Of(v)] += 1. / n
			if v == h.Bins.Middle(h.Bins.Of(v)) {
				middles++
			}
		}
		for i, want := range tr.Moved[a] {
			if !(math.Abs(found[i]-want) <= 5*math.Sqrt(want*(1-want)/n)+1e-12) {
				t.Errorf("group %d: bin %d has %v, want %v", a, i, found[i], want)
			}
		}
		if middles != n {
			t.Errorf("%d of %d predictions are middles of bins", middles, n)
		}
	}
}
