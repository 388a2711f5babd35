package assign

import (
	"fmt"
	"math"
	"slices"
)

// Move is mass that a plan carries from one point to another.
type Move struct {
	From, To int
	Mass     float64 // above 0
}

// Plan is an optimal transport plan between weighted points and the proof that it is one.
type Plan struct {
	Moves []Move  // at most n+m−1, in the order of From, then To; nothing moves otherwise
	Cost  float64 // ⟨C, P⟩

	// F, [n], and G, [m], are the dual variables: F_i + G_j ≤ C_ij up to one rounding,
	// with equality where mass moves, up to 10⁻¹⁴·(n+m) of the largest cost: below that
	// costs are not told apart. Every plan costs at least Dual = ⟨a, F⟩ + ⟨b, G⟩, so
	// Cost − Dual bounds what rounding can have cost.
	F, G []float64
	Dual float64
}

// Transport returns a plan of least cost ⟨C, P⟩ among those with marginals a, [n], and b,
// [m]; cost is [n, m], row by row, and may be negative. Weights are divided by their sum;
// nil are equal ones. There are up to Limit² costs. Among equally good plans it always
// returns the same one.
//
// It is the network simplex method on a complete bipartite graph (Ahuja, Magnanti & Orlin
// 1993, Chapter 11; Bonneel et al. 2011 use it for transport): a basis is a tree, which an
// arc of negative reduced cost enters, and one that the cycle it closes empties leaves.
// Trees are kept strongly feasible (Cunningham 1976), so that none comes twice.
func Transport(cost []float64, n, m int, a, b []float64) (Plan, error) {
	if err := checkPlan(cost, n, m, a, b); err != nil {
		return Plan{}, err
	}
	t := newTree(cost, m)
	scale := 1.
	if a == nil && b == nil { // whole numbers, which never round
		for range n {
			t.supply = append(t.supply, float64(m))
		}
		for range m {
			t.demand = append(t.demand, float64(n))
		}
		scale = 1 / float64(n*m)
		t.rows, t.columns = upTo(n), upTo(m)
	} else {
		t.rows, t.supply = shares(a, n)
		t.columns, t.demand = shares(b, m)
		balance(t.supply, t.demand)
	}
	if err := t.solve(); err != nil {
		return Plan{}, err
	}
	return t.plan(n, m, scale), nil
}

func checkPlan(cost []float64, n, m int, a, b []float64) error {
	switch {
	case n < 1 || m < 1:
		return fmt.Errorf("assign: %d rows and %d columns; need at least 1 of each", n, m)
	case n > Limit*Limit/m:
		return fmt.Errorf("assign: %d rows and %d columns; exact transport takes up to %d costs, draw subsamples", n, m, Limit*Limit)
	case len(cost) != n*m:
		return fmt.Errorf("assign: %d costs for %d rows and %d columns; want %d", len(cost), n, m, n*m)
	}
	for k, c := range cost {
		if !(math.Abs(c) <= largest) {
			return fmt.Errorf("assign: the cost of row %d and column %d is %v; costs are finite and at most %g in size", k/m, k%m, c, largest)
		}
	}
	for _, side := range []struct {
		name    string
		weights []float64
		count   int
	}{{"row", a, n}, {"column", b, m}} {
		if side.weights == nil {
			continue
		}
		if len(side.weights) != side.count {
			return fmt.Errorf("assign: %d weights for %d %ss; give one each, or nil for equal ones", len(side.weights), side.count, side.name)
		}
		var sum float64
		for i, w := range side.weights {
			if !(w >= 0) || math.IsInf(w, 0) {
				return fmt.Errorf("assign: the weight of %s %d is %v; weights are finite and at least 0", side.name, i, w)
			}
			sum += w
		}
		if !(sum > 0) || math.IsInf(sum, 0) {
			return fmt.Errorf("assign: the weights of the %ss add up to %v; their sum must be finite and above 0", side.name, sum)
		}
	}
	return nil
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// shares returns the points that have weight and their shares of it.
func shares(weights []float64, n int) (at []int, shares []float64) {
	if weights == nil {
		return upTo(n), slices.Repeat([]float64{1 / float64(n)}, n)
	}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	for i, w := range weights {
		if w /= sum; w > 0 {
			at, shares = append(at, i), append(shares, w)
		}
	}
	return at, shares
}

// balance makes both sides add up to the same, which rounding may have kept them from: what
// one has over the other has a share of its own.
func balance(supply, demand []float64) {
	var over float64
	for _, w := range supply {
		over += w
	}
	for _, w := range demand {
		over -= w
	}
	side := demand
	if over < 0 {
		side, over = supply, -over
	}
	largest := 0
	for i, w := range side {
		if w > side[largest] {
			largest = i
		}
	}
	side[largest] += over
}
