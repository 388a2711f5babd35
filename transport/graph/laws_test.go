package graph_test

import (
	"os"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
	"molehill/transport/graph"
	"molehill/transport/sinkhorn"
	"molehill/transport/sliced"
	"molehill/transport/transporttest"
)

// sinkhornExecutor shows the law tests an Executor.
func sinkhornExecutor(b *backend.Backend, double bool) transporttest.Sinkhorn {
	e := &graph.Executor{Engine: b.Engine, Double: double, Plans: true, Gradients: true}
	solution := func(r *graph.Result) *transporttest.Solution {
		return &transporttest.Solution{
			F: r.F, G: r.G, Value: r.Dual, Iterations: r.Iterations, MarginalError: r.MarginalError,
			Converged: r.Converged, Plan: r.Plan, ByX: r.ByX, ByY: r.ByY,
		}
	}
	executor := transporttest.Sinkhorn{
		Name: "graph on " + b.Name,
		Solve: func(p sinkhorn.Problem, s sinkhorn.Solver) (*transporttest.Solution, error) {
			r, err := e.Solve(p, s)
			if err != nil {
				return nil, err
			}
			return solution(r), nil
		},
		SolveAll: func(p []sinkhorn.Problem, s sinkhorn.Solver) ([]*transporttest.Solution, error) {
			all, err := e.SolveAll(p, s)
			if err != nil {
				return nil, err
			}
			var solutions []*transporttest.Solution
			for _, r := range all {
				solutions = append(solutions, solution(r))
			}
			return solutions, nil
		},
		// A cost of one's own is a graph function, not a sinkhorn.Func.
		Lacks:     []transporttest.Feature{transporttest.OwnCosts},
		Tolerance: transporttest.Double,
	}
	if !double {
		executor.Tolerance = transporttest.Single
		executor.Lacks = append(executor.Lacks, transporttest.SmallEpsilon)
	}
	return executor
}

// ask skips a test of many programs on XLA, which takes most of a second to
// compile each, unless all tests are wanted.
func ask(t *testing.T, b *backend.Backend) {
	t.Helper()
	if b.Name != backend.Go && os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("MOLEHILL_THOROUGH is not set")
	}
}

func TestLaws(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		ask(t, b)
		for name, double := range map[string]bool{"single": false, "double": true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // XLA compiles on one core
				executor := sinkhornExecutor(b, double)
				// XLA compiles a hundred programs for the laws of one precision, and as
				// many for its golden values: it meets the former in single precision
				// and a third of the latter in double, the Go backend all in both.
				if b.Name != backend.Go {
					executor.Every = 3
				}
				if !double || b.Name == backend.Go {
					transporttest.Sinkhorns(t, executor)
				}
				if double || b.Name == backend.Go {
					transporttest.SinkhornGolden(t, executor)
				}
			})
		}
	})
}

// slicedExecutor shows the law tests SW.
func slicedExecutor(b *backend.Backend) transporttest.Sliced {
	execs := map[float64]*Exec{}
	return transporttest.Sliced{
		Name: "graph on " + b.Name,
		Power: func(x, y transport.Measure, p float64, u sliced.Directions) (float64, []float64, []float64, error) {
			exec, known := execs[p]
			if !known {
				exec = MustNewExec(b.Engine, func(x, y, u *Node) []*Node {
					value := graph.SW(x, y, u, p)
					return append([]*Node{value}, Gradient(value, x, y)...)
				})
				execs[p] = exec
			}
			for _, m := range []transport.Measure{x, y} {
				if err := m.Check(); err != nil {
					return 0, nil, nil, err
				}
			}
			out, err := exec.Call(points(x.Points), points(y.Points), tensors.FromFlatDataAndDimensions(wide(u.Data), u.Count, u.Dim))
			if err != nil {
				return 0, nil, nil, err
			}
			return out[0].Value().(float64), tensors.MustCopyFlatData[float64](out[1]), tensors.MustCopyFlatData[float64](out[2]), nil
		},
		Lacks:     []transporttest.Feature{transporttest.Weights, transporttest.Ties, transporttest.BadInput},
		Tolerance: transporttest.Double,
	}
}

func TestSlicedLaws(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		ask(t, b)
		executor := slicedExecutor(b)
		transporttest.Sliceds(t, executor)
		transporttest.SlicedGolden(t, executor)
	})
}

func wide(values []float32) []float64 {
	w := make([]float64, len(values))
	for i, v := range values {
		w[i] = float64(v)
	}
	return w
}

func points(p transport.Points) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(wide(p.Data), p.Len(), p.Dim)
}
