package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
	"molehill/transport/graph"
	"molehill/transport/sinkhorn"
)

// The gradient of Value is what comes of differentiating through enough plain
// iterations, and what finite differences of Value say, for points and weights.
func TestGradientIsThatOfTheIterations(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, m, d, epsilon = 5, 4, 3, 4.
		rng := rand.New(rand.NewPCG(11, 1))
		inputs := []array{normals(rng, 0, n, d), normals(rng, 1, m, d), shares(rng, n), shares(rng, m)}
		solver := graph.Sinkhorn{Epsilon: epsilon, Iterations: 1000, Tolerance: 1e-13}
		value := func(in []*Node) *Node {
			return solver.Solve(graph.Measure{Points: in[0], Weights: in[2]}, graph.Measure{Points: in[1], Weights: in[3]}).Value
		}
		out := evaluate(t, b, func(in []*Node) []*Node {
			by := Gradient(value(in), in...)
			through := unrolled(in[0], in[1], in[2], in[3], epsilon, 40)
			return append(append([]*Node{value(in), through}, by...), Gradient(through, in...)...)
		}, inputs...)
		near(t, "value", out[0], out[1], 1e-12)
		var whole float64
		var along []array
		for i, what := range []string{"by x", "by y", "by weights of x", "by weights of y"} {
			near(t, what, out[2+i], out[6+i], 1e-10)
			direction := normals(rng, 0, inputs[i].dims...)
			along = append(along, direction)
			whole += dot(out[2+i], direction.values)
		}
		if b.Name == backend.Go { // as many runs as XLA has milliseconds to compile
			exec := MustNewExec(b.Engine, func(in []*Node) *Node { return value(in) })
			defer exec.Finalize()
			slope := difference(func(inputs ...array) float64 {
				var in []any
				for _, a := range inputs {
					in = append(in, tensorOf(a))
				}
				return exec.MustCall1(in...).Value().(float64)
			}, inputs, along, 1./64)
			near(t, "finite differences", []float64{whole}, []float64{slope}, 1e-6)
		}
	})
}

// unrolled is OT_ε by the textbook's iterations in the log domain, as the dual
// value, all of it differentiable.
func unrolled(x, y, a, b *Node, epsilon float64, iterations int) *Node {
	c := graph.Mixture(1, 0)(x, y)
	a, b = Div(a, ReduceAllSum(a)), Div(b, ReduceAllSum(b))
	soft := func(potential, weights *Node, axis int) *Node {
		e := DivScalar(Sub(InsertAxes(potential, 1-axis), c), epsilon)
		top := StopGradient(ReduceAndKeep(e, ReduceMax, axis))
		total := ReduceSum(Mul(InsertAxes(weights, 1-axis), Exp(Sub(e, top))), axis)
		return MulScalar(Add(Squeeze(top, axis), Log(total)), -epsilon)
	}
	g := ZerosLike(b)
	var f *Node
	for range iterations {
		f = soft(g, b, 1)
		g = soft(f, a, 0)
	}
	return Add(ReduceAllSum(Mul(a, f)), ReduceAllSum(Mul(b, g)))
}

