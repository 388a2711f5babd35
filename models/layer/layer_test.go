package layer_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

func TestMain(m *testing.M) {
	backendtest.CompileFast()
	os.Exit(m.Run())
}

// evaluation is a compiled layer: it maps an input and parameters to the
// layer's value. With a cotangent, it also returns the gradient of ⟨value,
// cotangent⟩ by the input, then those by the parameters.
type evaluation func(x *tensors.Tensor, params layer.Params, cotangent *tensors.Tensor) [][]float32

func compile(t *testing.T, b *backend.Backend, l layer.Layer) evaluation {
	t.Helper()
	n := 1 + len(l.Params())
	exec, err := NewExec(b.Engine, func(in []*Node) []*Node {
		y := l.Apply(in[0], in[1:n])
		if len(in) == n {
			return []*Node{y}
		}
		return append([]*Node{y}, Gradient(ReduceAllSum(Mul(y, in[n])), in[:n]...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(exec.Finalize)
	return func(x *tensors.Tensor, params layer.Params, cotangent *tensors.Tensor) [][]float32 {
		t.Helper()
		inputs := []any{local(t, x)}
		for _, p := range params {
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
		}
		if cotangent != nil {
			inputs = append(inputs, local(t, cotangent))
		}
		outputs, err := exec.Call(inputs...)
		if err != nil {
			t.Fatal(err)
		}
		var flat [][]float32
		for _, o := range outputs {
			flat = append(flat, tensors.MustCopyFlatData[float32](o))
		}
		return flat
	}
}

// local copies x, because a tensor stays with the backend that saw it first.
func local(t *testing.T, x *tensors.Tensor) *tensors.Tensor {
	t.Helper()
	clone, err := x.LocalClone()
	if err != nil {
		t.Fatal(err)
	}
	return clone
}

func random(rng *rand.Rand, dims ...int) *tensors.Tensor {
	size := 1
	for _, d := range dims {
		size *= d
	}
	values := make([]float32, size)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	return tensors.FromFlatDataAndDimensions(values, dims...)
}

// distance is the largest difference of a and b, relative to the largest value.
func distance(t *testing.T, a, b []float32) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("lengths differ: %d and %d", len(a), len(b))
	}
	var far, size float64
	for i := range a {
		far = math.Max(far, math.Abs(float64(a[i]-b[i])))
		size = math.Max(size, math.Abs(float64(b[i])))
	}
	return far / math.Max(size, 1e-30)
}

// convolutions covers the shapes of the autoencoder and both ways to make
// products: kernels with few and with many inputs.
var convolutions = []layer.Conv2D{
	{In: 1, Out: 3, Kernel: 3, Stride: 1, Padding: 1},
	{In: 3, Out: 8, Kernel: 4, Stride: 2},
	{In: 8, Out: 8, Kernel: 3, Stride: 1, Padding: 1},
	{In: 8, Out: 1, Kernel: 3, Stride: 1, Padding: 1},
	{In: 5, Out: 2, Kernel: 3, Stride: 2, Padding: 2},
	{In: 4, Out: 7, Kernel: 1, Stride: 1},
	{In: 4, Out: 2, Kernel: 2, Stride: 3, Padding: 1},
}

// A convolution's products equal the plain sum over the kernel, values and
// gradients, on every backend; native convolutions equal them too.
func TestConvolutionsAgree(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range convolutions {
			c.Name = "conv"
			rng := rand.New(rand.NewPCG(1, 2))
			const n, h, w = 2, 10, 9
			params := layer.Init(c, 3)
			x := random(rng, n, h, w, c.In)
			want := convolve(tensors.MustCopyFlatData[float32](x), n, h, w, c, params)
			dims := []int{n, (h+2*c.Padding-c.Kernel)/c.Stride + 1, (w+2*c.Padding-c.Kernel)/c.Stride + 1, c.Out}
			cotangent := random(rng, dims...)

			c.Method = layer.Native
			native := compile(t, b, c)(x, params, cotangent)
			c.Method = layer.Products
			products := compile(t, b, c)(x, params, cotangent)
			if d := distance(t, products[0], want); !(d <= 1e-5) {
				t.Errorf("%+v: products differ from the definition by %.1e", c, d)
			}
			for i, name := range []string{"value", "gradient by x", "gradient by weight", "gradient by bias"} {
				if d := distance(t, products[i], native[i]); !(d <= 1e-5) {
					t.Errorf("%+v: %s: products differ from native by %.1e", c, name, d)
				}
			}
		}
	})
}

