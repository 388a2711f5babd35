package matching_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/transport/sliced"
)

// Records that are made to add more than their limit, by what single precision loses
// somewhere: none does, and where they are clipped they come up to it.

// What a record adds to the sum stays below its limits, however large its Jacobian, in
// single precision too.
func TestMarginIsEnough(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		l := learner(t, b, small)
		const limit = 0.25
		var largest float64
		for seed := range uint64(20) {
			of := batch(seed)
			of.X, of.Target, of.Alpha, of.Pairs = of.X[:9], of.Target[:3], 0, nil
			for i := range of.Target {
				of.Target[i] *= float32(math.Pow(10, float64(seed)/2))
			}
			g, err := l.Gradient(of, matching.Clipping{Output: 1, Jacobian: 1, Loss: limit})
			if err != nil {
				t.Fatal(err)
			}
			largest = max(largest, norm(g.Values)/limit)
		}
		if !(largest < 1-matching.Margin/2 && largest > 1-2*matching.Margin) {
			t.Errorf("the largest is %v of the limit; it should be just below 1 − 2⁻¹⁰", largest)
		}
	})
}

// alone is the gradient of a batch of one record with parameters, clipped.
func alone(t *testing.T, b *backend.Backend, m matching.Model, params layer.Params, x, target []float32, c matching.Clipping) []float64 {
	t.Helper()
	l, err := matching.New(b, m, params, train.Optimizer{Name: train.SGD})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g, err := l.Gradient(matching.Batch{X: x, Target: target}, c)
	if err != nil {
		t.Fatal(err)
	}
	return g.Values
}

// product is a loss by whose gradient a network's outputs are pulled to where one likes.
func product(output, target *graph.Node) *graph.Node {
	return graph.ReduceSum(graph.Mul(output, target), 1)
}

