package transport

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Line is the transport between two weighted samples of the line, of any sizes
// and in any order.
type Line struct {
	X, Y []float64 // [n] and [m], finite
	A, B []float64 // weights of X and Y, as a Measure has them; nil: equal
}

// Coupling is the solution of a Line, for all p ≥ 1 at once.
type Coupling struct {
	x, y ranked
	plan []Pair // of ranks
}

// ranked is a sample in ascending order.
type ranked struct {
	at     []float64 // sorted
	order  []int32   // point of each rank
	levels []float64
	shares []float64 // of each rank
}

// Solve sorts both samples and couples them, in O((n+m)·log(n+m)) time and O(n+m)
// memory. Masses of at most 2⁻⁵¹ of a sample may not count (Couple). It returns an
// error for samples that are empty or not finite, and for weights that
// CheckWeights refuses.
func (l Line) Solve() (*Coupling, error) {
	x, err := rank("x", l.X, l.A)
	if err != nil {
		return nil, err
	}
	y, err := rank("y", l.Y, l.B)
	if err != nil {
		return nil, err
	}
	return &Coupling{x, y, Couple(make([]Pair, 0, len(l.X)+len(l.Y)), x.levels, y.levels)}, nil
}

// Wasserstein returns W_p, p ≥ 1, between two samples of the line whose points
// weigh the same within each sample. A Line has weights, the plan and gradients.
func Wasserstein[F Float](x, y []F, p float64) (float64, error) {
	coupling, err := Line{X: widened(x), Y: widened(y)}.Solve()
	if err != nil {
		return 0, err
	}
	return coupling.Distance(p)
}

func widened[F Float](x []F) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

func checkLine(name string, at, weights []float64) error {
	if len(at) == 0 {
		return fmt.Errorf("transport: sample %s has no points; need at least one", name)
	}
	for i, v := range at {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("transport: point %d of sample %s is %v; drop or repair it", i, name, v)
		}
	}
	if err := CheckWeights(weights, len(at)); err != nil {
		return fmt.Errorf("sample %s: %w", name, err)
	}
	return nil
}

// sorters are kept between lines, which may be many and short.
var sorters = sync.Pool{New: func() any { return new(Sorter) }}

func rank(name string, at, weights []float64) (ranked, error) {
	if err := checkLine(name, at, weights); err != nil {
		return ranked{}, err
	}
	sorter := sorters.Get().(*Sorter)
	r := ranked{at: make([]float64, len(at)), order: slices.Clone(sorter.ArgsortDoubles(at))}
	sorters.Put(sorter)
	for k, i := range r.order {
		r.at[k] = at[i]
	}
	if weights == nil {
		r.levels = Levels(nil, len(at))
		return r, nil
	}
	all := Shares(weights, len(at))
	r.levels, r.shares = make([]float64, len(at)), make([]float64, len(at))
	LevelsInOrder(r.levels, weights, r.order)
	for k, i := range r.order {
		r.shares[k] = all[i]
	}
	return r, nil
}

// Plan returns an optimal plan: at most n+m−1 pairs of a point of X and one of Y,
// in ascending order of both, with masses above 0 that add up to 1. Points that
// coincide take their turns in the order of their indices.
func (c *Coupling) Plan() []Pair {
	plan := make([]Pair, len(c.plan))
	for k, p := range c.plan {
		plan[k] = Pair{int(c.x.order[p.I]), int(c.y.order[p.J]), p.Mass}
	}
	return plan
}

// Cost returns W_p^p = Σ mass·|x_i − y_j|^p, p ≥ 1. It is an error where that is
// too large for a float64; Distance reaches further.
func (c *Coupling) Cost(p float64) (float64, error) {
	if err := CheckPower(p); err != nil {
		return 0, err
	}
	cost := Power(c.plan, c.x.at, c.y.at, p, nil, nil)
	return cost, finite(cost, p)
}

// Distance returns W_p, p ≥ 1, of the Plan, to full precision also where W_p^p
// would overflow or vanish.
func (c *Coupling) Distance(p float64) (float64, error) {
	if err := CheckPower(p); err != nil {
		return 0, err
	}
	farthest := Farthest(c.plan, c.x.at, c.y.at)
	if err := finite(farthest, 1); err != nil || farthest == 0 {
		return 0, err
	}
	return farthest * math.Pow(PowerIn(farthest, c.plan, c.x.at, c.y.at, p, nil, nil), 1/p), nil
}

// Map returns the barycentric map of the plan at the points of X, [n]: the mean of
// what each gives its mass to. Points of X that coincide share what they all give
// to. A point without mass goes where a little of it would go: to the quantile of
// Y at its level.
func (c *Coupling) Map() []float64 {
	mapped := make([]float64, len(c.x.at))
	next := 0 // in the plan
	for from := 0; from < len(mapped); {
		to := from + 1
		for to < len(mapped) && c.x.at[to] == c.x.at[from] {
			to++
		}
		start := next
		var target, mass float64
		for ; next < len(c.plan) && c.plan[next].I < to; next++ {
			pair := c.plan[next]
			before := mass
			mass += pair.Mass
			// A weighted mean that is exact for one target and overflows for none.
			target = target*(before/mass) + c.y.at[pair.J]*(pair.Mass/mass)
		}
		if next == start {
			level := max(c.x.levels[from], math.SmallestNonzeroFloat64) // not that of a first y without mass
			j, _ := slices.BinarySearch(c.y.levels, level)
			target = c.y.at[j]
		}
		for _, i := range c.x.order[from:to] {
			mapped[i] = target
		}
		from = to
	}
	return mapped
}

// Gradient returns the derivatives of W_p^p by the points of X, [n], and of Y,
// [m] (004, Proposition 3.2; see Power). At p = 1 the derivative of |t| at 0 is
// taken as 0. Points that coincide share what the plan gives them, in proportion
// to their weights, so that the gradient does not depend on the points' order.
func (c *Coupling) Gradient(p float64) (byX, byY []float64, err error) {
	if err := CheckPower(p); err != nil {
		return nil, nil, err
	}
	x, y := make([]float64, len(c.x.at)), make([]float64, len(c.y.at))
	Power(c.plan, c.x.at, c.y.at, p, x, y)
	byX, byY = c.x.inOrder(x), c.y.inOrder(y)
	for _, by := range [][]float64{byX, byY} {
		for _, v := range by {
			if err := finite(v, p); err != nil {
				return nil, nil, fmt.Errorf("derivatives: %w", err)
			}
		}
	}
	return byX, byY, nil
}

// inOrder shares what ranks were given among ties and returns it by point.
func (r ranked) inOrder(given []float64) []float64 {
	ShareTies(r.at, given, r.shares, nil)
	by := make([]float64, len(given))
	for k, i := range r.order {
		by[i] = given[k]
	}
	return by
}

// CheckPower returns an error unless p ≥ 1 is finite.
func CheckPower(p float64) error {
	if p >= 1 && !math.IsInf(p, 0) {
		return nil
	}
	return fmt.Errorf("transport: W_p for p = %v; p is finite and at least 1", p)
}

func finite(v, p float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("transport: distances to the power %v overflow; divide the points by a constant", p)
	}
	return nil
}