// Values, plans, potentials and gradients are those of the host, at an ε that
// takes a schedule, unbalanced and with atoms that have no weight.
func TestSolutionsAreTheHosts(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, m, d = 9, 12, 3
		rng := rand.New(rand.NewPCG(12, 1))
		x, y := normals(rng, 0, n, d).points(), normals(rng, 0.5, m, d).points()
		weighted := sinkhorn.Problem{
			X: transport.Measure{Points: x, Weights: shares(rng, n).values},
			Y: transport.Measure{Points: y, Weights: shares(rng, m).values}, Cost: sinkhorn.SquaredL2,
		}
		weighted.X.Weights[3], weighted.Y.Weights[0] = 0, 0
		for _, c := range []struct {
			name      string
			problem   sinkhorn.Problem
			solver    sinkhorn.Solver
			double    bool
			tolerance float64
		}{
			{"balanced", sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: sinkhorn.SquaredL2}, sinkhorn.Solver{Epsilon: 0.02, Tolerance: 1e-11, MaxIterations: 100_000}, true, 1e-8},
			{"unbalanced", weighted, sinkhorn.Solver{Epsilon: 0.1, Reach: 2, Tolerance: 1e-11}, true, 1e-8},
			{"single precision", sinkhorn.Problem{X: weighted.X, Y: transport.Uniform(y), Cost: sinkhorn.L2}, sinkhorn.Solver{Epsilon: 0.1, Tolerance: 1e-5}, false, 2e-5},
		} {
			e := graph.Executor{Engine: b.Engine, Double: c.double, Plans: true, Gradients: true}
			got, err := e.Solve(c.problem, c.solver)
			if err != nil {
				t.Fatal(err)
			}
			exact := c.solver
			exact.Tolerance, exact.MaxIterations = 1e-12, 100_000
			want, err := exact.Solve(c.problem)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := want.Plan()
			if err != nil {
				t.Fatal(err)
			}
			byX, byY, err := want.Gradient()
			if err != nil {
				t.Fatal(err)
			}
			if !got.Converged || !want.Converged {
				t.Errorf("%s: marginal error %v after %d iterations, host %v", c.name, got.MarginalError, got.Iterations, want.MarginalError)
			}
			near(t, c.name+": value", []float64{got.Dual}, []float64{want.Dual}, c.tolerance)
			near(t, c.name+": transport", []float64{got.Transport}, []float64{want.Transport}, 100*c.tolerance)
			near(t, c.name+": plan", got.Plan, plan, 100*c.tolerance)
			near(t, c.name+": by x", got.ByX, byX, 100*c.tolerance)
			near(t, c.name+": by y", got.ByY, byY, 100*c.tolerance)
			e.Close()
		}
	})
}

// A batch of any rank is its problems one by one, with weights, and rows of
// weight 0 change nothing: that is how samples of any size fit one shape.
func TestBatchesAndPadding(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, m, d = 4, 3, 2
		rng := rand.New(rand.NewPCG(13, 1))
		x, y := normals(rng, 0, 2, 3, n, d), normals(rng, 1, 2, 3, m, d)
		wa, wb := shares(rng, 2, 3, n), shares(rng, 2, 3, m)
		s := graph.Sinkhorn{Epsilon: 0.3, Iterations: 2000, Tolerance: 1e-10}
		out := evaluate(t, b, func(in []*Node) []*Node {
			all := s.Solve(graph.Measure{Points: in[0], Weights: in[2]}, graph.Measure{Points: in[1], Weights: in[3]})
			pick := func(v *Node) *Node { // problem [1, 2]
				return Squeeze(SliceAxis(SliceAxis(v, 0, AxisElem(1)), 1, AxisElem(2)), 0, 1)
			}
			padded := func(v *Node) *Node { return Concatenate([]*Node{MulScalar(OnesLike(v), 7), v}, 0) }
			weightless := func(w *Node) *Node { return Concatenate([]*Node{ZerosLike(w), w}, 0) }
			one := s.Solve(
				graph.Measure{Points: pick(in[0]), Weights: pick(in[2])},
				graph.Measure{Points: padded(pick(in[1])), Weights: weightless(pick(in[3]))})
			return []*Node{
				pick(all.Value), one.Value,
				pick(all.Plan), SliceAxis(one.Plan, 1, AxisRangeToEnd(m)),
				pick(Gradient(ReduceAllSum(all.Value), in[0])[0]), pick(Gradient(one.Value, in[0])[0]),
				ReduceAllMax(all.MarginalError), one.MarginalError,
				ReduceAllMax(Abs(SliceAxis(one.Plan, 1, AxisRangeFromStart(m)))),
				ReduceAllMax(Abs(one.G)),
			}
		}, x, y, wa, wb)
		for i, what := range []string{"value", "plan", "gradient"} {
			near(t, what, out[2*i], out[2*i+1], 1e-8)
		}
		if !(out[6][0] <= 1e-10 && out[7][0] <= 1e-10 && out[8][0] == 0) || math.IsInf(out[9][0], 0) || math.IsNaN(out[9][0]) {
			t.Errorf("marginal errors %v and %v, %v goes to rows without weight, potentials up to %v", out[6], out[7], out[8], out[9])
		}
	})
}

