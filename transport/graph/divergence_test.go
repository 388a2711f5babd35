package graph_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
	"molehill/transport/graph"
	"molehill/transport/sinkhorn"
)

// The losses of 001 are the host's, values and gradients, as batches of two; a
// mixture fraction of 0 is Eq. 4 and one of 1 is Eq. 5, but for what depends on
// y alone.
func TestDivergences(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		ask(t, b)
		const n, m, d = 6, 5, 2
		rng := rand.New(rand.NewPCG(21, 1))
		x, y := normals(rng, 0, 2, 2*n, d), normals(rng, 1, 2, 2*m, d)
		s := graph.Sinkhorn{Epsilon: 1, Iterations: 50_000, Tolerance: 1e-11}
		half := func(v *Node, i, size int) graph.Measure {
			return graph.Uniform(SliceAxis(v, 1, AxisRange(i*size, (i+1)*size)))
		}
		const mixed = 8 // of n = 6 with p = 0.4
		outputs := func(v *Node, d *graph.Divergence) []*Node {
			return []*Node{d.Value, Gradient(ReduceAllSum(d.Value), v)[0], Gradient(ReduceAllSum(d.Transport), v)[0], d.Transport}
		}
		out := evaluate(t, b, func(in []*Node) []*Node {
			x, y := in[0], in[1]
			x1, x2, y1, y2 := half(x, 0, n), half(x, 1, n), half(y, 0, m), half(y, 1, m)
			first := MulScalar(x1.Points, 1)
			biased := s.Biased(x1, y1)
			debiased := s.Debiased(x1, y1, x2, y2)
			semi := MulScalar(SliceAxis(x, 1, AxisRange(0, mixed)), 1)
			zero, mean, one := s.SemiDebiased(first, y1, 0), s.SemiDebiased(semi, y1, 0.4), s.SemiDebiased(x, y1, 1)
			out := outputs(x, biased)
			out = append(out, outputs(x, debiased)...)
			out = append(out, outputs(first, zero)...)
			out = append(out, outputs(semi, mean)...)
			out = append(out, outputs(x, one)...)
			return append(out,
				Sub(biased.Value, zero.Value), Neg(biased.Terms[2].Value), Sub(debiased.Value, one.Value), Neg(debiased.Terms[2].Value),
				biased.Converged, debiased.Converged, mean.Converged, debiased.MarginalError, ReduceMax(Stack([]*Node{debiased.Terms[0].MarginalError, debiased.Terms[1].MarginalError, debiased.Terms[2].MarginalError}, 0), 0))
		}, x, y)

		solver := sinkhorn.Solver{Epsilon: 1, Tolerance: 1e-12, MaxIterations: 100_000}
		of := func(a array, problem, from, to int) transport.Points {
			rows := a.dims[1]
			return array{a.values[(problem*rows+from)*d : (problem*rows+to)*d], []int{to - from, d}}.points()
		}
		for k := range 2 {
			u := transport.Uniform
			y1, y2 := u(of(y, k, 0, m)), u(of(y, k, m, 2*m))
			var want []*sinkhorn.Divergence
			for _, host := range []func() (*sinkhorn.Divergence, error){
				func() (*sinkhorn.Divergence, error) { return solver.Biased(u(of(x, k, 0, n)), y1, sinkhorn.SquaredL2) },
				func() (*sinkhorn.Divergence, error) {
					return solver.Debiased(u(of(x, k, 0, n)), y1, u(of(x, k, n, 2*n)), y2, sinkhorn.SquaredL2)
				},
				func() (*sinkhorn.Divergence, error) {
					return solver.SemiDebiased(of(x, k, 0, n), y1, 0, sinkhorn.SquaredL2)
				},
				func() (*sinkhorn.Divergence, error) {
					return solver.SemiDebiased(of(x, k, 0, mixed), y1, 0.4, sinkhorn.SquaredL2)
				},
				func() (*sinkhorn.Divergence, error) {
					return solver.SemiDebiased(of(x, k, 0, 2*n), y1, 1, sinkhorn.SquaredL2)
				},
			} {
				d, err := host()
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, d)
			}
			for i, what := range []string{"biased", "debiased", "p = 0", "p = 0.4", "p = 1"} {
				o := out[4*i : 4*i+4]
				near(t, what, o[0][k:k+1], []float64{want[i].Value}, 1e-8)
				size := len(o[1]) / 2
				own := func(v []float64) []float64 { return v[k*size : k*size+len(want[i].ByX)] }
				near(t, what+" by x", own(o[1]), want[i].ByX, 1e-8)
				near(t, what+" by x, of ⟨C, P⟩", own(o[2]), want[i].ByX, 1e-8)
			}
			// Eqs. 4 and 5 have the term of y alone in addition. With it Eq. 4 is the
			// divergence that cannot be negative.
			near(t, "p = 0 and Eq. 4", out[20][k:k+1], out[21][k:k+1], 1e-8)
			near(t, "p = 1 and Eq. 5", out[22][k:k+1], out[23][k:k+1], 1e-8)
			if !(out[0][k] > 0) {
				t.Errorf("Eq. 4 is %v for different samples", out[0][k])
			}
			if out[24][k]+out[25][k]+out[26][k] != 3 || out[27][k] != out[28][k] {
				t.Errorf("converged: %v %v %v; marginal error %v, largest of the terms %v", out[24], out[25], out[26], out[27], out[28])
			}
		}
	})
}

