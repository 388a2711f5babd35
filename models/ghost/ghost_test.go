package ghost_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/ghost"
	"molehill/models/layer"
)

// networks end in a few outputs and hold every kind of layer between them.
var networks = []struct {
	name    string
	input   []int
	network layer.Sequence
}{
	{"dense", []int{5}, layer.Sequence{
		layer.Dense{Name: "a", In: 5, Out: 7}, layer.ReLU, layer.Dense{Name: "b", In: 7, Out: 3},
	}},
	{"convolution", []int{6, 6, 2}, layer.Sequence{
		layer.Conv2D{Name: "a", In: 2, Out: 3, Kernel: 3, Stride: 1, Padding: 1}, layer.LeakyReLU(0.2),
		layer.Conv2D{Name: "b", In: 3, Out: 4, Kernel: 2, Stride: 2}, layer.ReLU,
		layer.Flatten, layer.Dense{Name: "c", In: 36, Out: 2},
	}},
	{"wide convolution of few places", []int{2, 2, 8}, layer.Sequence{
		layer.Conv2D{Name: "a", In: 8, Out: 16, Kernel: 3, Stride: 1, Padding: 1}, layer.Func(graph.Tanh),
		layer.Flatten, layer.Dense{Name: "b", In: 64, Out: 2},
	}},
	{"transposed convolution", []int{3, 3, 2}, layer.Sequence{
		layer.ConvTranspose2D{Name: "a", In: 2, Out: 3, Kernel: 4, Stride: 2, Padding: 1}, layer.Func(graph.Tanh),
		layer.ConvTranspose2D{Name: "b", In: 3, Out: 1, Kernel: 2, Stride: 2}, layer.Flatten, layer.Dense{Name: "c", In: 144, Out: 2},
	}},
	{"normalised", []int{4, 4, 2}, layer.Sequence{
		layer.Unbiased{Layer: layer.Conv2D{Name: "a", In: 2, Out: 3, Kernel: 3, Stride: 1, Padding: 1}},
		layer.LayerNorm{Name: "n", Channels: 3}, layer.ReLU, layer.MaxPool2D(2), layer.Upsample(2),
		layer.Flatten, layer.Dense{Name: "b", In: 48, Out: 6}, layer.LayerNorm{Name: "m", Channels: 6}, layer.Dense{Name: "c", In: 6, Out: 2},
	}},
	{"residual", []int{3, 3, 2}, layer.Sequence{
		layer.Residual{
			Main:     layer.Sequence{layer.Conv2D{Name: "a", In: 2, Out: 2, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU},
			Shortcut: layer.Sequence{layer.Conv2D{Name: "s", In: 2, Out: 2, Kernel: 1, Stride: 1}},
		},
		layer.Flatten, layer.Dense{Name: "b", In: 18, Out: 2},
	}},
	{"branches", []int{3, 3, 2}, layer.Sequence{
		layer.Branches{
			layer.Conv2D{Name: "a", In: 2, Out: 2, Kernel: 3, Stride: 1, Padding: 1},
			layer.Sequence{layer.Flatten, layer.Dense{Name: "b", In: 18, Out: 4}, layer.ReLU},
		},
		layer.Dense{Name: "c", In: 22, Out: 3},
	}},
}

// drawn are parameters that are nowhere 0 or 1.
func drawn(network layer.Layer, seed uint64) layer.Params {
	params := layer.Init(network, seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, p := range params {
		for i := range p.Value {
			p.Value[i] += 0.1 * float32(rng.NormFloat64())
		}
	}
	return params
}

// compile prepares a graph of x, [n, input…], and parameters.
func compile(t *testing.T, b *backend.Backend, build func(x *graph.Node, weights []*graph.Node) []*graph.Node, input []int, params layer.Params) func(x []float32) [][]float32 {
	t.Helper()
	call := program(t, b, func(in []*graph.Node) []*graph.Node { return build(in[0], in[1:]) })
	return func(x []float32) (values [][]float32) {
		t.Helper()
		for _, out := range call(inputs(x, input, params)...) {
			values = append(values, tensors.MustCopyFlatData[float32](out))
		}
		return values
	}
}

// inputs are x, [n, input…], and parameters.
func inputs(x []float32, input []int, params layer.Params) []any {
	in := []any{tensors.FromFlatDataAndDimensions(x, append([]int{len(x) / size(input)}, input...)...)}
	for _, p := range params {
		in = append(in, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
	}
	return in
}

// program prepares a graph.
func program(t *testing.T, b *backend.Backend, build func(in []*graph.Node) []*graph.Node) func(in ...any) []*tensors.Tensor {
	t.Helper()
	exec, err := graph.NewExec(b.Engine, build)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(exec.Finalize)
	return func(in ...any) []*tensors.Tensor {
		t.Helper()
		out, err := exec.Call(in...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// seen are gradients of x in their three graphs: held, their norms, and sums.
type seen struct {
	squares, rounding   []float64                         // [n, d]
	products            []float64                         // [n, d, d]
	sum                 func(weights []float64) []float64 // [n, d]
	lossSquares, ofLoss []float64                         // [n], of the sum of all outputs
}

func see(t *testing.T, b *backend.Backend, network layer.Layer, x []float32, input []int, params layer.Params) (s seen) {
	t.Helper()
	n, d, parts := len(x)/size(input), 0, 0
	hold := program(t, b, func(in []*graph.Node) []*graph.Node {
		trace, err := ghost.Forward(network, in[0], in[1:])
		if err != nil {
			panic(err)
		}
		columns := trace.Columns()
		d = len(columns)
		all := columns[0]
		for _, c := range columns[1:] {
			all = graph.Add(all, c)
		}
		held := trace.Gradients(columns...).Nodes()
		parts = len(held)
		return append(held, trace.Gradients(all).Nodes()...)
	})
	var held []any
	for _, tensor := range hold(inputs(x, input, params)...) {
		held = append(held, tensor)
	}
	norms := program(t, b, func(in []*graph.Node) []*graph.Node {
		rows, all, loss := ghost.Held(in[:parts]).Norms(false), ghost.Held(in[:parts]).Norms(true), ghost.Held(in[parts:]).Norms(false)
		return []*graph.Node{rows.Products, rows.Rounding, all.Products, loss.Products, loss.Rounding}
	})(held...)
	for i, to := range []*[]float64{&s.squares, &s.rounding, &s.products, &s.lossSquares, &s.ofLoss} {
		*to = tensors.MustCopyFlatData[float64](norms[i])
	}
	add := program(t, b, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{ghost.Held(in[:parts]).Sum(in[parts])}
	})
	s.sum = func(weights []float64) []float64 {
		return tensors.MustCopyFlatData[float64](add(append(held[:parts:parts], tensors.FromFlatDataAndDimensions(weights, n, d))...)[0])
	}
	return s
}

func size(shape []int) int {
	n := 1
	for _, dim := range shape {
		n *= dim
	}
	return n
}

// jacobians writes down the Jacobian of each example by all parameters, [n][d][r].
func jacobians(t *testing.T, b *backend.Backend, network layer.Layer, x []float32, input []int, params layer.Params) [][][]float64 {
	t.Helper()
	one := compile(t, b, func(x *graph.Node, weights []*graph.Node) (rows []*graph.Node) {
		y := network.Apply(x, weights)
		for c := range y.Shape().Dimensions[1] {
			var flat []*graph.Node
			for _, by := range graph.Gradient(graph.ReduceAllSum(graph.SliceAxis(y, 1, graph.AxisElem(c))), weights...) {
				flat = append(flat, graph.Reshape(by, -1))
			}
			rows = append(rows, graph.Concatenate(flat, 0))
		}
		return rows
	}, input, params)
	var all [][][]float64
	for i := range len(x) / size(input) {
		rows := one(x[i*size(input) : (i+1)*size(input)])
		jacobian := make([][]float64, len(rows))
		for c, row := range rows {
			for _, v := range row {
				jacobian[c] = append(jacobian[c], float64(v))
			}
		}
		all = append(all, jacobian)
	}
	return all
}

func inner(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// Norms, products and sums are those of gradients written down, for every kind of layer,
// and what rounding may hide is little beside them.
func TestGradientsAreThoseOfJacobians(t *testing.T) {
	const n = 3
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for k, c := range networks {
			t.Run(c.name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(k), 1))
				x := make([]float32, n*size(c.input))
				for i := range x {
					x[i] = float32(rng.NormFloat64())
				}
				params := drawn(c.network, 3)
				want := jacobians(t, b, c.network, x, c.input, params)
				got := see(t, b, c.network, x, c.input, params)
				d := len(want[0])
				weights, total, scale := make([]float64, n*d), make([]float64, len(want[0][0])), 0.
				for i, jacobian := range want {
					sum := make([]float64, len(jacobian[0]))
					for e, row := range jacobian {
						weights[i*d+e] = rng.NormFloat64()
						for p, v := range row {
							sum[p] += v
							total[p] += weights[i*d+e] * v
						}
						norm := math.Sqrt(inner(row, row))
						scale += norm
						near(t, "squared norm", got.squares[i*d+e], inner(row, row), norm*norm)
						if rounding := got.rounding[i*d+e]; !(rounding > 0 && rounding < 0.03*norm) {
							t.Errorf("a norm of %v may be off by %v", norm, rounding)
						}
						for f, other := range jacobian {
							near(t, "product", got.products[(i*d+e)*d+f], inner(row, other), norm*math.Sqrt(inner(other, other)))
						}
					}
					near(t, "squared norm of the loss's gradient", got.lossSquares[i], inner(sum, sum), inner(sum, sum))
					if !(got.ofLoss[i] > 0) {
						t.Errorf("rounding of a loss is %v", got.ofLoss[i])
					}
				}
				added := got.sum(weights)
				if len(added) != len(total) {
					t.Fatalf("a sum of %d numbers by %d parameters", len(added), len(total))
				}
				for p, v := range added {
					near(t, "sum", v, total[p], scale)
				}
			})
		}
	})
}

// What is added up of a record is no longer than its norm and rounding say, to the last
// digits of a double, for every kind of layer: of records of all sizes, some of whose
// numbers cancel but for a hair.
func TestNormsBoundWhatIsAddedUp(t *testing.T) {
	const n = 40
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for k, c := range networks {
			rng := rand.New(rand.NewPCG(uint64(k), 7))
			x := make([]float32, n*size(c.input))
			for i := range x {
				x[i] = float32(rng.NormFloat64() * math.Pow(10, float64(i/size(c.input))/10-2))
				if i%2 == 1 && i/size(c.input)%2 == 1 {
					x[i] = -x[i-1] * (1 + 1e-6*float32(rng.NormFloat64()))
				}
			}
			got := see(t, b, c.network, x, c.input, drawn(c.network, 5))
			for place := range got.squares {
				one := make([]float64, len(got.squares))
				one[place] = 1
				v := got.sum(one)
				norm, said := math.Sqrt(inner(v, v)), math.Sqrt(got.squares[place])
				if bound := said + got.rounding[place]; !(norm <= bound) {
					t.Errorf("%s, %d: a gradient of norm %v, said to be %v at most", c.name, place, norm, bound)
				}
				if !(norm >= 0.99*said) {
					t.Errorf("%s, %d: a gradient of norm %v, said to be %v", c.name, place, norm, said)
				}
			}
		}
	})
}

