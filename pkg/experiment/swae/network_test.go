package swae

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
	"molehill/pkg/experiment"
)

func parameters(l layer.Layer) (n int) {
	for _, spec := range l.Params() {
		n += spec.Size()
	}
	return n
}

// The networks have as many parameters as Table 3, by hand: weights and biases,
//
//	encoder  convolutions 9·1·8+8, 9·8·16+16, 9·16·16+16; dense 784·128+128, 128·64+64, 64·6+6
//	decoder  dense 6·64+64, 64·128+128, 128·784+784; convolutions 9·16·16+16, 9·16·8+8, 9·8·1+1
func TestTheNetworksAreTable3(t *testing.T) {
	if got, want := parameters(Encoder(6)), 80+1168+2320+100_480+8256+390; got != want {
		t.Errorf("encoder: %d parameters, want %d", got, want)
	}
	if got, want := parameters(Decoder(6)), 448+8320+101_136+2320+1160+73; got != want {
		t.Errorf("decoder: %d parameters, want %d", got, want)
	}
	if got := len(Encoder(6).Params()) + len(Decoder(6).Params()); got != 24 {
		t.Errorf("%d tensors, want a weight and a bias of 12 layers", got)
	}
}

// Images become codes, and codes images, of the shapes of Table 3.
func TestShapes(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range []struct {
			network  layer.Sequence
			from, to []int
		}{{Encoder(6), []int{3, side, side, 1}, []int{3, 6}}, {Decoder(6), []int{3, 6}, []int{3, side, side, 1}}} {
			params := layer.Init(c.network, 1)
			exec, err := NewExec(b.Engine, func(in []*Node) []*Node { return []*Node{c.network.Apply(in[0], in[1:])} })
			if err != nil {
				t.Fatal(err)
			}
			defer exec.Finalize()
			inputs := []any{tensors.FromFlatDataAndDimensions(make([]float32, size(c.from)), c.from...)}
			for _, p := range params {
				inputs = append(inputs, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
			}
			out, err := exec.Call(inputs...)
			if err != nil {
				t.Fatal(err)
			}
			if got := out[0].Shape().Dimensions; len(got) != len(c.to) || size(got) != size(c.to) || got[0] != 3 {
				t.Errorf("%v became %v, want %v", c.from, got, c.to)
			}
		}
	})
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// The loss is the cross-entropy of pixels by its definition, where that can be computed,
// and stays finite and right where probabilities round to 0 and 1. Its gradient is that
// of a sigmoid's: σ(l) − x.
func TestCrossEntropy(t *testing.T) {
	odds := []float32{-300, -3, -0.5, 0.25, 2, 300}
	shades := []float32{0, 0.2, 1, 0.5, 0.75, 0.5}
	var want float64
	for i, l := range odds {
		p, x := 1/(1+math.Exp(-float64(l))), float64(shades[i])
		switch {
		case l == -300: // −log(1−0)
		case l == 300:
			want += 0.5 * 300 // −(1−x)·log σ(−l)
		default:
			want -= x*math.Log(p) + (1-x)*math.Log(1-p)
		}
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		exec, err := NewExec(b.Engine, func(in []*Node) []*Node {
			loss := crossEntropy(in[0], in[1])
			return []*Node{loss, Gradient(ReduceAllSum(loss), in[0])[0]}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer exec.Finalize()
		shape := []int{2, 3, 1, 1} // two images of three pixels
		out, err := exec.Call(tensors.FromFlatDataAndDimensions(odds, shape...), tensors.FromFlatDataAndDimensions(shades, shape...))
		if err != nil {
			t.Fatal(err)
		}
		losses, gradient := tensors.MustCopyFlatData[float32](out[0]), tensors.MustCopyFlatData[float32](out[1])
		if len(losses) != 2 || !(math.Abs(float64(losses[0]+losses[1])-want) <= 1e-5*want) {
			t.Errorf("losses %v, want a sum of %v", losses, want)
		}
		again := shade(append([]float32(nil), odds...))
		for i, g := range gradient {
			if !(math.Abs(float64(g-(again[i]-shades[i]))) <= 1e-6) {
				t.Errorf("gradient %d is %v, want %v", i, g, again[i]-shades[i])
			}
		}
	})
}

// The mean over pixels is a 784th of the sum.
func TestReductions(t *testing.T) {
	b := goBackend(t)
	x := make([]float32, 2*pixels)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = rng.Float32()
	}
	var losses [2][]float32
	for k, reduction := range []string{Sum, Mean} {
		c := config(experiment.Quick)
		c.Reduction = reduction
		tr := untrained(t, &c, &data{backend: b})
		var err error
		if losses[k], err = tr.learner.Losses(x, x); err != nil {
			t.Fatal(err)
		}
	}
	for i, sum := range losses[0] {
		if mean := losses[1][i]; !(math.Abs(float64(mean*pixels/sum)-1) <= 1e-5 && mean > 0.5 && mean < 1) {
			t.Errorf("image %d: sum %v, mean %v; an untrained network's is near log 2", i, sum, mean)
		}
	}
}

// The prior is uniform on the unit ball: the d-th power of the radius and each
// coordinate's law, whose second moment is 1/(d+2).
func TestThePriorIsUniform(t *testing.T) {
	const n = 20_000
	for _, dim := range []int{1, 2, 6} {
		z := prior(n, dim, rand.New(rand.NewPCG(2, uint64(dim))))
		shares := make([]float64, 10) // of radius^d, uniform on [0, 1]
		var squares, mean float64
		for i := range n {
			var square float64
			for _, v := range z.Row(i) {
				square += float64(v) * float64(v)
			}
			if !(square <= 1+1e-6) {
				t.Fatalf("dimension %d: a point of norm %v", dim, math.Sqrt(square))
			}
			shares[min(9, int(10*math.Pow(square, float64(dim)/2)))] += 1. / n
			squares += square / float64(dim) / n
			mean += float64(z.Row(i)[0]) / n
		}
		// Standard errors: of a share √(0.09/n) = 0.0021; of the mean √(1/(d+2)/n) ≤
		// 0.0041; of the second moment at most √((1/5)/n) = 0.0032 (d = 1). Five of
		// them fail once in a million.
		for k, share := range shares {
			if !(math.Abs(share-0.1) <= 5*0.0021) {
				t.Errorf("dimension %d: a share of %v in the %d. tenth of the ball", dim, share, k+1)
			}
		}
		if !(math.Abs(mean) <= 5*0.0041 && math.Abs(squares-1/float64(dim+2)) <= 5*0.0032) {
			t.Errorf("dimension %d: mean %v, second moment %v; want 0 and %v", dim, mean, squares, 1/float64(dim+2))
		}
	}
}