// Where masses differ the loss of unbalanced transport is the host's, and not negative.
func TestUnbalancedDivergence(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		ask(t, b)
		const n = 7
		x := normals(rand.New(rand.NewPCG(22, 1)), 0, 1, n, 2)
		heavy := array{make([]float64, n), []int{1, n}}
		for i := range heavy.values {
			heavy.values[i] = 2. / n
		}
		s := graph.Sinkhorn{Epsilon: 1, Reach: 0.5, Iterations: 50_000, Tolerance: 1e-11}
		out := evaluate(t, b, func(in []*Node) []*Node {
			d := s.Biased(graph.Uniform(in[0]), graph.Measure{Points: in[0], Weights: in[1]})
			return []*Node{d.Value, d.Converged}
		}, x, heavy)
		p := array{x.values, []int{n, 2}}.points()
		want, err := sinkhorn.Solver{Epsilon: 1, Reach: 0.5, Tolerance: 1e-12, MaxIterations: 100_000}.Biased(transport.Uniform(p), transport.Measure{Points: p, Weights: heavy.values}, sinkhorn.SquaredL2)
		if err != nil || out[1][0] != 1 || !(want.Value > 0) {
			t.Fatal(out[1], want.Value, err)
		}
		near(t, "unbalanced", out[0][:1], []float64{want.Value}, 1e-8)
	})
}

// A generator learns a target through the loss inside GoMLX's training step: in
// the end its points are as far from the real ones as other real ones are.
func TestTrainingStep(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, total, d, steps = 16, 22, 2, 200
		rng := rand.New(rand.NewPCG(22, 1))
		single := func(a array) *tensors.Tensor {
			return tensors.FromFlatDataAndDimensions(a.points().Data, a.dims...)
		}
		store := model.NewStore()
		defer store.Finalize()
		for name, value := range map[string]array{"/weight": normals(rng, 0, d, d), "/bias": normals(rng, 0, d)} {
			if _, err := store.CreateVariable(name, single(value)); err != nil {
				t.Fatal(err)
			}
		}
		s := graph.Sinkhorn{Epsilon: 0.5, Cost: graph.Mixture(1, 0.1), Iterations: 1000, Tolerance: 1e-3}
		exec, err := model.NewExec(b.Engine, store, func(scope *model.Scope, latent, real, other *Node) []*Node {
			g := latent.Graph()
			weight, bias := scope.GetVariable("weight").NodeValue(g), scope.GetVariable("bias").NodeValue(g)
			points := Add(Dot(latent, weight).Product(), ExpandLeftToRank(bias, 2))
			loss := s.SemiDebiased(points, graph.Uniform(real), 0.4)
			optimizer.Adam().LearningRate(0.05).Done().UpdateGraph(scope, g, loss.Value)
			both := graph.Uniform(Stack([]*Node{points, other}, 0))
			distances := s.Biased(both, graph.Uniform(Stack([]*Node{real, real}, 0)))
			return []*Node{distances.Value, loss.MarginalError}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer exec.Finalize()
		reals := func(n int) *tensors.Tensor { // (2z₁ + 3, z₂/2 − 1) of normals z
			real := normals(rng, 0, n, d)
			for i := range n {
				real.values[2*i], real.values[2*i+1] = 2*real.values[2*i]+3, real.values[2*i+1]/2-1
			}
			return single(real)
		}
		var first, last, floor float64 // means over a tenth of the steps
		for step := range steps {
			out, err := exec.Call(single(normals(rng, 0, total, d)), reals(n), reals(total))
			if err != nil {
				t.Fatal(err)
			}
			if marginal := tensors.ToScalar[float32](out[1]); !(marginal <= 1e-3) {
				t.Fatalf("step %d: marginal error %v", step, marginal)
			}
			distances := tensors.MustCopyFlatData[float32](out[0])
			const share = steps / 10
			switch {
			case step < share:
				first += float64(distances[0]) / share
			case step >= steps-share:
				last += float64(distances[0]) / share
				floor += float64(distances[1]) / share
			}
		}
		if !(first > 5*floor && last < 1.3*floor) {
			t.Errorf("distance to real points from %v to %v, of other real points %v", first, last, floor)
		}
	})
}

