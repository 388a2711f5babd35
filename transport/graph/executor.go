package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

// Executor solves the problems of package sinkhorn on a backend: the same
// problems and settings as the host's Solver, in single precision unless Double.
// It compiles a program for each shape and kind of problem it meets, a second or
// so on XLA, and keeps it; numbers such as ε do not matter to that. It is for
// several goroutines at once.
type Executor struct {
	Engine compute.Backend

	// Cost takes the place of the problems' costs, which on a graph can be
	// sinkhorn.Mixture and sinkhorn.Euclidean only. Set it before the first call.
	// It must be symmetric, c(x, y) = c(y, x), if X and Y of a problem have the same
	// slices; a copy of one of them does for a cost that is not.
	Cost Cost

	Double    bool // compute in float64
	Plans     bool // Result.Plan is wanted
	Gradients bool // Result.ByX and ByY are wanted

	mu       sync.Mutex
	programs map[program]*Exec
}

// program is what a compiled program depends on beside shapes.
type program struct {
	cost                             any // a sinkhorn.Cost; nil: Executor.Cost
	unbalanced, same                 bool
	weightsX, weightsY               bool
	startF, startG                   bool
	block                            int
	double, wantPlans, wantGradients bool
}

// Result is what an Executor found of a problem.
type Result struct {
	sinkhorn.Potentials
	Iterations    int // of the whole batch
	MarginalError float64
	Converged     bool
	Dual          float64   // OT_ε, from below
	Transport     float64   // ⟨C, P⟩
	Plan          []float64 // [n, m]; nil unless wanted
	ByX, ByY      []float64 // gradients of OT_ε by the points, [n, dim] and [m, dim]; nil unless wanted
}

// Solve returns the solution of p, or as near as it came: look at Converged.
// Settings are the Solver's, with Tolerance 1e-4 for 0; Online and Watch are
// ignored. In single precision a solution is no better than the costs are: see
// Sinkhorn.Tolerance. A
// problem with the same slices for X and Y is a self term and takes half the
// time.
func (e *Executor) Solve(p sinkhorn.Problem, s sinkhorn.Solver) (*Result, error) {
	results, err := e.SolveAll([]sinkhorn.Problem{p}, s)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// SolveAll solves problems of one shape and cost side by side, in one program,
// until all have converged. Start serves all of them.
func (e *Executor) SolveAll(problems []sinkhorn.Problem, s sinkhorn.Solver) ([]*Result, error) {
	if len(problems) == 0 {
		return nil, nil
	}
	settings := Sinkhorn{Epsilon: s.Epsilon, Iterations: s.MaxIterations, Tolerance: s.Tolerance, Reach: s.Reach}
	if s.MaxIterations == 0 {
		settings.Iterations = 10_000
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	if e.Engine == nil {
		return nil, errors.New("graph: an Executor without an Engine; set it to that of a backend, for example of backend.Open()")
	}
	kind, err := e.kind(problems, s)
	if err != nil {
		return nil, err
	}
	kind.block = min(block, settings.Iterations)
	exec, err := e.compiled(kind)
	if err != nil {
		return nil, err
	}
	inputs := e.inputs(problems, s, settings, kind)
	outputs, err := exec.Call(inputs...)
	for _, t := range inputs {
		t.(*tensors.Tensor).MustFinalizeAll()
	}
	if err != nil {
		return nil, fmt.Errorf("graph: transport on %s: %w", e.Engine.Name(), err)
	}
	results, err := e.results(outputs, len(problems), kind)
	for i, r := range results {
		r.Converged = r.MarginalError <= settings.tolerance()
		for _, v := range slices.Concat([]float64{r.Dual, r.Transport, r.MarginalError}, r.F, r.G) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("graph: problem %d of %d has a result of %v: its costs, or its costs over ε = %v, overflow; divide the points by a constant, or set Double", i, len(results), v, s.Epsilon)
			}
		}
	}
	return results, err
}

