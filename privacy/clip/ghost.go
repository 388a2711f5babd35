package clip

import (
	"fmt"
	"math"
)

// Layer is what a forward and a backward pass leave of one dense layer on a
// batch of n examples, from which its per-example gradients follow: example i
// has ∇_i = Σ_t a_it·g_itᵀ over its positions t, [In, Out]. A convolution is
// such a layer over the patches of its input (Unfold), and so is a layer that
// is applied at each step of a sequence.
type Layer[F Float] struct {
	Positions int  // at which an example uses the layer; 1 for a dense layer
	In, Out   int  // the layer's weights are [In, Out]
	Bias      bool // whether the layer has a bias, [Out]
	Inputs    []F  // a, [n, Positions, In]
	// Gradients are g, [n, Positions, Out]: of each example's own loss with
	// respect to the layer's outputs. A backward pass of the mean loss has them
	// divided by n.
	Gradients []F
}

// Gradient is a layer's part of a clipped sum.
type Gradient struct {
	Weights []float64 // [In, Out]
	Bias    []float64 // [Out], nil without a bias
}

// Ghost returns the sum over examples of their gradients, each clipped to norm
// bound over all layers together: what Sum would return of the gradients
// written out, at the cost of norms and one weighted product a layer. Parameters
// outside the given layers must be frozen, and no two of them may share parameters.
// Its sensitivity is SumSensitivity.
func Ghost[F Float](bound float64, layers ...Layer[F]) ([]Gradient, error) {
	if err := checkBound(bound); err != nil {
		return nil, err
	}
	norms, err := GhostNorms(layers...)
	if err != nil {
		return nil, err
	}
	factors := make([]float64, len(norms))
	for i, norm := range norms {
		factors[i] = Factor(norm, bound)
	}
	sums := make([]Gradient, len(layers))
	for l, layer := range layers {
		sums[l] = layer.weighted(factors)
	}
	return sums, nil
}

// GhostNorms returns the norm of each example's gradient over all layers, [n],
// rounded up: never below the true one but for a few last bits, and well above
// it only where an example's positions all but cancel. An example with a number
// that is not finite has a norm that is not finite.
func GhostNorms[F Float](layers ...Layer[F]) ([]float64, error) {
	if len(layers) == 0 {
		return nil, fmt.Errorf("clip: no layers; give all that are trained")
	}
	n := layers[0].examples()
	for l, layer := range layers {
		if layer.Positions < 1 || layer.In < 1 || layer.Out < 1 ||
			len(layer.Inputs) != n*layer.Positions*layer.In || len(layer.Gradients) != n*layer.Positions*layer.Out {
			return nil, fmt.Errorf("clip: layer %d has %d inputs and %d gradients; want [%d, %d, %d] and [%[4]d, %[5]d, %[7]d], all sizes at least 1",
				l, len(layer.Inputs), len(layer.Gradients), n, layer.Positions, layer.In, layer.Out)
		}
	}
	norms := make([]float64, n)
	parallel(n, func(i int) {
		for _, layer := range layers {
			norms[i] = math.Hypot(norms[i], layer.norm(i))
		}
	})
	return norms, nil
}

func (l Layer[F]) examples() int { return len(l.Inputs) / max(1, l.Positions*l.In) }

// at returns example i's inputs and gradients at position t.
func (l Layer[F]) at(i, t int) (a, g []F) {
	p := i*l.Positions + t
	return l.Inputs[p*l.In : (p+1)*l.In], l.Gradients[p*l.Out : (p+1)*l.Out]
}

// bias is what the bias adds to the inner product of two inputs: it is the
// weight of an input that is always 1.
func (l Layer[F]) bias() float64 {
	if l.Bias {
		return 1
	}
	return 0
}

// norm returns ‖∇_i‖ by the cheapest form, rounded up.
//
// With several positions the sum may cancel to far less than its terms, up to
// S = Σ_t ‖a_it‖·‖g_it‖, and its square then be nothing but rounding error: at most
// c·2⁻⁵³·S² with c below as many additions as there are. Adding that, and 2⁻⁴⁰·S²
// so that the weighted product loses at most 20 bits to the same cancellation,
// makes it an upper bound that no record can talk its way under. S itself is one, and
// taken where squares could leave float64's range.
func (l Layer[F]) norm(i int) float64 {
	var reach float64 // S
	ordinary := l.Positions > 1
	for t := range l.Positions {
		a, g := l.at(i, t)
		input, gradient := math.Hypot(Norm(a), l.bias()), Norm(g)
		ordinary = ordinary && squarable(input) && squarable(gradient)
		reach += input * gradient
	}
	if !ordinary {
		return reach
	}
	var squares float64
	additions := l.Positions
	if l.gram() {
		squares = l.gramNorm(i)
		additions *= l.Positions
	} else {
		squares = l.explicitNorm(i)
	}
	slack := 0x1p-40 + 4*float64(additions+l.In+l.Out+8)*0x1p-53
	return math.Sqrt(squares + slack*reach*reach)
}

// squarable says whether products of four such lengths are 0 or far from the ends of
// float64's range. It is false of NaN.
func squarable(length float64) bool {
	return length == 0 || length >= 0x1p-240 && length <= 0x1p240
}

// gram reports whether inner products of positions are cheaper than the gradient
// itself: T²·(In+Out)/2 products or T·In·Out.
func (l Layer[F]) gram() bool { return l.Positions*(l.In+l.Out) < 2*l.In*l.Out }

func (l Layer[F]) gramNorm(i int) float64 {
	var squares float64
	for s := range l.Positions {
		a, g := l.at(i, s)
		squares += (inner(a, a) + l.bias()) * inner(g, g)
		for t := range s {
			b, h := l.at(i, t)
			squares += 2 * (inner(a, b) + l.bias()) * inner(g, h)
		}
	}
	return squares
}

func (l Layer[F]) explicitNorm(i int) float64 {
	var squares float64
	row := make([]float64, l.Out)
	for c := range l.rows() {
		clear(row)
		l.add(row, 1, i, c)
		squares += inner(row, row)
	}
	return squares
}

// rows returns how many rows ∇_i has: the last is the bias, if there is one.
func (l Layer[F]) rows() int { return l.In + int(l.bias()) }

// add adds w times row c of ∇_i to row, [Out].
func (l Layer[F]) add(row []float64, w float64, i, c int) {
	for t := range l.Positions {
		a, g := l.at(i, t)
		input := w
		if c < l.In {
			input *= float64(a[c])
		}
		g = g[:len(row)] // spares the loop its bounds checks
		for o, v := range g {
			row[o] += input * float64(v)
		}
	}
}

// weighted returns Σ_i w_i·∇_i, row by row on all cores; each row adds its
// examples up in order. Several positions of an example are summed before they
// join the others, so that what cancellation loses depends on that example alone.
func (l Layer[F]) weighted(factors []float64) Gradient {
	sum := Gradient{Weights: make([]float64, l.In*l.Out)}
	if l.Bias {
		sum.Bias = make([]float64, l.Out)
	}
	parallel(l.rows(), func(c int) {
		total := sum.Bias
		if c < l.In {
			total = sum.Weights[c*l.Out : (c+1)*l.Out]
		}
		row := make([]float64, l.Out)
		for i, w := range factors {
			switch {
			case w == 0: // 0·NaN is not 0
			case l.Positions == 1:
				l.add(total, w, i, c)
			default:
				clear(row)
				l.add(row, w, i, c)
				for o, v := range row {
					total[o] += v
				}
			}
		}
	})
	return sum
}

func inner[F Float](a, b []F) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
