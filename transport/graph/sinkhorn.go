// Package graph is the executor of the transport core on GoMLX graphs: Sinkhorn
// and sliced transport that compile for XLA's devices and run inside a training
// step, with gradients by the points.
//
// Functions on nodes panic, as GoMLX's do, where shapes or settings do not fit;
// whoever runs the graph (graph.Exec) turns that into an error. Values that go
// wrong at run time, NaN among them, show in MarginalError and Converged. An
// Executor is the same for those who hold measures rather than nodes; its
// methods return errors.
//
// The package shares its name with GoMLX's core/graph, which is dot-imported
// beside it as a rule.
//
// Every leading axis is a batch: [batch..., n, d] are as many problems as the
// product of batch, solved side by side.
package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Sinkhorn solves entropic optimal transport, the problem of package sinkhorn:
//
//	OT_ε(x, y) = min over plans P of ⟨C, P⟩ + ε·KL(P | a⊗b),  C_ij = c(x_i, y_j)
//
// (Peyré & Cuturi 2019, Section 4; 001 Section 3.2 with λ for ε.)
//
// The iterations are no part of the gradient: the potentials are computed from
// the constant value of the cost, and at the optimum the derivative of OT_ε by
// the cost is the plan (envelope theorem). So there is nothing to keep from the
// iterations, and the gradient costs what that of ⟨C, P⟩ does.
type Sinkhorn struct {
	Epsilon float64 // ε > 0, in the unit of the cost
	Cost    Cost    // nil: SquaredL2

	// Iterations is the limit of full iterations, at least 1. They are made in
	// blocks of ten, the last one whole. Too few for ε to come down (see Scaling)
	// leave potentials far from the solution: look at Converged.
	Iterations int
	// Tolerance stops the iterations of each problem of the batch once it has at most
	// this MarginalError; 0: 1e-4. In single precision about 1e-7·max C/ε is the
	// best to be had. It says nothing about the costs themselves, whose rounding no
	// iteration sees: where that is not far below ε, the solution is one of other
	// costs, and Converged all the same. SquaredL2 rounds to 1e-7 of the largest
	// ‖x−ȳ‖², so two clusters 10⁴ apart are off by 10; Mixture(1, 0) rounds each
	// cost to 1e-7 of itself, and doubles to 1e-16.
	Tolerance float64

	// Fixed makes all Iterations, though problems may be solved before: the results are
	// the same to the last bit, and so is the time, whatever the points. A loop whose
	// length is known needs nobody to say whether to go on, for which a device stops
	// and asks its host after each block.
	Fixed bool

	// Reach is ρ > 0 of unbalanced transport: the marginals need not be met, but
	// cost ρ·KL(P1|a) + ρ·KL(Pᵀ1|b), and weights are taken as they are. 0 asks for
	// both marginals, of the weights divided by their sum.
	Reach float64

	// Scaling is the ratio, at least 0.25 and below 1, by which ε falls from
	// block to block until it is Epsilon; it begins at a sixteenth of the largest
	// cost, where that is larger. 0: 0.25; 1 begins with Epsilon itself.
	Scaling float64
}

// Measure is a batch of discrete measures.
type Measure struct {
	Points  *Node // [batch..., n, d]
	Weights *Node // [batch..., n], ≥ 0; nil: 1/n each
}

// Uniform returns the measure that weighs every point 1/n.
func Uniform(points *Node) Measure { return Measure{Points: points} }

// Solution is what the iterations found. Only Value and Transport have gradients,
// by the points and whatever else the cost depends on, and Value by the weights,
// too. A node that nobody uses costs nothing.
type Solution struct {
	F, G *Node // potentials, [batch..., n] and [batch..., m], in the unit of the cost

	// Value is OT_ε, [batch...]: the dual objective at F and G, never above the
	// optimum but for rounding.
	Value *Node
	// Transport is ⟨C, P⟩, [batch...], without the entropy: Ŵ_λ of 001, Definition
	// 4.1. Its gradient, with the plan a constant, is that of Value.
	Transport *Node
	// Plan is P_ij = a_i·b_j·exp((F_i + G_j − C_ij)/ε), [batch..., n, m].
	Plan *Node

	// MarginalError is ‖P1 − a‖₁ + ‖Pᵀ1 − b‖₁, [batch...], computed from Plan. With
	// Reach a and b are a∘exp(−F/ρ) and b∘exp(−G/ρ), what the optimum has for
	// marginals, and it is over the mean of the masses of x and y. It is NaN where
	// anything went wrong.
	MarginalError *Node
	Converged     *Node // MarginalError ≤ Tolerance, bool [batch...]
	Iterations    *Node // full iterations made, int32 scalar
}

// block is how many iterations share one evaluation of the kernel.
const block = 10

// settings are the numbers of a Sinkhorn as scalar nodes, so that an Executor
// can change them without compiling again.
type settings struct {
	epsilon, reach, tolerance, scaling, iterations *Node
	unbalanced                                     bool
	block                                          int
	fixed                                          int // iterations, known to the graph; 0: iterations says the limit
}

func (s Sinkhorn) settings(g *Graph, dtype dtypes.DType) settings {
	s.check()
	fixed := 0
	if s.Fixed {
		fixed = s.Iterations
	}
	return settings{
		epsilon:    Scalar(g, dtype, s.Epsilon),
		reach:      Scalar(g, dtype, s.Reach),
		tolerance:  Scalar(g, dtype, s.tolerance()),
		scaling:    Scalar(g, dtype, s.scaling()),
		iterations: Scalar(g, dtypes.Int32, s.Iterations),
		unbalanced: s.Reach > 0,
		block:      min(block, s.Iterations),
		fixed:      fixed,
	}
}