// A self term is the general problem, solved faster.
func TestSelfTerms(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(14, 1))
		out := evaluate(t, b, func(in []*Node) []*Node {
			var out []*Node
			for _, reach := range []float64{0, 1} {
				s := graph.Sinkhorn{Epsilon: 0.5, Iterations: 5000, Tolerance: 1e-11, Reach: reach}
				x := graph.Measure{Points: in[0], Weights: in[1]}
				same, twice := s.Solve(x, x), s.Solve(x, graph.Measure{Points: MulScalar(in[0], 1), Weights: in[1]})
				out = append(out, same.Value, twice.Value, same.Plan, twice.Plan, Sub(same.F, same.G))
				out = append(out, Gradient(same.Value, in[0])[0], Gradient(twice.Value, in[0])[0])
				out = append(out, same.Iterations, twice.Iterations)
			}
			return out
		}, normals(rng, 0, 7, 2), shares(rng, 7))
		for k, what := range []string{"balanced", "unbalanced"} {
			o := out[9*k:]
			near(t, what+" value", o[0], o[1], 1e-9)
			near(t, what+" plan", o[2], o[3], 1e-8)
			near(t, what+" f − g", o[4], make([]float64, 7), 1e-15)
			near(t, what+" gradient", o[5], o[6], 1e-8)
			if !(o[7][0] <= o[8][0]) {
				t.Errorf("%s: %v iterations as a self term, %v without", what, o[7], o[8])
			}
		}
	})
}

// What goes wrong at run time is not passed over in silence.
func TestBadValuesDoNotConverge(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(15, 1))
		x, y := normals(rng, 0, 5, 4, 2), normals(rng, 1, 5, 3, 2)
		w := shares(rng, 5, 4)
		x.values[3] = math.NaN()                 // problem 0
		y.values[6] = math.Inf(1)                // problem 1
		w.values[2*4] = -1                       // problem 2
		copy(w.values[3*4:], make([]float64, 4)) // problem 3: no weight at all; problem 4 is sound
		out := evaluate(t, b, func(in []*Node) []*Node {
			s := graph.Sinkhorn{Epsilon: 1, Iterations: 300, Tolerance: 1e-8, Scaling: 1}
			r := s.Solve(graph.Measure{Points: in[0], Weights: in[2]}, graph.Uniform(in[1]))
			few := graph.Sinkhorn{Epsilon: 0.001, Iterations: 3}.Solve(graph.Uniform(in[0]), graph.Uniform(in[1]))
			return []*Node{r.Converged, r.MarginalError, few.Converged, few.Iterations}
		}, x, y, w)
		if got := fmt.Sprint(out[0]); got != "[0 0 0 0 1]" {
			t.Errorf("converged: %v, marginal errors %v; only the last problem is sound", got, out[1])
		}
		if out[2][4] != 0 || out[3][0] != 3 {
			t.Errorf("3 iterations at ε = 0.001: converged %v after %v", out[2][4], out[3])
		}
	})
}

// From its solution a problem needs the one iteration that shows it.
func TestResume(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(16, 1))
		out := evaluate(t, b, func(in []*Node) []*Node {
			s := graph.Sinkhorn{Epsilon: 0.05, Iterations: 5000, Tolerance: 1e-8}
			x, y := graph.Uniform(in[0]), graph.Uniform(in[1])
			cold := s.Solve(x, y)
			warm, half := s.Resume(x, y, cold.F, cold.G), s.Resume(x, y, nil, cold.G)
			far := s.Resume(x, y, AddScalar(MulScalar(cold.F, 0), 1e6), nil)
			return []*Node{cold.Value, warm.Value, half.Value, far.Value, cold.Iterations, warm.Iterations, half.Iterations}
		}, normals(rng, 0, 8, 2), normals(rng, 0, 6, 2))
		for i := 1; i < 4; i++ {
			near(t, "value", out[i], out[0], 1e-8)
		}
		if !(out[4][0] >= 20 && out[5][0] == 1 && out[6][0] == 1) {
			t.Errorf("%v iterations, %v and %v from the solution", out[4], out[5], out[6])
		}
	})
}

