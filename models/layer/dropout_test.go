package layer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// Training drops the share asked for, scales the rest, and draws a mask of its
// own for each step, seed and name; the same one for the same.
func TestDropoutDrawsItsShare(t *testing.T) {
	const n, rate = 100000, 0.3
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	ones := tensors.FromFlatDataAndDimensions(x, 100, n/100)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		masks := map[string][]float32{}
		for name, c := range map[string]struct {
			layer layer.Dropout
			step  float32
		}{
			"first":         {layer.Dropout{Name: "a", Rate: rate, Seed: 1}, 0},
			"second step":   {layer.Dropout{Name: "a", Rate: rate, Seed: 1}, 1},
			"distant step":  {layer.Dropout{Name: "a", Rate: rate, Seed: 1}, 1 << 20},
			"another seed":  {layer.Dropout{Name: "a", Rate: rate, Seed: 2}, 0},
			"another layer": {layer.Dropout{Name: "b", Rate: rate, Seed: 1}, 0},
		} {
			params := layer.Init(c.layer, 1)
			params[0].Value[0] = c.step
			evaluate := compile(t, b, trained{c.layer})
			out := evaluate(ones, params, ones)
			mask := out[0]
			if !slices.Equal(mask, evaluate(ones, params, nil)[0]) {
				t.Errorf("%s: the same step has another mask", name)
			}
			if !slices.Equal(mask, out[1]) {
				t.Errorf("%s: the gradient is not that of the mask", name)
			}
			var dropped float64
			for _, v := range mask {
				switch {
				case v == 0:
					dropped++
				case math.Abs(float64(v)-1/(1-rate)) > 1e-6:
					t.Fatalf("%s: 1 became %v, want 0 or %v", name, v, 1/(1-rate))
				}
			}
			// Standard deviation √(0.3·0.7·n); 5.5 of them once in 2.6·10⁷.
			if want := rate * n; !(math.Abs(dropped-want) <= 5.5*math.Sqrt(want*(1-rate))) {
				t.Errorf("%s: %v of %d dropped, want about %v", name, dropped, n, want)
			}
			masks[name] = mask
		}
		// Independent masks both drop a place with probability 0.09.
		for name, mask := range masks {
			if name == "first" {
				continue
			}
			var both float64
			for i, v := range mask {
				if v == 0 && masks["first"][i] == 0 {
					both++
				}
			}
			if want := rate * rate * n; !(math.Abs(both-want) <= 5.5*math.Sqrt(want)) {
				t.Errorf("%s: %v places dropped by it and by the first, want about %v", name, both, want)
			}
		}
	})
}

// A step of training counts the mask; applied, the layer does nothing.
func TestDropoutCountsMasks(t *testing.T) {
	x := tensors.FromFlatDataAndDimensions([]float32{1, 2, 3}, 3, 1)
	d := layer.Dropout{Name: "d", Rate: 0.5}
	params := layer.Init(d, 1)
	params[0].Value[0] = 7
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		if drawn := after(t, b, d, x, params)[0]; drawn[0] != 8 {
			t.Errorf("%v masks drawn after the eighth", drawn)
		}
		// The Go backend cannot run a graph that is nothing but its input.
		if y := compile(t, b, layer.Sequence{d, layer.ReLU})(x, params, nil)[0]; !slices.Equal(y, []float32{1, 2, 3}) {
			t.Errorf("applied, it gives %v", y)
		}
	})
}

func TestDropoutRefusesOtherShares(t *testing.T) {
	x := tensors.FromFlatDataAndDimensions([]float32{1}, 1, 1)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, rate := range []float64{-0.1, 1, math.NaN()} {
			d := layer.Dropout{Name: "d", Rate: rate}
			if err := refusal(b, trained{d}, x, layer.Init(d, 1)); err == nil {
				t.Errorf("rate %v is not refused", rate)
			}
		}
	})
}
