package layer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// trained is Train of a layer as a layer: its value alone.
type trained struct{ layer.Layer }

func (l trained) Apply(x *Node, weights []*Node) *Node {
	y, _ := layer.Train(l.Layer, x, weights)
	return y
}

// after runs l's training graph on x and returns the tracked parameters' new
// values, nil for the others.
func after(t *testing.T, b *backend.Backend, l layer.Layer, x *tensors.Tensor, params layer.Params) [][]float32 {
	t.Helper()
	var tracked []int
	exec, err := NewExec(b.Engine, func(in []*Node) []*Node {
		y, moved := layer.Train(l, in[0], in[1:])
		outputs := []*Node{y}
		tracked = tracked[:0]
		for i, node := range moved {
			if node != nil {
				tracked, outputs = append(tracked, i), append(outputs, node)
			}
		}
		return outputs
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	inputs := []any{local(t, x)}
	for _, p := range params {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
	}
	outputs, err := exec.Call(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	values := make([][]float32, len(params))
	for k, i := range tracked {
		values[i] = tensors.MustCopyFlatData[float32](outputs[k+1])
	}
	return values
}

// Both modes are the formula, on images and on points; training moves the
// running statistics by a tenth, with the unbiased variance.
func TestBatchNormIsItsFormula(t *testing.T) {
	const channels = 3
	norm := layer.BatchNorm{Name: "norm", Channels: channels}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, dims := range [][]int{{4, 2, 5, channels}, {7, channels}} {
			rng := rand.New(rand.NewPCG(1, 1))
			x := random(rng, dims...)
			flat := tensors.MustCopyFlatData[float32](x)
			for i := range flat { // channels of other means and scales
				flat[i] = flat[i]*float32(1+i%channels) + float32(10*(i%channels))
			}
			x = tensors.FromFlatDataAndDimensions(flat, dims...)
			params := layer.Init(norm, 1)
			for _, p := range params {
				for i := range p.Value {
					p.Value[i] += float32(i) / 2 // not what they start at
				}
			}
			n := float64(len(flat) / channels)
			var mean, variance [channels]float64
			for i, v := range flat {
				mean[i%channels] += float64(v) / n
			}
			for i, v := range flat {
				variance[i%channels] += math.Pow(float64(v)-mean[i%channels], 2) / n
			}
			apply, learn := make([]float32, len(flat)), make([]float32, len(flat))
			moved := [4][]float32{2: make([]float32, channels), 3: make([]float32, channels)}
			for i, v := range flat {
				c := i % channels
				at := func(k int) float64 { return float64(params[k].Value[c]) }
				apply[i] = float32(at(0)*(float64(v)-at(2))/math.Sqrt(at(3)+1e-5) + at(1))
				learn[i] = float32(at(0)*(float64(v)-mean[c])/math.Sqrt(variance[c]+1e-5) + at(1))
				moved[2][c] = float32(0.9*at(2) + 0.1*mean[c])
				moved[3][c] = float32(0.9*at(3) + 0.1*variance[c]*n/(n-1))
			}
			if d := distance(t, compile(t, b, norm)(x, params, nil)[0], apply); !(d <= 1e-5) {
				t.Errorf("%v: with stored statistics it differs from the formula by %.1e", dims, d)
			}
			if d := distance(t, compile(t, b, trained{norm})(x, params, nil)[0], learn); !(d <= 1e-5) {
				t.Errorf("%v: with the batch's statistics it differs from the formula by %.1e", dims, d)
			}
			// The gradient goes through the batch's statistics, too: with x̂ the normalised
			// values and w what comes from above, γ/σ·(w − mean w − x̂·mean w·x̂).
			above := random(rng, dims...)
			w := tensors.MustCopyFlatData[float32](above)
			var sum, along [channels]float64
			hat := func(i int) float64 {
				return (float64(flat[i]) - mean[i%channels]) / math.Sqrt(variance[i%channels]+1e-5)
			}
			for i, v := range w {
				sum[i%channels] += float64(v)
				along[i%channels] += float64(v) * hat(i)
			}
			byX, byScale, byOffset := make([]float32, len(flat)), make([]float32, channels), make([]float32, channels)
			for i, v := range w {
				c := i % channels
				byX[i] = float32(float64(params[0].Value[c]) / math.Sqrt(variance[c]+1e-5) * (float64(v) - sum[c]/n - hat(i)*along[c]/n))
				byScale[c], byOffset[c] = float32(along[c]), float32(sum[c])
			}
			learned := compile(t, b, trained{norm})(x, params, above)
			for k, want := range [][]float32{byX, byScale, byOffset} {
				if d := distance(t, learned[1+k], want); !(d <= 1e-4) {
					t.Errorf("%v: the gradient by %s in training differs from the formula by %.1e", dims, []string{"x", "scale", "offset"}[k], d)
				}
			}
			for i, got := range after(t, b, norm, x, params) {
				if (got == nil) != (moved[i] == nil) {
					t.Errorf("%v: %s after the step: %v, expected %v", dims, params[i].Name, got, moved[i])
				} else if got != nil && !(distance(t, got, moved[i]) <= 1e-5) {
					t.Errorf("%v: %s after the step: %v, expected %v", dims, params[i].Name, got, moved[i])
				}
			}
		}
	})
}

// A row of its own has no variance; the result stays finite.
func TestBatchNormOfOneRow(t *testing.T) {
	norm := layer.BatchNorm{Name: "norm", Channels: 2}
	x := tensors.FromFlatDataAndDimensions([]float32{3, -4}, 1, 2)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		params := layer.Init(norm, 1)
		for _, v := range compile(t, b, trained{norm})(x, params, local(t, x)) {
			for _, value := range v {
				if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
					t.Errorf("%v is not finite", v)
				}
			}
		}
		if got := after(t, b, norm, x, params); !(math.Abs(float64(got[2][0])-0.3) <= 1e-6 && math.Abs(float64(got[3][1])-0.9) <= 1e-6) {
			t.Errorf("statistics after the step: %v, expected mean 0.3 and variance 0.9", got)
		}
	})
}