// Both terms at once are the terms one by one, with and without weights, whichever has
// more points. And each is solved as if the other were not there: real points that take
// a hundred times as many iterations leave the second term's gradient as it is, to the
// last bit.
func TestSemiDebiasedAtOnce(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		ask(t, b)
		const n, d, p = 5, 3, 0.4 // and two more
		rng := rand.New(rand.NewPCG(22, 1))
		s := graph.Sinkhorn{Epsilon: 0.5, Iterations: 50_000, Tolerance: 1e-10}
		for _, m := range []int{3, 5, 8} {
			x, y, w := normals(rng, 0, n+2, d), normals(rng, 1, m, d), shares(rng, m)
			out := evaluate(t, b, func(in []*Node) []*Node {
				w := in[2]
				var all []*Node
				for _, y := range []graph.Measure{{Points: in[1]}, {Points: in[1], Weights: w}} {
					for _, loss := range []func(*Node, graph.Measure, float64) *graph.Divergence{s.SemiDebiased, s.SemiDebiasedAtOnce} {
						d := loss(in[0], y, p)
						all = append(all, d.Value, d.Transport, Gradient(d.Value, in[0])[0], d.Converged)
					}
				}
				return all
			}, x, y, w)
			for k := range 2 {
				for i, what := range []string{"value", "transport", "gradient", "converged"} {
					near(t, what, out[8*k+4+i], out[8*k+i], 1e-7)
				}
			}
		}

		s.Epsilon = 0.02
		x := normals(rng, 0, n+2, d)
		pull := func(y array) []float64 {
			out := evaluate(t, b, func(in []*Node) []*Node {
				d := s.SemiDebiasedAtOnce(in[0], graph.Uniform(in[1]), p)
				return []*Node{SliceAxis(Gradient(d.Value, in[0])[0], 0, AxisRangeToEnd(n))}
			}, x, y)
			return out[0]
		}
		near(t, "gradient that tells nothing of real points", pull(normals(rng, 40, 6, d)), pull(normals(rng, 0, 6, d)), 0)
	})
}

func TestSemiDebiasedAtOnceRefuses(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	x, y, few := cube(rand.New(rand.NewPCG(1, 1)), 7, 2), cube(rand.New(rand.NewPCG(2, 1)), 4, 2), cube(rand.New(rand.NewPCG(3, 1)), 3)
	for want, s := range map[string]graph.Sinkhorn{
		"balanced":    {Epsilon: 1, Iterations: 10, Reach: 2},
		"one a point": {Epsilon: 1, Iterations: 10},
	} {
		_, err := CallOnce(b.Engine, func(x, y, w *Node) *Node {
			return s.SemiDebiasedAtOnce(x, graph.Measure{Points: y, Weights: w}, 0.4).Value
		}, x, y, few)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want it to say %q", err, want)
		}
	}
}