// kind checks the problems and says which program they take.
func (e *Executor) kind(problems []sinkhorn.Problem, s sinkhorn.Solver) (program, error) {
	first := problems[0]
	k := program{
		cost: first.Cost, unbalanced: s.Reach > 0, same: true,
		double: e.Double, wantPlans: e.Plans, wantGradients: e.Gradients,
	}
	if e.Cost != nil {
		k.cost = nil
	} else if _, err := onGraph(first.Cost); err != nil {
		return k, err
	}
	for _, p := range problems {
		for _, m := range []transport.Measure{p.X, p.Y} {
			if err := m.Check(); err != nil {
				return k, err
			}
		}
		if p.X.Dim != p.Y.Dim {
			return k, fmt.Errorf("graph: points of dimensions %d and %d; want the same", p.X.Dim, p.Y.Dim)
		}
		if p.X.Dim != first.X.Dim || p.X.Len() != first.X.Len() || p.Y.Len() != first.Y.Len() {
			return k, fmt.Errorf("graph: problems of %d×%d and %d×%d points in dimensions %d and %d; a batch has one shape", first.X.Len(), first.Y.Len(), p.X.Len(), p.Y.Len(), first.X.Dim, p.X.Dim)
		}
		if e.Cost == nil && p.Cost != first.Cost {
			return k, errors.New("graph: problems with different costs; a batch has one")
		}
		k.same = k.same && shared(p.X.Data, p.Y.Data) && shared(p.X.Weights, p.Y.Weights)
		k.weightsX, k.weightsY = k.weightsX || p.X.Weights != nil, k.weightsY || p.Y.Weights != nil
	}
	if s.Start != nil {
		k.startF, k.startG = s.Start.F != nil, s.Start.G != nil
		k.same = k.same && shared(s.Start.F, s.Start.G)
		for _, side := range []struct {
			potentials []float64
			n          int
		}{{s.Start.F, first.X.Len()}, {s.Start.G, first.Y.Len()}} {
			if side.potentials != nil && len(side.potentials) != side.n {
				return k, fmt.Errorf("graph: %d potentials to start from for %d points; give one a point", len(side.potentials), side.n)
			}
			for i, v := range side.potentials {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return k, fmt.Errorf("graph: potential %d to start from is %v; start from finite ones", i, v)
				}
			}
		}
	}
	return k, nil
}

// shared says whether two slices are one.
func shared[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// onGraph returns the graph's likeness of a host's cost.
func onGraph(c sinkhorn.Cost) (Cost, error) {
	switch c := c.(type) {
	case sinkhorn.Mixture:
		if !(c.Squared >= 0 && c.Absolute >= 0 && c.Squared+c.Absolute > 0) || math.IsInf(c.Squared+c.Absolute, 0) {
			return nil, fmt.Errorf("graph: cost %+v; its weights are finite, at least 0, and not both 0", c)
		}
		if c == sinkhorn.SquaredL2 {
			return SquaredL2, nil
		}
		return Mixture(c.Squared, c.Absolute), nil
	case sinkhorn.Euclidean:
		return L2, nil
	}
	return nil, fmt.Errorf("graph: a cost of type %T has no graph; set Executor.Cost to one", c)
}

// compiled returns the program of a kind.
func (e *Executor) compiled(k program) (*Exec, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if exec, known := e.programs[k]; known {
		return exec, nil
	}
	exec, err := NewExec(e.Engine, func(in []*Node) []*Node { return e.build(k, in) })
	if err != nil {
		return nil, fmt.Errorf("graph: transport on %s: %w", e.Engine.Name(), err)
	}
	exec.SetMaxCache(-1) // shapes come from the caller, who knows how many there are
	if e.programs == nil {
		e.programs = map[program]*Exec{}
	}
	e.programs[k] = exec
	return exec, nil
}

// Close releases the programs. The Executor can be used again.
func (e *Executor) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, exec := range e.programs {
		exec.Finalize()
	}
	e.programs = nil
}
