package graph_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
)

func TestMain(m *testing.M) {
	backendtest.CompileFast()
	os.Exit(m.Run())
}

// array is a float64 tensor on the host.
type array struct {
	values []float64
	dims   []int
}

// normals draws points [dims...] around shift.
func normals(rng *rand.Rand, shift float64, dims ...int) array {
	size := 1
	for _, d := range dims {
		size *= d
	}
	a := array{make([]float64, size), dims}
	for i := range a.values {
		// Float32 numbers, so that the host's points are the same.
		a.values[i] = float64(float32(shift + rng.NormFloat64()))
	}
	return a
}

// shares draws positive weights.
func shares(rng *rand.Rand, dims ...int) array {
	a := normals(rng, 0, dims...)
	for i, v := range a.values {
		a.values[i] = math.Exp(v / 2)
	}
	return a
}

func (a array) points() transport.Points {
	p := transport.Points{Dim: a.dims[len(a.dims)-1]}
	for _, v := range a.values {
		p.Data = append(p.Data, float32(v))
	}
	return p
}

// evaluate runs a graph of float64 inputs and returns its outputs.
func evaluate(t *testing.T, b *backend.Backend, f func(in []*Node) []*Node, inputs ...array) [][]float64 {
	t.Helper()
	exec, err := NewExec(b.Engine, f)
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	var in []any
	for _, a := range inputs {
		in = append(in, tensorOf(a))
	}
	out, err := exec.Call(in...)
	if err != nil {
		t.Fatal(err)
	}
	var flat [][]float64
	for _, o := range out {
		values := make([]float64, o.Shape().Size())
		switch v := o.Value().(type) {
		case bool:
			values[0] = indicator(v)
		case []bool:
			for i := range v {
				values[i] = indicator(v[i])
			}
		case int32:
			values[0] = float64(v)
		default:
			values = tensors.MustCopyFlatData[float64](o)
		}
		flat = append(flat, values)
	}
	return flat
}

const float32Type = dtypes.Float32

func tensorOf(a array) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(a.values, a.dims...)
}

func indicator(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// near complains where got is further than tolerance from want, relative to the
// largest number of want.
func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	var far, size float64
	for i := range want {
		size = max(size, math.Abs(want[i]))
		if d := math.Abs(got[i] - want[i]); !(d <= far) {
			far = d
		}
	}
	if !(far <= tolerance*max(size, 1e-9)) {
		t.Errorf("%s: off by %.1e of %.3g, at most %.0e wanted", what, far/max(size, 1e-9), size, tolerance)
	}
}

// difference is the derivative of f by the inputs along a direction, from
// central differences with one extrapolation: its error is of the fourth order
// in step.
func difference(f func(inputs ...array) float64, inputs, along []array, step float64) float64 {
	central := func(h float64) float64 {
		at := func(sign float64) float64 {
			var moved []array
			for k, a := range inputs {
				values := make([]float64, len(a.values))
				for i := range values {
					values[i] = a.values[i] + sign*h*along[k].values[i]
				}
				moved = append(moved, array{values, a.dims})
			}
			return f(moved...)
		}
		return (at(1) - at(-1)) / (2 * h)
	}
	return (4*central(step/2) - central(step)) / 3
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
