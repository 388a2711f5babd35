package graph

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"molehill/transport/sinkhorn"
)

// Divergence is a Sinkhorn loss of generated points x against real ones, of 001.
// A batch of problems has a batch of losses.
//
// 001 prints its terms as Ŵ_λ = ⟨C, P⟩ with the plan P a constant of the
// gradient, and that is Transport. Value has W_λ = OT_ε, ε = λ, in its place: the
// same gradient by points, and of Biased a loss that is not negative.
type Divergence struct {
	Value, Transport *Node // [batch...]

	MarginalError *Node       // the largest of the terms', [batch...]
	Converged     *Node       // all terms, bool [batch...]
	Terms         []*Solution // in the order of the formula; nil where they are solved at once
}

// Biased returns the empirical Sinkhorn divergence (001 Eqs. 2 and 4),
//
//	2·W(x, y) − W(x, x) − W(y, y),
//
// which is 0 for x = y, and at least 0 for a cost C ≥ 0 of which exp(−C/ε) is a positive
// kernel, as it is of distances and their squares. Half of it is the divergence of Feydy
// et al. 2019; of unbalanced transport, where masses differ, it is with their
// ε·(Σa − Σb)² (Séjourné et al. 2019), in Value. Both arguments of W(x, x) carry gradient.
func (s Sinkhorn) Biased(x, y Measure) *Divergence {
	d := newDivergence(s.Solve(x, y), s.Solve(x, x), s.Solve(y, y))
	if s.Reach != 0 {
		more := Sub(x.mass(d.Value), y.mass(d.Value))
		d.Value = Add(d.Value, MulScalar(Square(more), s.Epsilon))
	}
	return d
}

// mass is the sum of the weights, as unbalanced transport takes them, [batch...] in the
// type of like.
func (m Measure) mass(like *Node) *Node {
	if m.Weights == nil {
		return OnesLike(like)
	}
	return ConvertDType(ReduceSum(m.Weights, -1), like.DType())
}

// Debiased returns the loss with samples drawn anew (001 Eq. 5),
//
//	2·W(x, y) − W(x, x2) − W(y, y2).
func (s Sinkhorn) Debiased(x, y, x2, y2 Measure) *Divergence {
	return newDivergence(s.Solve(x, y), s.Solve(x, x2), s.Solve(y, y2))
}

// SemiDebiased returns the loss that mixes the two (001 Eq. 6). x holds n + n′
// generated points, [batch..., n+n′, d], with n′ = ⌊n·p⌋ for the mixture fraction
// p in [0, 1], and
//
//	2·W(x[0:n], y) − W(x[0:n], x[n′:n+n′]),
//
// in Go's notation for ranges. p = 0 has the gradient by x of Biased and p = 1
// that of Debiased; W(y, ·) does not depend on x and is left out. A batch of y
// that varies in size, as Poisson samples do, fits into a fixed shape as rows of
// weight 0. It panics where the number of points is no n + ⌊n·p⌋.
func (s Sinkhorn) SemiDebiased(x *Node, y Measure, p float64) *Divergence {
	checkPoints(x, y.Points)
	first, second := mixed(x, p)
	return newDivergence(s.Solve(first, y), s.Solve(first, second))
}

// mixed returns the generated points that SemiDebiased compares with real ones, x[0:n],
// and those that it compares them with for the debiasing, x[n′:n+n′]: the same measure
// where n′ is 0.
func mixed(x *Node, p float64) (first, second Measure) {
	n, extra, err := sinkhorn.Mixed(x.Shape().Dimensions[x.Rank()-2], p)
	if err != nil {
		panic(err)
	}
	first = Uniform(SliceAxis(x, -2, AxisRange(0, n)))
	if extra == 0 {
		return first, first
	}
	return first, Uniform(SliceAxis(x, -2, AxisRange(extra, n+extra)))
}

// SemiDebiasedAtOnce is SemiDebiased of one problem, [n+n′, d] against [m, d], with both
// terms in one loop. A device that takes longer to begin an operation than to make it
// has half as many to begin; a processor has the narrower term's padding to compute.
//
// Neither term tells anything of the other: each has its own ε on the way down, and
// stays as it is from where it is solved. Where the limit cuts the iterations short, sums
// over padding leave rounding of another kind than SemiDebiased's in what is not solved.
// It panics for unbalanced transport.
func (s Sinkhorn) SemiDebiasedAtOnce(x *Node, y Measure, p float64) *Divergence {
	checkPoints(x, y.Points)
	if x.Rank() != 2 {
		panic(fmt.Errorf("graph: points of shape %s; SemiDebiasedAtOnce is for one problem, [n, d]", x.Shape()))
	}
	if s.Reach != 0 {
		panic(fmt.Errorf("graph: Reach is %v; SemiDebiasedAtOnce is for balanced transport", s.Reach))
	}
	first, second := mixed(x, p)
	g, dtype := x.Graph(), x.DType()
	n, m := first.Points.Shape().Dimensions[0], y.Points.Shape().Dimensions[0]
	ones := func(dims ...int) *Node { return Ones(g, shapes.Make(dtype, dims...)) }
	wide := func(v *Node) *Node { // to as many columns as the wider term has
		dims := slices.Clone(v.Shape().Dimensions)
		missing := max(n, m) - dims[len(dims)-1]
		if missing == 0 {
			return v
		}
		dims[len(dims)-1] = missing
		return Concatenate([]*Node{v, Zeros(g, shapes.Make(dtype, dims...))}, -1)
	}
	cost := func(y *Node) *Node { return wide(s.cost()(InsertAxes(first.Points, 0), InsertAxes(y, 0))) }
	t := transportation{settings: s.settings(g, dtype), c: Concatenate([]*Node{cost(y.Points), cost(second.Points)}, 0)}
	masses := ones(1, m)
	if y.Weights != nil {
		masses = flat("weights", y.Weights, nil, y.Points, m)
	}
	t.a = MulScalar(ones(2, n), 1/float64(n))
	t.b, t.zeroB = weights(Concatenate([]*Node{wide(masses), wide(ones(1, n))}, 0), []int{2}, t.c, max(n, m), true)
	potentialF, potentialG, _ := t.iterate(nil, nil)
	r := t.evaluate(potentialF, potentialG)
	of := func(v *Node, term int) *Node { return Reshape(Slice(v, AxisElem(term))) }
	loss := func(v *Node) *Node { return Sub(MulScalar(of(v, 0), 2), of(v, 1)) }
	off := Max(of(r.err, 0), of(r.err, 1))
	return &Divergence{Value: loss(r.value), Transport: loss(r.transport), MarginalError: off, Converged: LessOrEqual(off, t.tolerance)}
}

// newDivergence is twice the first term less the others.
func newDivergence(first *Solution, others ...*Solution) *Divergence {
	d := &Divergence{
		Value: MulScalar(first.Value, 2), Transport: MulScalar(first.Transport, 2),
		MarginalError: first.MarginalError, Converged: first.Converged, Terms: append([]*Solution{first}, others...),
	}
	for _, t := range others {
		d.Value, d.Transport = Sub(d.Value, t.Value), Sub(d.Transport, t.Transport)
		d.MarginalError, d.Converged = Max(d.MarginalError, t.MarginalError), And(d.Converged, t.Converged)
	}
	return d
}