// convolve is the definition, in float64.
func convolve(x []float32, n, h, w int, c layer.Conv2D, params layer.Params) []float32 {
	weight, bias := params[0].Value, params[1].Value
	var y []float32
	for i := range n {
		for top := -c.Padding; top+c.Kernel <= h+c.Padding; top += c.Stride {
			for left := -c.Padding; left+c.Kernel <= w+c.Padding; left += c.Stride {
				for out := range c.Out {
					sum := float64(bias[out])
					for ky := range c.Kernel {
						for kx := range c.Kernel {
							row, col := top+ky, left+kx
							if row < 0 || row >= h || col < 0 || col >= w {
								continue
							}
							for in := range c.In {
								sum += float64(x[((i*h+row)*w+col)*c.In+in]) * float64(weight[((ky*c.Kernel+kx)*c.In+in)*c.Out+out])
							}
						}
					}
					y = append(y, float32(sum))
				}
			}
		}
	}
	return y
}

// Gradients equal central differences along random directions: of the
// autoencoders' layers, applied and in training.
func TestGradientsAreFiniteDifferences(t *testing.T) {
	// The normalisations in the middle make the whole nonlinear; ReLU is left
	// out because its kinks spoil differences.
	for name, network := range map[string]layer.Layer{
		"conv": layer.Sequence{
			layer.Conv2D{Name: "conv", In: 2, Out: 3, Kernel: 3, Stride: 1, Padding: 1},
			layer.ConvTranspose2D{Name: "up", In: 3, Out: 2, Kernel: 2, Stride: 2},
			layer.Conv2D{Name: "down", In: 2, Out: 4, Kernel: 4, Stride: 2},
			layer.Flatten,
			layer.Dense{Name: "dense", In: 36, Out: 5},
			layer.Normalize,
			layer.Dense{Name: "head", In: 5, Out: 4},
		},
		"dcgan": trained{layer.Sequence{
			layer.Conv2D{Name: "down", In: 2, Out: 8, Kernel: 4, Stride: 2, Padding: 1},
			layer.Conv2D{Name: "wide", In: 8, Out: 8, Kernel: 4, Stride: 2, Padding: 1},
			layer.ConvTranspose2D{Name: "start", In: 8, Out: 8, Kernel: 4, Stride: 1},
			layer.BatchNorm{Name: "norm", Channels: 8},
			layer.ConvTranspose2D{Name: "up", In: 8, Out: 2, Kernel: 4, Stride: 2, Padding: 1},
			layer.Flatten,
			layer.Dense{Name: "head", In: 128, Out: 4},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Each(t, func(t *testing.T, b *backend.Backend) { compareWithDifferences(t, b, network) })
		})
	}
}

