package xian

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// Transport says how predictions of each group are moved: Xian, Li, Kamath and Zhao
// 2024, Differentially Private Post-Processing for Fair Regression. It needs to know
// the group of whoever it is applied to.
type Transport struct {
	Bins  Bins
	Moved [2][]float64 // distribution of bins in each group when moved, [2, Bins.Count]
	// Cost is the mean square of how far bins are moved, under the histogram.
	Cost   float64
	kernel [2][]float64 // cumulated probabilities of the bin moved to, by that moved from, [2, Count, Count]
}

// NewTransport moves the distributions of both groups as little as it takes to bring
// each within radius β, in Kolmogorov–Smirnov distance, of one distribution. So moved
// predictions of the groups are at most 2β apart. β = 0 makes them one: the barycentre.
//
// With distributions h_a of the bins and shares w_a of the groups, the linear
// programme is
//
//	min Σ_a w_a Σ_ij γ_a(i, j)(i − j)²
//	Σ_j γ_a(i, j) = h_a(i),  |Σ_{s≤j} Σ_i (γ_0(i, s) − γ_1(i, s))| ≤ 2β,  γ ≥ 0.
//
// The one distribution is not among its variables: if cumulated shares of two groups
// are within 2β of each other, those of their mean are within β of both.
func NewTransport(h Histogram, radius float64) (*Transport, error) {
	if !(radius >= 0 && radius <= 1) {
		return nil, fmt.Errorf("xian: radius β = %v; a Kolmogorov–Smirnov distance is from 0 to 1", radius)
	}
	if err := h.Check(); err != nil {
		return nil, err
	}
	k := h.Bins.Count
	plan, cost, err := h.solve(min(2*radius, 1))
	if err != nil {
		return nil, fmt.Errorf("xian: the linear programme of %d bins with β = %v: %w; take fewer bins or another β", k, radius, err)
	}
	width := (h.Bins.High - h.Bins.Low) / float64(k)
	t := &Transport{Bins: h.Bins, Cost: cost * width * width}
	for a := range t.kernel {
		t.Moved[a], t.kernel[a] = make([]float64, k), make([]float64, k*k)
		for i := range k {
			row := plan[(a*k+i)*k : (a*k+i+1)*k]
			for j, mass := range row {
				row[j] = max(mass, 0) // where rounding left less
			}
			floats.Add(t.Moved[a], row)
			total := floats.Sum(row)
			if total < 1e-12 { // a bin that nobody was seen in stays
				row[i], total = 1, 1
			}
			floats.Scale(1/total, floats.CumSum(t.kernel[a][i*k:(i+1)*k], row))
		}
	}
	return t, nil
}

// Check returns an error unless h is what Release returns: distributions and shares.
func (h Histogram) Check() error {
	if err := h.Bins.Check(); err != nil {
		return err
	}
	sums := func(values []float64) bool {
		return floats.Min(values) >= 0 && math.Abs(floats.Sum(values)-1) < 1e-9
	}
	for a, given := range h.Given {
		if len(given) != h.Bins.Count || !sums(given) {
			return fmt.Errorf("xian: the histogram of group %d is not a distribution of %d bins; use what Release returns", a, h.Bins.Count)
		}
	}
	if !sums(h.Weights[:]) {
		return fmt.Errorf("xian: shares %v of groups; they are at least 0 and of sum 1", h.Weights)
	}
	return nil
}

// solve returns γ, [2, k, k], and its cost in squares of a bin, where cumulated shares
// may be apart by at most so much.
//
// The simplex method takes equalities and variables from 0. Let D(j) be the difference
// of cumulated shares up to j, variables D(j) + apart and apart − D(j); then bin j has
//
//	Σ_i γ_0(i, j) − Σ_i γ_1(i, j) = D(j) − D(j−1),   D(−1) = D(k−1) = 0.
//
// One of these equations follows from the others and is left out.
func (h Histogram) solve(apart float64) ([]float64, float64, error) {
	k := h.Bins.Count
	differences := k - 1
	if apart == 0 {
		differences = 0
	}
	from, difference, to := 2*k*k, 2*k, 3*k-1 // first variable D, first row of bins, first row of bounds
	a := mat.NewDense(to+differences, from+2*differences, nil)
	b, c := make([]float64, to+differences), make([]float64, from+2*differences)
	for group, sign := range []float64{1, -1} {
		for i := range k {
			b[group*k+i] = h.Given[group][i]
			for j := range k {
				v := (group*k+i)*k + j
				c[v] = h.Weights[group] * float64((i-j)*(i-j))
				a.Set(group*k+i, v, 1)
				if j < k-1 {
					a.Set(difference+j, v, sign)
				}
			}
		}
	}
	for j := range differences {
		a.Set(difference+j, from+j, -1)
		b[difference+j] -= apart
		if j+1 < k-1 {
			a.Set(difference+j+1, from+j, 1)
			b[difference+j+1] += apart
		}
		a.Set(to+j, from+j, 1)
		a.Set(to+j, from+differences+j, 1)
		b[to+j] = 2 * apart
	}
	cost, x, err := lp.Simplex(c, a, b, 1e-10, nil)
	if err != nil {
		return nil, 0, err
	}
	return x[:from], cost, nil
}

// Apply returns a moved prediction of someone in group 0 or 1: the middle of a bin,
// drawn where the transport splits a bin.
func (t *Transport) Apply(score float64, group int, r *rand.Rand) float64 {
	k := t.Bins.Count
	i := t.Bins.Of(score)
	u := r.Float64()
	for j, cumulated := range t.kernel[group][i*k : (i+1)*k] {
		if u < cumulated {
			return t.Bins.Middle(j)
		}
	}
	return t.Bins.Middle(k - 1)
}