// near allows for a relative error of 1e-5.
func near(t *testing.T, what string, got, want, scale float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-5*scale) {
		t.Errorf("%s %v, written down %v", what, got, want)
	}
}

// Where what an example adds up cancels, float32 has little left of the norm; what may
// be lost is counted. A gradient with pairs of positions of opposite sign, up to a
// hair, has a norm far below its reach.
func TestRoundingCoversWhatCancels(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range []struct {
			name               string
			positions, in, out int
		}{{"multiplied out", 256, 2, 3}, {"by products of positions", 4, 32, 32}} {
			network := layer.Sequence{layer.Conv2D{Name: "a", In: c.in, Out: c.out, Kernel: 1, Stride: 1}}
			rng := rand.New(rand.NewPCG(5, 5))
			x := make([]float32, c.positions*c.in)
			for k := 0; k < c.positions; k += 2 {
				for i := range c.in {
					v := float32(rng.NormFloat64())
					x[k*c.in+i], x[(k+1)*c.in+i] = v, -v*(1+1e-6*float32(rng.NormFloat64()))
				}
			}
			network = append(network, layer.Func(func(x *graph.Node) *graph.Node { return graph.ExpandAxes(graph.ReduceSum(x, 1, 2, 3), 1) }))
			got := see(t, b, network, x, []int{c.positions, 1, c.in}, drawn(network, 1))
			var squares float64 // of Σ_t x_t·1ᵀ, and of the bias
			for i := range c.in {
				var sum float64
				for k := range c.positions {
					sum += float64(x[k*c.in+i])
				}
				squares += sum * sum * float64(c.out)
			}
			squares += float64(c.positions*c.positions) * float64(c.out)
			bias := math.Sqrt(float64(c.positions*c.positions) * float64(c.out))
			norm, rounding := math.Sqrt(got.squares[0]), got.rounding[0]
			if exact := math.Sqrt(squares); !(exact <= norm+rounding && rounding <= 0.1*bias) {
				t.Errorf("%s: a norm of %v is found as %v ± %v", c.name, exact, norm, rounding)
			}
		}
	})
}

