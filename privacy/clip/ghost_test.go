package clip

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func fill[F Float](rng *rand.Rand, n int) []F {
	v := make([]F, n)
	for i := range v {
		v[i] = F(rng.NormFloat64())
	}
	return v
}

func randomLayer(rng *rand.Rand, n, positions, in, out int, bias bool) Layer[float32] {
	return Layer[float32]{Positions: positions, In: in, Out: out, Bias: bias,
		Inputs: fill[float32](rng, n*positions*in), Gradients: fill[float32](rng, n*positions*out)}
}

// written returns the gradients of all examples, [n, parameters], with the bias
// behind the weights of each layer.
func written(layers ...Layer[float32]) (gradients []float64, parameters int) {
	for i := range layers[0].examples() {
		for _, l := range layers {
			rows := l.In
			if l.Bias {
				rows++
			}
			for c := range rows {
				for o := range l.Out {
					var sum float64
					for t := range l.Positions {
						a, g := l.at(i, t)
						if c < l.In {
							sum += float64(a[c]) * float64(g[o])
						} else {
							sum += float64(g[o])
						}
					}
					gradients = append(gradients, sum)
				}
			}
		}
	}
	return gradients, len(gradients) / layers[0].examples()
}

func flat(sums []Gradient) []float64 {
	var all []float64
	for _, s := range sums {
		all = append(append(all, s.Weights...), s.Bias...)
	}
	return all
}

// Ghost norms and sums equal those of the gradients written out: one and several
// positions, shapes on both sides of the choice between the forms, biases, and
// several layers under one norm.
func TestGhostEqualsTheGradientsWrittenOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 11))
	const n = 7
	forms := map[bool]int{}
	for _, shapes := range [][][3]int{{{1, 5, 3}}, {{4, 9, 8}}, {{9, 2, 3}}, {{1, 1, 1}}, {{2, 30, 1}}, {{1, 6, 4}, {6, 2, 2}, {3, 8, 8}}} {
		for _, bias := range []bool{false, true} {
			var layers []Layer[float32]
			for _, s := range shapes {
				layers = append(layers, randomLayer(rng, n, s[0], s[1], s[2], bias))
				forms[layers[len(layers)-1].gram()]++
			}
			gradients, parameters := written(layers...)
			norms, err := GhostNorms(layers...)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range norms {
				if want := Norm(gradients[i*parameters : (i+1)*parameters]); math.Abs(got-want) > 1e-9*want {
					t.Errorf("%v, bias %v: norm %v, want %v", shapes, bias, got, want)
				}
			}
			bound := slices.Sorted(slices.Values(norms))[n/2] // clips half of them
			sums, err := Ghost(bound, layers...)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := Sum(gradients, parameters, bound)
			for p, got := range flat(sums) {
				if math.Abs(got-want[p]) > 1e-9*bound {
					t.Errorf("%v, bias %v: sum %v, want %v", shapes, bias, got, want[p])
				}
			}
		}
	}
	if forms[true] == 0 || forms[false] == 0 {
		t.Errorf("forms tried: %v; want both", forms)
	}
}

// The gradient of Σ_p g_p·conv(image)_p, g fixed, by the kernel: by ghost
// clipping of unfolded patches, and by moving each weight of a convolution
// written as its sum (linear in the weights, so the difference quotient is
// exact).
func TestUnfoldedConvolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 11))
	for _, c := range []Convolution{
		{Height: 5, Width: 4, Channels: 2, Kernel: 3, Stride: 1, Padding: 1},
		{Height: 6, Width: 7, Channels: 1, Kernel: 2, Stride: 2},
		{Height: 3, Width: 3, Channels: 3, Kernel: 3, Stride: 2, Padding: 2},
	} {
		const n, out = 3, 2
		rows, columns := c.Size()
		images := fill[float64](rng, n*c.Height*c.Width*c.Channels)
		patches, err := Unfold(c, images)
		if err != nil {
			t.Fatal(err)
		}
		layer := Layer[float64]{Positions: rows * columns, In: c.Kernel * c.Kernel * c.Channels, Out: out, Inputs: patches, Gradients: fill[float64](rng, n*rows*columns*out)}
		sums, err := Ghost(1e9, layer) // clips nothing
		if err != nil {
			t.Fatal(err)
		}
		for p, got := range sums[0].Weights {
			o, channel, l, k := p%out, p/out%c.Channels, p/out/c.Channels%c.Kernel, p/out/c.Channels/c.Kernel
			var want float64
			for i := range n {
				for r := range rows {
					for col := range columns {
						y, x := r*c.Stride+k-c.Padding, col*c.Stride+l-c.Padding
						if y < 0 || x < 0 || y >= c.Height || x >= c.Width {
							continue
						}
						pixel := images[((i*c.Height+y)*c.Width+x)*c.Channels+channel]
						want += pixel * layer.Gradients[((i*rows+r)*columns+col)*out+o]
					}
				}
			}
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v, weight %d: %v, want %v", c, p, got, want)
			}
		}
	}
}