// However few iterations there are and however far ε has come down, the value is
// a lower bound and the gradient that of a plan whose rows add up.
func TestTooFewIterationsAreFinite(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(17, 1))
		x, y := normals(rng, 0, 20, 2), normals(rng, 2, 30, 2)
		best, err := sinkhorn.Solver{Epsilon: 0.01}.Solve(sinkhorn.Problem{
			X: transport.Uniform(x.points()), Y: transport.Uniform(y.points()), Cost: sinkhorn.SquaredL2,
		})
		if err != nil {
			t.Fatal(err)
		}
		out := evaluate(t, b, func(in []*Node) []*Node {
			var out []*Node
			for _, iterations := range []int{1, 3, 10, 20} {
				s := graph.Sinkhorn{Epsilon: 0.01, Iterations: iterations}
				r, self := s.Solve(graph.Uniform(in[0]), graph.Uniform(in[1])), s.Solve(graph.Uniform(in[0]), graph.Uniform(in[0]))
				out = append(out, r.Value, r.MarginalError, ReduceSum(r.Plan, -1), Gradient(r.Value, in[0])[0], self.Value, self.MarginalError)
			}
			return out
		}, x, y)
		for k := 0; k < len(out); k += 6 {
			if !(out[k][0] <= best.Primal) || !(out[k+1][0] < 2) || !(out[k+5][0] < 40) || math.IsInf(out[k+4][0], 0) {
				t.Errorf("value %v of at most %v, marginal error %v; self term %v, %v", out[k][0], best.Primal, out[k+1][0], out[k+4][0], out[k+5][0])
			}
			for i, row := range out[k+2] {
				near(t, "row", []float64{row}, []float64{0.05}, 1e-9)
				// |∂OT/∂x_i| ≤ a_i·2·max‖x_i − y_j‖, below a tenth of 10.
				if g := math.Hypot(out[k+3][2*i], out[k+3][2*i+1]); !(g < 1) {
					t.Errorf("gradient %v of point %d", g, i)
				}
			}
		}
	})
}

// A loop of fixed length has the results of one that ends when all problems are solved,
// to the last bit, also where the limit comes first.
func TestFixedLengthChangesNothing(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(18, 1))
		solve := func(limit int, fixed bool) func(in []*Node) []*Node {
			return func(in []*Node) []*Node {
				s := graph.Sinkhorn{Epsilon: 0.5, Iterations: limit, Tolerance: 1e-6, Fixed: fixed}
				r := s.Solve(graph.Uniform(in[0]), graph.Uniform(in[1]))
				again := s.Resume(graph.Uniform(in[0]), graph.Uniform(in[1]), r.F, nil)
				return []*Node{r.F, r.G, r.Value, Gradient(ReduceAllSum(r.Value), in[0])[0], r.MarginalError, again.F, r.Iterations}
			}
		}
		x, y := normals(rng, 0, 3, 8, 2), normals(rng, 0, 3, 6, 2)
		for i := range 12 { // the first problem is soon solved
			y.values[i] = x.values[i]
		}
		for _, limit := range []int{35, 2000} {
			want, got := evaluate(t, b, solve(limit, false), x, y), evaluate(t, b, solve(limit, true), x, y)
			for k := range want[:6] {
				if !slices.Equal(got[k], want[k]) {
					t.Errorf("%d iterations: result %d is %v, with a loop that ends %v", limit, k, got[k], want[k])
				}
			}
			if all := float64((limit + 9) / 10 * 10); got[6][0] != all || limit == 2000 && !(want[6][0] < all) {
				t.Errorf("%v iterations of %d; with a loop that ends %v", got[6], limit, want[6])
			}
		}
	})
}