// Where there is no bias, and positions cancel to their last digits, what products of
// positions say of the norm is off by more than a thousandth of it, and by less than
// Rounding. That is as much as sums of Most examples need: of those whose norm and Rounding
// are clipped to C a sum over n examples of T positions, off by n·T·u of their reaches, is
// off by 2⁻¹⁰ of C at most.
func TestRoundingCoversWhatCancelsToNothing(t *testing.T) {
	const n, positions, channels = 20, 4, 32
	network := layer.Sequence{
		layer.Unbiased{Layer: layer.Conv2D{Name: "a", In: channels, Out: channels, Kernel: 1, Stride: 1}},
		layer.Func(func(x *graph.Node) *graph.Node { return graph.ExpandAxes(graph.ReduceSum(x, 1, 2, 3), 1) }),
	}
	rng := rand.New(rand.NewPCG(6, 5))
	x := make([]float32, n*positions*channels)
	for k := 0; k < n*positions; k += 2 {
		for i := range channels {
			v := float32(rng.NormFloat64())
			x[k*channels+i], x[(k+1)*channels+i] = v, -v*(1+1e-7*float32(rng.NormFloat64()))
		}
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		got, hidden := see(t, b, network, x, []int{positions, 1, channels}, drawn(network, 1)), 0
		for place := range n {
			one := make([]float64, n)
			one[place] = 1
			v := got.sum(one)
			norm, said, rounding := math.Sqrt(inner(v, v)), math.Sqrt(max(0, got.squares[place])), got.rounding[place]
			if !(norm <= said+rounding) {
				t.Errorf("%d: a gradient of norm %v, said to be %v + %v at most", place, norm, said, rounding)
			}
			if norm > 1.001*said {
				hidden++
			}
			reach := 0. // of inputs, beside gradients by outputs of 1 each
			for _, a := range x[place*positions*channels : (place+1)*positions*channels] {
				reach += float64(a) * float64(a)
			}
			reach = math.Sqrt(reach * positions * channels)
			if least := ghost.Most * ghost.Most * positions * 0x1p-53 * 0x1p10 * reach; !(rounding >= least) {
				t.Errorf("%d: rounding of %v is too little for sums, which need %v", place, rounding, least)
			}
		}
		if hidden == 0 {
			t.Error("rounding hides nothing of these norms: the test has lost its power")
		}
	})
}