// What a backward pass leaves gives the gradient of a network: y = v·tanh(Wx+b),
// loss y²/2, against difference quotients of the loss.
func TestLayersGiveTheGradientOfANetwork(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 11))
	const in, hidden = 4, 3
	x, w, b, v := fill[float64](rng, in), fill[float64](rng, in*hidden), fill[float64](rng, hidden), fill[float64](rng, hidden)
	forward := func() (h []float64, y float64) {
		h = make([]float64, hidden)
		for j := range h {
			h[j] = b[j]
			for c := range x {
				h[j] += x[c] * w[c*hidden+j]
			}
			h[j] = math.Tanh(h[j])
			y += v[j] * h[j]
		}
		return h, y
	}
	h, y := forward()
	back := make([]float64, hidden)
	for j := range back {
		back[j] = y * v[j] * (1 - h[j]*h[j])
	}
	sums, err := Ghost(1e9,
		Layer[float64]{Positions: 1, In: in, Out: hidden, Bias: true, Inputs: x, Gradients: back},
		Layer[float64]{Positions: 1, In: hidden, Out: 1, Inputs: h, Gradients: []float64{y}})
	if err != nil {
		t.Fatal(err)
	}
	got := flat(sums)
	for p, at := range append(append(pointers(w), pointers(b)...), pointers(v)...) {
		const step = 1e-6
		*at += step
		_, up := forward()
		*at -= 2 * step
		_, down := forward()
		*at += step
		if want := (up*up - down*down) / 2 / (2 * step); math.Abs(got[p]-want) > 1e-7 {
			t.Errorf("parameter %d: %v, want %v", p, got[p], want)
		}
	}
}

func pointers(v []float64) []*float64 {
	p := make([]*float64, len(v))
	for i := range v {
		p[i] = &v[i]
	}
	return p
}

// An example with a number that is not finite, in any layer, adds nothing to any
// layer, and the others add what they did.
func TestGhostIgnoresWhatIsNotFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 11))
	for _, positions := range []int{1, 3, 20} {
		a, b := randomLayer(rng, 4, positions, 3, 5, true), randomLayer(rng, 4, 1, 2, 2, false)
		clear(a.Gradients[:positions*5]) // example 0 without a gradient
		clear(b.Gradients[:2])
		want, _ := Ghost(0.5, a, b)
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, at := range []*float32{&a.Inputs[1], &a.Gradients[positions*5-1], &b.Inputs[0], &b.Gradients[1]} {
				kept := *at
				*at = float32(bad)
				got, err := Ghost(0.5, a, b)
				if err != nil || !slices.Equal(flat(got), flat(want)) {
					t.Errorf("%d positions, %v: %v, %v; want %v", positions, bad, got, err, want)
				}
				*at = kept
			}
		}
	}
}

func BenchmarkGhost(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 11))
	for _, s := range [][4]int{{256, 1, 784, 256}, {64, 196, 9, 32}} {
		layer := randomLayer(rng, s[0], s[1], s[2], s[3], true)
		b.Run(fmt.Sprint(s), func(b *testing.B) {
			for b.Loop() {
				if _, err := Ghost(1, layer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
