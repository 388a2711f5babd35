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
	exec, err := graph.NewExec(b.Engine, func(in []*graph.Node) []*graph.Node { return build(in[0], in[1:]) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(exec.Finalize)
	return func(x []float32) [][]float32 {
		t.Helper()
		inputs := []any{tensors.FromFlatDataAndDimensions(x, append([]int{len(x) / size(input)}, input...)...)}
		for _, p := range params {
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
		}
		outputs, err := exec.Call(inputs...)
		if err != nil {
			t.Fatal(err)
		}
		values := make([][]float32, len(outputs))
		for i, out := range outputs {
			values[i] = tensors.MustCopyFlatData[float32](out)
		}
		return values
	}
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

// Norms and products are those of gradients written down, for every kind of layer, and
// what rounding may hide is little beside them.
func TestNormsAreThoseOfJacobians(t *testing.T) {
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
				got := compile(t, b, func(x *graph.Node, weights []*graph.Node) []*graph.Node {
					trace, err := ghost.Forward(c.network, x, weights)
					if err != nil {
						panic(err)
					}
					rows, all := trace.RowNorms(), trace.RowProducts()
					loss := trace.LossNorms(graph.ReduceSum(trace.Output, 1))
					return []*graph.Node{rows.Products, rows.Rounding, all.Products, loss.Products, loss.Rounding}
				}, c.input, params)(x)
				d := len(want[0])
				for i, jacobian := range want {
					sum := make([]float64, len(jacobian[0]))
					for e, row := range jacobian {
						for p, v := range row {
							sum[p] += v
						}
						norm := math.Sqrt(inner(row, row))
						near(t, "squared norm", got[0][i*d+e], inner(row, row), norm*norm)
						if rounding := float64(got[1][i*d+e]); !(rounding > 0 && rounding < 0.03*norm) {
							t.Errorf("a norm of %v may be off by %v", norm, rounding)
						}
						for f, other := range jacobian {
							near(t, "product", got[2][(i*d+e)*d+f], inner(row, other), norm*math.Sqrt(inner(other, other)))
						}
					}
					near(t, "squared norm of the loss's gradient", got[3][i], inner(sum, sum), inner(sum, sum))
					if !(got[4][i] > 0) {
						t.Errorf("rounding of a loss is %v", got[4][i])
					}
				}
			})
		}
	})
}

// near allows for a relative error of 1e-5.
func near(t *testing.T, what string, got float32, want, scale float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= 1e-5*scale) {
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
			got := compile(t, b, func(x *graph.Node, weights []*graph.Node) []*graph.Node {
				trace, err := ghost.Forward(network, x, weights)
				if err != nil {
					panic(err)
				}
				loss := trace.LossNorms(graph.ReduceSum(trace.Output, 1, 2, 3))
				return []*graph.Node{loss.Products, loss.Rounding}
			}, []int{c.positions, 1, c.in}, drawn(network, 1))(x)
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
			norm, rounding := math.Sqrt(float64(got[0][0])), float64(got[1][0])
			if exact := math.Sqrt(squares); exact > norm+rounding || rounding > 0.1*bias {
				t.Errorf("%s: a norm of %v is found as %v ± %v", c.name, exact, norm, rounding)
			}
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