// Layers that couple examples, or of which nothing is known, are named with a remedy.
func TestCheckNamesTheLayer(t *testing.T) {
	for want, network := range map[string]layer.Layer{
		`layer "enc.norm" is a BatchNorm: its batch statistics couple the examples, and no clipping of single gradients bounds what one does; put a layer.LayerNorm`: layer.Sequence{
			layer.Dense{Name: "enc.a", In: 2, Out: 2}, layer.BatchNorm{Name: "enc.norm", Channels: 2}},
		`layer "odd", a ghost_test.odd, has no rule`: layer.Residual{Main: layer.Sequence{}, Shortcut: odd{}},
		`layer "odd", a ghost_test.odd`:              layer.Branches{layer.Flatten, layer.Sequence{odd{}}},
	} {
		err := ghost.Check(network)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if _, err := ghost.Forward(network, nil, nil); err == nil {
			t.Errorf("%s: Forward takes it", want)
		}
	}
	for _, c := range networks {
		if err := ghost.Check(c.network); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

type odd struct{}

func (odd) Params() []layer.Spec {
	return []layer.Spec{{Name: "odd.weight", Shape: []int{1}, FanIn: 1}}
}
func (odd) Apply(x *graph.Node, weights []*graph.Node) *graph.Node {
	return graph.Mul(x, weights[0])
}