// A map to the sphere has a large gradient next to 0. A record that is made to come there,
// with a loss that pulls its output along itself, has a gradient that cancels but for what
// float32 loses. A backward pass of the weighted loss would lose something else, and leave
// the limit; what is added up here are the numbers that norms are of.
func TestAMapToTheSphereKeepsTheLimit(t *testing.T) {
	const in, out = 64, 8
	m := matching.Model{
		Input: []int{in}, Outputs: out, Target: []int{out}, Inner: layer.Sequence{layer.Dense{Name: "a", In: in, Out: out}, layer.Normalize},
		Loss: product,
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		again := 0. // the largest gradient of a weighted loss
		weighted, err := graph.NewExec(b.Engine, func(in []*graph.Node) []*graph.Node {
			loss := graph.Mul(in[2], graph.ReduceAllSum(product(m.Inner.Apply(in[0], in[3:]), in[1])))
			return graph.Gradient(loss, in[3:]...)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer weighted.Finalize()
		for seed := range uint64(3) {
			for _, near := range []float64{1e-3, 1e-6, 1e-7} {
				rng := rand.New(rand.NewPCG(seed, 9))
				params, x, some := layer.Init(m.Network(), seed), normals(rng, in, 1), normals(rng, out, 1)
				weights, bias := params[0].Value, params[1].Value // [in, out]
				for k := range bias {
					var code float64
					for i, v := range x {
						code += float64(weights[i*out+k]) * float64(v)
					}
					bias[k] = float32(near*float64(some[k]) - code)
				}
				l, err := matching.New(b, m, params, train.Optimizer{Name: train.SGD})
				if err != nil {
					t.Fatal(err)
				}
				along, err := l.Inner(x) // itself
				l.Close()
				if err != nil {
					t.Fatal(err)
				}
				whole := norm(alone(t, b, m, params, x, along, matching.Clipping{Output: 1, Jacobian: 1, Loss: 1e12}))
				got := norm(alone(t, b, m, params, x, along, matching.Clipping{Output: 1, Jacobian: 1, Loss: 1}))
				if want := min(1, whole); !(got <= 1-matching.Margin/2 && got >= want*(1-2*matching.Margin)) {
					t.Errorf("a gradient of %v becomes one of %v, for a limit of 1", whole, got)
				}
				if whole < 1 {
					continue
				}
				in := []any{tensors.FromFlatDataAndDimensions(x, 1, in), tensors.FromFlatDataAndDimensions(along, 1, out), float32(1 / whole)}
				for _, p := range params {
					in = append(in, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
				}
				squares := 0.
				for _, g := range weighted.MustCall(in...) {
					for _, v := range tensors.MustCopyFlatData[float32](g) {
						squares += float64(v) * float64(v)
					}
				}
				again = max(again, math.Sqrt(squares))
			}
		}
		if !(again > 1.05) {
			t.Errorf("a backward pass of weighted losses has a gradient of %v at most, so that these records show nothing", again)
		}
	})
}

// Jacobians whose columns are nearly alike have a small singular value beside a large one.
// A record far away makes both large, and what pulls along the small one must be clipped,
// too, though J·Jᵀ hardly knows of it: where columns differ in their last digits, of single
// precision, it is next to nothing beside what double precision loses of the large one.
func TestSmallSingularValuesAreClipped(t *testing.T) {
	const in, hidden, d = 8, 64, 2
	m := matching.Model{Input: []int{in}, Outputs: d, Inner: layer.Sequence{layer.Dense{Name: "a", In: in, Out: hidden}, layer.Dense{Name: "b", In: hidden, Out: d}}}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for seed := range uint64(6) {
			apart := []float64{3e-4, 1e-7}[seed%2]
			rng := rand.New(rand.NewPCG(seed, 3))
			params := layer.Init(m.Network(), 1)
			for _, p := range params {
				clear(p.Value)
			}
			for k := range hidden {
				v := rng.NormFloat64() / 8
				params[2].Value[k*d], params[2].Value[k*d+1] = float32(v), float32(v+apart*rng.NormFloat64()/8)
			}
			l, err := matching.New(b, m, params, train.Optimizer{Name: train.SGD})
			if err != nil {
				t.Fatal(err)
			}
			for _, scale := range []float64{1, 10, 1e3, 1e4, 1e5, 1e8} {
				half := float32(math.Sqrt(0.5))
				of := matching.Batch{X: normals(rng, in, scale), Alpha: 1, Directions: sliced.Orthonormal(d, 2, rng), Pairs: []matching.Pair{{A: []int{0}, Points: []float32{half, -half}}}}
				g, err := l.Gradient(of, matching.Clipping{Output: 1, Jacobian: 1, Loss: 1, Exact: true})
				if err != nil {
					t.Fatal(err)
				}
				// SW²₂ to a point at distance 1 pulls with 2/d·1.
				if got := norm(g.Values); !(got <= 1-matching.Margin/2) {
					t.Errorf("columns %g apart, records of size %g: a gradient of %v, at most 1 is left", apart, scale, got)
				}
			}
			l.Close()
		}
	})
}

// Where what a record's positions add cancels but for the last digits, its norm is found
// from products that are far larger than itself, and by what they may be off, clipping has
// to expect more than it finds.
func TestWhatCancelsKeepsTheLimit(t *testing.T) {
	const positions, channels, limit = 4, 32, 1e-9
	m := matching.Model{
		Input: []int{positions, 1, channels}, Outputs: 1, Target: []int{1}, Loss: product,
		Inner: layer.Sequence{
			layer.Unbiased{Layer: layer.Conv2D{Name: "a", In: channels, Out: channels, Kernel: 1, Stride: 1}},
			layer.Func(func(x *graph.Node) *graph.Node { return graph.ExpandAxes(graph.ReduceSum(x, 1, 2, 3), 1) }),
		},
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		l := learner(t, b, m)
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 11))
			x, exact := make([]float32, positions*channels), 0. // exact is ‖Σ_t x_t·1ᵀ‖²
			for i := range channels {
				sum := 0.
				for k := 0; k < positions; k += 2 {
					v := float32(rng.NormFloat64())
					x[k*channels+i], x[(k+1)*channels+i] = v, -v*(1+1e-7*float32(rng.NormFloat64()))
					sum += float64(v) + float64(x[(k+1)*channels+i])
				}
				exact += channels * sum * sum
			}
			g, err := l.Gradient(matching.Batch{X: x, Target: []float32{1}}, matching.Clipping{Output: 1, Jacobian: 1, Loss: limit})
			if err != nil {
				t.Fatal(err)
			}
			if got := norm(g.Values); !(got <= limit*(1-matching.Margin/2)) || !(exact > 100*limit*limit) {
				t.Errorf("a gradient of norm %g becomes one of %g, for a limit of %g", math.Sqrt(exact), got, limit)
			}
		}
	})
}