func (s Sinkhorn) tolerance() float64 {
	if s.Tolerance == 0 {
		return 1e-4
	}
	return s.Tolerance
}

func (s Sinkhorn) scaling() float64 {
	if s.Scaling == 0 {
		return 0.25
	}
	return s.Scaling
}

func (s Sinkhorn) cost() Cost {
	if s.Cost == nil {
		return SquaredL2
	}
	return s.Cost
}

// Check returns an error that says what is wrong with the settings.
func (s Sinkhorn) Check() error {
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	switch {
	case !positive(s.Epsilon):
		return fmt.Errorf("graph: Epsilon is %v; it is a positive number in the unit of the cost", s.Epsilon)
	case s.Iterations < 1 || s.Iterations > math.MaxInt32-block:
		return fmt.Errorf("graph: Iterations is %d; take at least 1, and fewer than 2³¹", s.Iterations)
	case s.Tolerance != 0 && !positive(s.Tolerance):
		return fmt.Errorf("graph: Tolerance is %v; it is a positive number, or 0 for 1e-4", s.Tolerance)
	case s.Reach != 0 && !positive(s.Reach):
		return fmt.Errorf("graph: Reach is %v; it is a positive number, or 0 for balanced transport", s.Reach)
	case s.Scaling != 0 && !(s.Scaling >= 0.25 && s.Scaling <= 1):
		return fmt.Errorf("graph: Scaling is %v; it is from 0.25 to 1, or 0 for 0.25", s.Scaling)
	}
	return nil
}

func (s Sinkhorn) check() {
	if err := s.Check(); err != nil {
		panic(err)
	}
}

// Solve returns the transport from x to y. With x = y, the same nodes, it takes
// the cost to be symmetric and half the time. It panics where shapes or settings
// do not fit.
func (s Sinkhorn) Solve(x, y Measure) *Solution { return s.Resume(x, y, nil, nil) }

// Resume is Solve from potentials that another Solution has, [batch..., n] and
// [batch..., m], one of which may be nil.
func (s Sinkhorn) Resume(x, y Measure, f, g *Node) *Solution {
	checkPoints(x.Points, y.Points)
	return solve(x, y, f, g, s.cost(), s.settings(x.Points.Graph(), x.Points.DType()))
}

// solve joins the batch axes, solves, and parts them again.
func solve(x, y Measure, f, g *Node, cost Cost, s settings) *Solution {
	dims := x.Points.Shape().Dimensions
	batch, d := dims[:len(dims)-2], dims[len(dims)-1]
	n, m := dims[len(dims)-2], y.Points.Shape().Dimensions[len(dims)-2]
	xs := Reshape(x.Points, -1, n, d)
	ys := xs
	if x.Points != y.Points {
		ys = Reshape(y.Points, -1, m, d)
	}
	c := cost(xs, ys)
	count := xs.Shape().Dimensions[0]
	if want := shapes.Make(xs.DType(), count, n, m); !c.Shape().Equal(want) {
		panic(fmt.Errorf("graph: the cost of points %s and %s has shape %s; want %s", xs.Shape(), ys.Shape(), c.Shape(), want))
	}
	t := transportation{settings: s, c: c, same: x == y && f == g}
	t.a, t.zeroA = weights(x.Weights, batch, xs, n, !s.unbalanced)
	t.b, t.zeroB = t.a, t.zeroA
	if !t.same {
		t.b, t.zeroB = weights(y.Weights, batch, ys, m, !s.unbalanced)
	}
	f, g, iterations := t.iterate(start(f, batch, xs, n), start(g, batch, ys, m))
	part := func(v *Node) *Node {
		return Reshape(v, slices.Concat(batch, v.Shape().Dimensions[1:])...)
	}
	r := t.evaluate(f, g)
	return &Solution{
		F: part(f), G: part(g), Value: part(r.value), Transport: part(r.transport), Plan: part(r.plan),
		MarginalError: part(r.err), Converged: part(LessOrEqual(r.err, s.tolerance)), Iterations: iterations,
	}
}

// weights returns those of one side, [batch, n], and where they are 0, nil if
// nowhere. A negative one becomes NaN, so that nothing converges.
func weights(w *Node, batch []int, points *Node, n int, shares bool) (*Node, *Node) {
	if w == nil {
		return MulScalar(Ones(points.Graph(), shapes.Make(points.DType(), points.Shape().Dimensions[0], n)), 1/float64(n)), nil
	}
	w = flat("weights", w, batch, points, n)
	w = Where(LessThan(w, ZerosLike(w)), MulScalar(OnesLike(w), math.NaN()), w)
	if shares {
		w = Div(w, ReduceAndKeep(w, ReduceSum, -1))
	}
	return w, LessOrEqual(StopGradient(w), ZerosLike(w))
}

// start returns potentials to start from, [batch, n], or nil.
func start(f *Node, batch []int, points *Node, n int) *Node {
	if f == nil {
		return nil
	}
	return StopGradient(flat("potentials", f, batch, points, n))
}

// flat joins the batch axes of v, [batch..., n].
func flat(name string, v *Node, batch []int, points *Node, n int) *Node {
	if want := shapes.Make(points.DType(), slices.Concat(batch, []int{n})...); !v.Shape().Equal(want) {
		panic(fmt.Errorf("graph: %s of shape %s; want one a point, %s", name, v.Shape(), want))
	}
	return Reshape(v, -1, n)
}
