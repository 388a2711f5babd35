package layer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// A residual layer is the sum of its two, values and gradients, applied and in
// training, and keeps the order of what they track.
func TestResidualAdds(t *testing.T) {
	main := layer.Sequence{layer.Dense{Name: "main", In: 3, Out: 3}, layer.BatchNorm{Name: "norm", Channels: 3}}
	shortcut := layer.Spectral{Layer: layer.Dense{Name: "shortcut", In: 3, Out: 3}}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(1, 1))
		x, cotangent := random(rng, 4, 3), random(rng, 4, 3)
		l := layer.Residual{Main: main, Shortcut: shortcut}
		params := layer.Init(l, 3)
		n := len(main.Params())
		sum := func(a, b []float32) []float32 {
			s := slices.Clone(a)
			for i := range s {
				s[i] += b[i]
			}
			return s
		}
		got := compile(t, b, trained{l})(x, params, cotangent)
		first := compile(t, b, trained{main})(x, params[:n], cotangent)
		second := compile(t, b, trained{shortcut})(x, params[n:], cotangent)
		want := append([][]float32{sum(first[0], second[0]), sum(first[1], second[1])}, slices.Concat(first[2:], second[2:])...)
		for i := range want {
			if d := distance(t, got[i], want[i]); !(d <= 1e-5) {
				t.Errorf("in training, output %d (the value, gradients by x and by parameters) is off by %.1e", i, d)
			}
		}
		applied := sum(compile(t, b, main)(x, params[:n], nil)[0], compile(t, b, shortcut)(x, params[n:], nil)[0])
		if d := distance(t, compile(t, b, l)(x, params, nil)[0], applied); !(d <= 1e-5) {
			t.Errorf("applied it differs from the sum by %.1e", d)
		}
		for i, value := range after(t, b, l, x, params) {
			if params[i].Tracked != (value != nil) || value != nil && len(value) != params[i].Size() {
				t.Errorf("%s: tracked %v, after the step %v", params[i].Name, params[i].Tracked, value)
			}
		}
		identity := layer.Residual{Main: layer.ReLU, Shortcut: layer.Sequence{}}
		in := tensors.FromFlatDataAndDimensions([]float32{-3, 2}, 1, 2)
		if got := compile(t, b, identity)(in, nil, nil)[0]; !slices.Equal(got, []float32{-3, 4}) {
			t.Errorf("x + ReLU(x) at (−3, 2) is %v", got)
		}
	})
}

// Every pixel is there four times, and its gradient is the sum of theirs.
func TestUpsampleRepeatsPixels(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		x := tensors.FromFlatDataAndDimensions([]float32{1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6}, 1, 2, 3, 2)
		cotangent := make([]float32, 48)
		for i := range cotangent {
			cotangent[i] = float32(i)
		}
		got := compile(t, b, layer.Upsample(2))(x, nil, tensors.FromFlatDataAndDimensions(cotangent, 1, 4, 6, 2))
		row := []float32{1, -1, 1, -1, 2, -2, 2, -2, 3, -3, 3, -3}
		below := []float32{4, -4, 4, -4, 5, -5, 5, -5, 6, -6, 6, -6}
		if want := slices.Concat(row, row, below, below); !slices.Equal(got[0], want) {
			t.Errorf("%v, expected %v", got[0], want)
		}
		// The pixel at (0, 0), channel 0, is at 0, 2, 12 and 14.
		want := []float32{28, 32, 44, 48, 60, 64, 124, 128, 140, 144, 156, 160}
		if !slices.Equal(got[1], want) {
			t.Errorf("gradient %v, expected %v", got[1], want)
		}
	})
}

func TestEmbeddingLooksUpTheLabel(t *testing.T) {
	l := layer.Embedding{Name: "label", Keep: 2, Classes: 3, Size: 2}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		params := layer.Params{{Spec: l.Params()[0], Value: []float32{1, 2, 3, 4, 5, 6}}}
		x := tensors.FromFlatDataAndDimensions([]float32{-1, -2, 0, 0, 1, -3, -4, 1, 0, 0}, 2, 5)
		cotangent := tensors.FromFlatDataAndDimensions([]float32{10, 20, 30, 40, 50, 60, 70, 80}, 2, 4)
		got := compile(t, b, l)(x, params, cotangent)
		if want := []float32{-1, -2, 5, 6, -3, -4, 1, 2}; !slices.Equal(got[0], want) {
			t.Errorf("%v, expected %v", got[0], want)
		}
		for _, at := range []int{0, 1, 5, 6} { // what is kept has the gradient of where it is put
			if want := []float32{10, 20, 0, 0, 0, 50, 60}[at]; got[1][at] != want {
				t.Errorf("the gradient by coordinate %d is %v, expected %v", at, got[1][at], want)
			}
		}
		if want := []float32{70, 80, 0, 0, 30, 40}; !slices.Equal(got[2], want) {
			t.Errorf("the table's gradient is %v, expected %v", got[2], want)
		}
	})
}

// Without its bias a layer is the one whose bias is zero.
func TestUnbiasedHasNoBias(t *testing.T) {
	full := layer.ConvTranspose2D{Name: "up", In: 2, Out: 3, Kernel: 4, Stride: 2, Padding: 1}
	l := layer.Unbiased{Layer: full}
	if specs := l.Params(); len(specs) != 1 || specs[0].Name != "up.weight" {
		t.Fatalf("%+v, expected the weight alone", specs)
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(1, 1))
		x, cotangent := random(rng, 2, 3, 3, 2), random(rng, 2, 6, 6, 3)
		params := layer.Init(full, 1)
		clear(params[1].Value)
		want := compile(t, b, full)(x, params, cotangent)
		for i, got := range compile(t, b, l)(x, params[:1], cotangent) {
			if d := distance(t, got, want[i]); !(d <= 1e-6) {
				t.Errorf("%d differs by %.1e", i, d)
			}
		}
	})
}