// Squares of what a gradient's factors consist of may be too small for single precision,
// or too large, where the gradient itself is not.
func TestSmallFactorsCount(t *testing.T) {
	const in, out = 64, 8
	dense := matching.Model{Input: []int{in}, Outputs: out, Target: []int{out}, Inner: layer.Sequence{layer.Unbiased{Layer: layer.Dense{Name: "a", In: in, Out: out}}}, Loss: product}
	normed := dense
	normed.Inner = layer.Sequence{layer.Dense{Name: "a", In: in, Out: out}, layer.LayerNorm{Name: "n", Channels: out}}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range []struct {
			m              matching.Model
			x, pull, limit float64
		}{
			{dense, 1, 1, 1}, {dense, 1e-19, 6e18, 1}, {dense, 2e-23, 6e18, 1e-4}, {dense, 1e30, 1e-28, 1}, {dense, 1e-30, 1e30, 1},
			{normed, 1e18, 0.05, 1}, {normed, 1e18, 0.05, 0.1},
		} {
			rng := rand.New(rand.NewPCG(1, 3))
			params := layer.Init(c.m.Network(), 1)
			got := norm(alone(t, b, c.m, params, normals(rng, in, c.x), normals(rng, out, c.pull), matching.Clipping{Output: 1, Jacobian: 1, Loss: c.limit}))
			if !(got <= c.limit*(1-matching.Margin/2)) || got == 0 {
				t.Errorf("inputs of %g, gradients of %g: %v is added, the limit is %v", c.x, c.pull, got, c.limit)
			}
		}
	})
}

// A record that is no number counts nothing, even if the loss has no gradient where all is 0.
func TestALossWithoutGradientAtZero(t *testing.T) {
	m := matching.Model{Input: []int{2}, Outputs: 2, Target: []int{2}, Inner: layer.Sequence{layer.Unbiased{Layer: layer.Dense{Name: "a", In: 2, Out: 2}}},
		Loss: func(output, target *graph.Node) *graph.Node {
			return graph.Sqrt(graph.ReduceSum(graph.Square(graph.Sub(output, target)), 1))
		}}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		nan, c := float32(math.NaN()), matching.Clipping{Output: 1, Jacobian: 1, Loss: 1}
		params := layer.Init(m.Network(), 1)
		both := alone(t, b, m, params, []float32{1, 2, 3, nan}, []float32{1, 1, 1, 1}, c)
		one := alone(t, b, m, params, []float32{1, 2}, []float32{1, 1}, c)
		for p, v := range both {
			if !(math.Abs(2*v-one[p]) <= 1e-6) {
				t.Fatalf("the gradient is %v beside a record that is no number, and half of %v without", both, one)
			}
		}
	})
}

// A model whose graph cannot be built, or whose loss is not a number a record, is an error.
func TestModelsThatDoNotFit(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	dense := func(in int) layer.Sequence { return layer.Sequence{layer.Dense{Name: "a", In: in, Out: 2}} }
	for want, m := range map[string]matching.Model{
		"the model's graph": {Input: []int{3}, Outputs: 2, Target: []int{2}, Inner: dense(4), Loss: product},
		"it must be [3], a number a record": {Input: []int{3}, Outputs: 2, Target: []int{2}, Inner: dense(3), Loss: func(output, target *graph.Node) *graph.Node {
			return graph.ReduceAllSum(product(output, target))
		}},
	} {
		if l, err := matching.New(b, m, layer.Init(m.Network(), 1), train.Optimizer{Name: train.SGD}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v, want one with %q", l, err, want)
		}
	}
}