// In a network, Train reaches the layers that learn and keeps the parameters'
// order.
func TestSequencesTrain(t *testing.T) {
	network := layer.Sequence{
		layer.Dense{Name: "dense", In: 2, Out: 3}, layer.ReLU,
		layer.Sequence{layer.BatchNorm{Name: "norm", Channels: 3}},
		layer.Dense{Name: "head", In: 3, Out: 1},
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		params := layer.Init(network, 1)
		x := random(rand.New(rand.NewPCG(2, 2)), 5, 2)
		for i, value := range after(t, b, network, x, params) {
			if tracked := params[i].Tracked; tracked != (value != nil) {
				t.Errorf("%s: tracked %v, after the step %v", params[i].Name, tracked, value)
			}
		}
		if d := distance(t, compile(t, b, network)(x, params, nil)[0], compile(t, b, trained{network})(x, params, nil)[0]); !(d >= 1e-3) {
			t.Errorf("in training the network gives the same, but for %.1e", d)
		}
	})
}

// Each example is normalised by itself, over all its positions and channels: its rows
// are the formula, whatever the others are.
func TestLayerNormIsItsFormula(t *testing.T) {
	const channels = 3
	norm := layer.LayerNorm{Name: "norm", Channels: channels}
	params := layer.Init(norm, 1)
	for _, p := range params {
		for i := range p.Value {
			p.Value[i] += float32(i) / 2 // not what they start at
		}
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, dims := range [][]int{{4, 2, 5, channels}, {7, channels}} {
			x := random(rand.New(rand.NewPCG(1, 1)), dims...)
			flat := tensors.MustCopyFlatData[float32](x)
			size := len(flat) / dims[0]
			for i := range flat { // examples of other means and scales
				flat[i] = flat[i]*float32(1+i/size) + float32(10*(i/size))
			}
			got := compile(t, b, norm)(tensors.FromFlatDataAndDimensions(flat, dims...), params, nil)[0]
			for n := range dims[0] {
				row := flat[n*size : (n+1)*size]
				var mean, variance float64
				for _, v := range row {
					mean += float64(v) / float64(size)
				}
				for _, v := range row {
					variance += (float64(v) - mean) * (float64(v) - mean) / float64(size)
				}
				for i, v := range row {
					want := (float64(v)-mean)/math.Sqrt(variance+1e-5)*float64(params[0].Value[i%channels]) + float64(params[1].Value[i%channels])
					if !(math.Abs(float64(got[n*size+i])-want) <= 1e-4) {
						t.Fatalf("example %d of %v is %v at %d, want %v", n, dims, got[n*size+i], i, want)
					}
				}
			}
		}
	})
}
