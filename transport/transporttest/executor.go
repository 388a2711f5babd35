// Package transporttest holds the laws of optimal transport as tests: known
// answers, properties that hold for all measures, and values of other libraries.
// Whatever computes transport in this repository passes the same laws, each at
// its own precision.
//
// A law is a function of the executor under test that returns an error where
// the law is broken, so that the laws themselves can be tested: they must find
// fault with executors that are wrong on purpose.
package transporttest

import (
	"slices"
	"testing"

	"molehill/transport"
	"molehill/transport/sinkhorn"
	"molehill/transport/sliced"
)

// Feature is something that an executor may lack. A law that needs it is
// skipped, visibly.
type Feature string

// What an executor may lack.
const (
	Weights      Feature = "weights"            // other than equal ones
	Sizes        Feature = "sizes"              // n ≠ m
	Unbalanced   Feature = "unbalanced"         // Solver.Reach
	WarmStart    Feature = "warm start"         // Solver.Start
	Batches      Feature = "batches"            // SolveAll
	Gradients    Feature = "gradients"          // ByX, ByY
	Plans        Feature = "plans"              // Solution.Plan
	OwnCosts     Feature = "costs of one's own" // sinkhorn.Func
	Ties         Feature = "ties"               // equal projections share what the plan gives them
	Powers       Feature = "powers"             // p other than 2
	SmallEpsilon Feature = "small epsilon"      // converges at ε = 1e-4 of the largest cost
	BadInput     Feature = "bad input"          // errors for it
)

// Tolerance is how far an executor may be from the law.
type Tolerance struct {
	Marginal float64 // what laws set Solver.Tolerance to at ε of a tenth of the largest cost; it grows as 1/ε does below
	Value    float64 // of values, relative to the largest cost
	Plan     float64 // Σ|P−P′| of plans of mass 1
	Gradient float64 // ‖g−g′‖ of gradients, relative to the largest
	Step     float64 // of finite differences, a power of two at most 2⁻⁵
}

// Double and Single are for executors that compute in float64 and float32.
var (
	Double = Tolerance{Marginal: 1e-10, Value: 1e-8, Plan: 1e-7, Gradient: 1e-5, Step: 1. / 512}
	Single = Tolerance{Marginal: 4e-6, Value: 1e-5, Plan: 1e-3, Gradient: 2e-3, Step: 1. / 32}
)

// Solution is what an executor found of a problem.
type Solution struct {
	F, G          []float64 // potentials, [n] and [m]
	Value         float64   // OT_ε
	Iterations    int
	MarginalError float64
	Converged     bool
	Plan          []float64 // [n, m]
	ByX, ByY      []float64 // gradients of OT_ε by the points, [n, dim] and [m, dim]
}

// Sinkhorn is an executor of entropic transport.
type Sinkhorn struct {
	Name  string
	Solve func(p sinkhorn.Problem, s sinkhorn.Solver) (*Solution, error)

	// SolveAll solves problems of equal shape and cost; nil: it lacks Batches.
	SolveAll func(p []sinkhorn.Problem, s sinkhorn.Solver) ([]*Solution, error)

	// Divergence is OT_ε(x, y) − ½·OT_ε(x, x) − ½·OT_ε(y, y) with its gradients;
	// nil: the laws make it of three calls of Solve.
	Divergence func(p sinkhorn.Problem, s sinkhorn.Solver) (value float64, byX, byY []float64, err error)

	// Every is how many golden values there are to one that it is compared with, where
	// each takes a second to compile; 0: it is compared with all.
	Every int

	Lacks     []Feature
	Tolerance Tolerance
}

// Sliced is an executor of sliced transport. Power returns SW_p^p, the mean of
// W_p^p over the directions, and its gradients, [n, dim] and [m, dim].
type Sliced struct {
	Name      string
	Power     func(x, y transport.Measure, p float64, u sliced.Directions) (value float64, byX, byY []float64, err error)
	Lacks     []Feature
	Tolerance Tolerance
}

// Line is an executor of transport on the line. Power returns W_p^p between
// samples in any order, with weights a and b (nil: equal), and its gradients,
// [n] and [m].
type Line struct {
	Name      string
	Power     func(x, y []float32, a, b []float64, p float64) (value float64, byX, byY []float64, err error)
	Lacks     []Feature
	Tolerance Tolerance
}

// law is a named property of an executor of type E.
type law[E any] struct {
	name  string
	needs []Feature
	holds func(E) error
}

// run tests an executor that lacks some features against laws.
func run[E any](t *testing.T, executor E, name string, lacks []Feature, laws []law[E]) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			for _, need := range l.needs {
				if slices.Contains(lacks, need) {
					t.Skipf("%s declares that it lacks %s", name, need)
				}
			}
			if err := l.holds(executor); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// Sliceds runs all laws of sliced transport as subtests.
func Sliceds(t *testing.T, e Sliced) {
	t.Helper()
	run(t, e, e.Name, e.Lacks, slicedLaws())
}

// Lines runs all laws of transport on the line as subtests.
func Lines(t *testing.T, e Line) {
	t.Helper()
	run(t, e, e.Name, e.Lacks, lineLaws())
}
