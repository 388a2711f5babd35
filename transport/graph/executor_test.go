package graph_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"molehill/transport"
	"molehill/transport/graph"
	"molehill/transport/sinkhorn"
)

// An Executor serves several goroutines, takes a graph's cost for the problem's,
// and gives a self term half of its gradient on each side.
func TestExecutor(t *testing.T) {
	b := goBackend(t)
	rng := rand.New(rand.NewPCG(41, 1))
	x, y := transport.Uniform(normals(rng, 0, 6, 2).points()), transport.Uniform(normals(rng, 1, 5, 2).points())
	s := sinkhorn.Solver{Epsilon: 0.3, Tolerance: 1e-9}
	// c(x, y) = Σ (x−y)⁴ has no name on the host.
	quartic := sinkhorn.Func{
		Value: func(x, y []float32) (sum float64) {
			for k := range x {
				sum += math.Pow(float64(x[k])-float64(y[k]), 4)
			}
			return sum
		},
	}
	e := &graph.Executor{Engine: b.Engine, Double: true, Cost: func(x, y *Node) *Node {
		return ReduceSum(Square(Square(Sub(InsertAxes(x, -2), InsertAxes(y, -3)))), -1)
	}}
	defer e.Close()
	var group sync.WaitGroup
	results := make([]*graph.Result, 8)
	for i := range results {
		group.Go(func() {
			to := y
			if i%2 == 1 {
				to = x
			}
			r, err := e.Solve(sinkhorn.Problem{X: x, Y: to, Cost: quartic}, s)
			if err != nil {
				t.Error(err)
				return
			}
			results[i] = r
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for i, to := range []transport.Measure{y, x} {
		want, err := sinkhorn.Solver{Epsilon: 0.3, Tolerance: 1e-11, MaxIterations: 100_000}.Solve(sinkhorn.Problem{X: x, Y: to, Cost: quartic})
		if err != nil {
			t.Fatal(err)
		}
		for k := i; k < len(results); k += 2 {
			near(t, "value", []float64{results[k].Dual}, []float64{want.Dual}, 1e-8)
		}
	}

	own := &graph.Executor{Engine: b.Engine, Gradients: true}
	defer own.Close()
	same, err := own.Solve(sinkhorn.Problem{X: x, Y: x, Cost: sinkhorn.SquaredL2}, s)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Solve(sinkhorn.Problem{X: x, Y: x, Cost: sinkhorn.SquaredL2})
	if err != nil {
		t.Fatal(err)
	}
	byX, byY, err := want.Gradient()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "self term by x", same.ByX, byX, 1e-4)
	near(t, "self term by y", same.ByY, byY, 1e-4)
	if same.Plan != nil {
		t.Error("a plan that nobody asked for")
	}
}

func TestExecutorRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	x, y := transport.Uniform(normals(rng, 0, 3, 2).points()), transport.Uniform(normals(rng, 0, 4, 2).points())
	good := sinkhorn.Problem{X: x, Y: y, Cost: sinkhorn.L2}
	e := &graph.Executor{Engine: goBackend(t).Engine}
	defer e.Close()
	solver := sinkhorn.Solver{Epsilon: 1}
	for name, c := range map[string]struct {
		problems []sinkhorn.Problem
		solver   sinkhorn.Solver
		says     string
	}{
		"host cost": {[]sinkhorn.Problem{{X: x, Y: y, Cost: sinkhorn.Func{}}}, solver, "Executor.Cost"},
		"shapes":    {[]sinkhorn.Problem{good, {X: y, Y: x, Cost: sinkhorn.L2}}, solver, "one shape"},
		"costs":     {[]sinkhorn.Problem{good, {X: x, Y: y, Cost: sinkhorn.L1}}, solver, "different costs"},
		"start":     {[]sinkhorn.Problem{good}, sinkhorn.Solver{Epsilon: 1, Start: &sinkhorn.Potentials{F: make([]float64, 4)}}, "4 potentials"},
		"NaN start": {[]sinkhorn.Problem{good}, sinkhorn.Solver{Epsilon: 1, Start: &sinkhorn.Potentials{F: []float64{1, math.NaN(), 0}}}, "potential 1"},
		"tiny ε":    {[]sinkhorn.Problem{good}, sinkhorn.Solver{Epsilon: 1e-300}, "overflow"},
	} {
		if r, err := e.SolveAll(c.problems, c.solver); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v and %v, want it to say %q", name, err, r, c.says)
		}
	}
	if r, err := e.SolveAll(nil, solver); r != nil || err != nil {
		t.Errorf("no problems: %v, %v", r, err)
	}
}