func compareWithDifferences(t *testing.T, b *backend.Backend, network layer.Layer) {
	rng := rand.New(rand.NewPCG(5, 5))
	params := layer.Init(network, 7)
	x, cotangent := random(rng, 2, 4, 4, 2), random(rng, 2, 4)
	weights := tensors.MustCopyFlatData[float32](cotangent)
	evaluate := compile(t, b, network)
	// The input counts as the first parameter here.
	gradients := evaluate(x, params, cotangent)[1:]
	pixels := layer.Param{Spec: layer.Spec{Name: "x", Shape: x.Shape().Dimensions}, Value: tensors.MustCopyFlatData[float32](x)}
	all := append(layer.Params{pixels}, params...)
	value := func(shift float32, direction [][]float32) float64 {
		moved := make(layer.Params, len(all))
		for i, p := range all {
			moved[i] = layer.Param{Spec: p.Spec, Value: make([]float32, len(p.Value))}
			for j := range p.Value {
				moved[i].Value[j] = p.Value[j] + shift*direction[i][j]
			}
		}
		var sum float64
		at := tensors.FromFlatDataAndDimensions(moved[0].Value, pixels.Shape...)
		for i, y := range evaluate(at, moved[1:], nil)[0] {
			sum += float64(y) * float64(weights[i])
		}
		return sum
	}
	for trial := range 6 {
		var along, size float64
		direction := make([][]float32, len(all))
		for i, p := range all {
			direction[i] = make([]float32, len(p.Value))
			for j := range direction[i] {
				direction[i][j] = float32(rng.NormFloat64())
				term := float64(direction[i][j]) * float64(gradients[i][j])
				along, size = along+term, size+term*term
			}
		}
		const h = 1e-3 // float32: rounding 1e-7/h against curvature h²
		difference := (value(h, direction) - value(-h, direction)) / (2 * h)
		if !(math.Abs(difference-along) <= 1e-2*math.Max(1, math.Sqrt(size))) {
			t.Errorf("trial %d: derivative %.5f, difference quotient %.5f, size %.3f", trial, along, difference, math.Sqrt(size))
		}
	}
}

func TestNormalizeIsBoundedForAnyInput(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rows := [][]float32{
		{3, 4, 0}, {0, 0, 0}, {1e-10, 0, 0}, {1e-30, 0, 0}, {3e38, -3e38, 3e38}, {nan, 1, 0}, {inf, 1, 0}, {-inf, nan, inf}, {-2, 0, 0},
	}
	want := [][]float32{
		{0.6, 0.8, 0}, {0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {0.57735, -0.57735, 0.57735}, {0, 1, 0}, {0, 1, 0}, {0, 0, 0}, {-1, 0, 0},
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		var flat []float32
		for _, r := range rows {
			flat = append(flat, r...)
		}
		ones := make([]float32, len(flat))
		for i := range ones {
			ones[i] = 1
		}
		x := tensors.FromFlatDataAndDimensions(flat, len(rows), 3)
		got := compile(t, b, layer.Normalize)(x, nil, tensors.FromFlatDataAndDimensions(ones, len(rows), 3))
		for i, row := range rows {
			var norm float64
			for j := range row {
				y, slope := float64(got[0][3*i+j]), float64(got[1][3*i+j])
				norm += y * y
				if !(math.Abs(y-float64(want[i][j])) <= 1e-5) {
					t.Errorf("%v: coordinate %d is %v, want %v", row, j, y, want[i][j])
				}
				if math.IsNaN(slope) || math.IsInf(slope, 0) {
					t.Errorf("%v: gradient %d is %v", row, j, slope)
				}
			}
			if !(norm <= 1+1e-6) {
				t.Errorf("%v: squared norm %v is above 1", row, norm)
			}
		}
	})
}

func TestInitIsBoundedAndReproducible(t *testing.T) {
	l := layer.Dense{Name: "d", In: 100, Out: 500}
	a, b, c := layer.Init(l, 1), layer.Init(l, 1), layer.Init(l, 2)
	var sum, squares float64
	for i, v := range a[0].Value {
		if !(math.Abs(float64(v)) <= 0.1) {
			t.Fatalf("value %v is beyond 1/√100", v)
		}
		if v != b[0].Value[i] {
			t.Fatal("the same seed gave other values")
		}
		sum, squares = sum+float64(v), squares+float64(v)*float64(v)
	}
	// 50,000 uniform values on ±0.1: mean 0 ± 0.00026, variance 1/300 ± 0.4 %
	// (standard errors); six of them fail once in 10⁹.
	if n := float64(len(a[0].Value)); !(math.Abs(sum/n) <= 6*0.00026 && math.Abs(squares/n*300-1) <= 6*0.004) {
		t.Errorf("mean %v and variance %v are not those of a uniform on ±0.1", sum/n, squares/n)
	}
	if a[0].Value[0] == c[0].Value[0] {
		t.Error("another seed gave the same values")
	}
}
