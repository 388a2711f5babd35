package graph

import (
	. "github.com/gomlx/gomlx/core/graph"

	"molehill/transport/sinkhorn"
)

// Divergence is a Sinkhorn loss of generated points x against real ones, of 001.
// A batch of problems has a batch of losses.
//
// 001 prints its terms as Ŵ_λ = ⟨C, P⟩ with the plan P a constant of the
// gradient, and that is Transport. Value has W_λ = OT_ε, ε = λ, in its place: the
// same gradient, and a loss that cannot be negative.
type Divergence struct {
	Value, Transport *Node // [batch...]

	MarginalError *Node       // the largest of the terms', [batch...]
	Converged     *Node       // all terms, bool [batch...]
	Terms         []*Solution // in the order of the formula
}

// Biased returns the empirical Sinkhorn divergence (001 Eqs. 2 and 4),
//
//	2·W(x, y) − W(x, x) − W(y, y),
//
// which is at least 0, and 0 for x = y. Half of it is the divergence of Feydy et
// al. 2019. Both arguments of W(x, x) carry gradient.
func (s Sinkhorn) Biased(x, y Measure) *Divergence {
	return newDivergence(s.Solve(x, y), s.Solve(x, x), s.Solve(y, y))
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
//
// The terms are solved one after the other, though one loop for both would take a device
// half the operations: where it ended would then depend on y, and with it the gradient
// of the second term, which must tell nothing of real points.
func (s Sinkhorn) SemiDebiased(x *Node, y Measure, p float64) *Divergence {
	checkPoints(x, y.Points)
	first, second := Mixed(x, p)
	return newDivergence(s.Solve(first, y), s.Solve(first, second))
}

// SemiDebiasedAt is SemiDebiased for potentials of its two terms that come from
// elsewhere (Sinkhorn.At).
func (s Sinkhorn) SemiDebiasedAt(x *Node, y Measure, p float64, f, g [2]*Node) *Divergence {
	checkPoints(x, y.Points)
	first, second := Mixed(x, p)
	return newDivergence(s.At(first, y, f[0], g[0]), s.At(first, second, f[1], g[1]))
}

// Mixed returns the generated points that SemiDebiased compares with real ones, x[0:n],
// and those that it compares them with for the debiasing, x[n′:n+n′]. They are the same
// where n′ is 0.
func Mixed(x *Node, p float64) (first, second Measure) {
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
