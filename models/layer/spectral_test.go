package layer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// largestSingular is σ of weight as [rest, outputs], by SVD.
func largestSingular(t *testing.T, weight []float64, outputs int) float64 {
	t.Helper()
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(len(weight)/outputs, outputs, weight), mat.SVDNone) {
		t.Fatal("no SVD")
	}
	return svd.Values(nil)[0]
}

func wide(values []float32) []float64 {
	w := make([]float64, len(values))
	for i, v := range values {
		w[i] = float64(v)
	}
	return w
}

var spectral = []struct {
	layer layer.Layer
	x, y  []int
}{
	{layer.Dense{Name: "l", In: 5, Out: 4}, []int{3, 5}, []int{3, 4}},
	{layer.Conv2D{Name: "l", In: 2, Out: 3, Kernel: 3, Stride: 1, Padding: 1}, []int{2, 4, 3, 2}, []int{2, 4, 3, 3}},
	{layer.ConvTranspose2D{Name: "l", In: 3, Out: 2, Kernel: 4, Stride: 2, Padding: 1}, []int{2, 2, 3, 3}, []int{2, 4, 6, 2}},
}

// One step is one power iteration, whose vectors the gradient holds, and steps converge to the SVD's σ: the layer is
// the plain one with W/σ, values and gradients, applied and in training.
func TestSpectralDividesByTheLargestSingularValue(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range spectral {
			l := layer.Spectral{Layer: c.layer}
			rng := rand.New(rand.NewPCG(1, 1))
			x := random(rng, c.x...)
			params := layer.Init(l, 2)
			last := len(params) - 1
			if got := params[last].Spec; !got.Tracked || got.Name != "l.u" {
				t.Errorf("the last parameter is %+v, expected the tracked l.u", got)
			}
			outputs := params[last].Size()

			weight := mat.NewDense(params[0].Size()/outputs, outputs, wide(params[0].Value))
			var v, u mat.VecDense
			v.MulVec(weight, mat.NewVecDense(outputs, wide(params[last].Value)))
			v.ScaleVec(1/v.Norm(2), &v)
			u.MulVec(weight.T(), &v)
			cotangent := random(rng, c.y...)
			learn := compile(t, b, trained{l})
			held := learn(x, params, cotangent)[2]
			iterate := compile(t, b, iterated{l})
			params[last].Value = iterate(x, params, nil)[0]
			for i, got := range params[last].Value {
				if want := u.AtVec(i) / u.Norm(2); !(math.Abs(float64(got)-want) <= 1e-5) {
					t.Fatalf("%T: u[%d] is %v after one step, %v by hand", c.layer, i, got, want)
				}
			}
			u.ScaleVec(1/u.Norm(2), &u)
			by := compile(t, b, c.layer)
			divided := layer.Init(c.layer, 2)
			for i := range divided[0].Value {
				divided[0].Value[i] /= float32(mat.Inner(&v, weight, &u))
			}
			// From the u before the step, far from where it settles, the layer that is applied
			// divides by what the step's iteration finds, not by what none or two would.
			want := by(x, divided, nil)[0]
			before := layer.Init(l, 2)
			for name, of := range map[string]layer.Layer{"applied": l, "in training": trained{l}} {
				if d := distance(t, compile(t, b, of)(x, before, nil)[0], want); !(d <= 1e-5) {
					t.Errorf("%T %s differs from the layer with W/vᵀWu after one iteration by %.1e", c.layer, name, d)
				}
			}
			if d := distance(t, held, withHeld(weight, &v, &u, by(x, params[:last], cotangent)[2])); !(d <= 1e-4) {
				t.Errorf("%T: the gradient by W with u and v held is off by %.1e", c.layer, d)
			}

			for range 100 {
				params[last].Value = iterate(x, params, nil)[0]
			}

			sigma := largestSingular(t, wide(params[0].Value), outputs)
			plain := layer.Init(c.layer, 2)
			for i := range plain[0].Value {
				plain[0].Value[i] /= float32(sigma)
			}
			settled := by(x, plain, cotangent)
			learned := learn(x, params, cotangent)
			for name, got := range map[string][]float32{"applied": compile(t, b, l)(x, params, nil)[0], "in training": learned[0]} {
				if d := distance(t, got, settled[0]); !(d <= 1e-4) {
					t.Errorf("%T %s differs from the layer with W/σ by %.1e", c.layer, name, d)
				}
			}
			if d := distance(t, learned[2], bySigma(t, params[0].Value, outputs, settled[2])); !(d <= 1e-3) {
				t.Errorf("%T: the gradient by W differs from central differences by %.1e", c.layer, d)
			}
		}
	})
}

// iterated is u after a step of a spectrally normalised layer.
type iterated struct{ layer.Spectral }

func (l iterated) Apply(x *Node, weights []*Node) *Node {
	_, after := l.Train(x, weights)
	return after[len(after)-1]
}

// withHeld is the gradient by W of ⟨W/vᵀWu, by⟩ for constant v and u.
func withHeld(weight *mat.Dense, v, u *mat.VecDense, by []float32) []float32 {
	sigma := mat.Inner(v, weight, u)
	var along float64
	for i, w := range weight.RawMatrix().Data {
		along += w * float64(by[i])
	}
	gradient := make([]float32, len(by))
	for i := range gradient {
		row, column := i/u.Len(), i%u.Len()
		gradient[i] = float32(float64(by[i])/sigma - along/(sigma*sigma)*v.AtVec(row)*u.AtVec(column))
	}
	return gradient
}

// bySigma is the gradient by W, from central differences, of ⟨W/σ(W), by⟩ with σ by
// SVD: of ⟨y, cotangent⟩, as by is its gradient by the plain layer's weight, in which
// y is linear.
func bySigma(t *testing.T, values []float32, outputs int, by []float32) []float32 {
	t.Helper()
	weight := wide(values)
	value := func() (sum float64) {
		sigma := largestSingular(t, weight, outputs)
		for i, w := range weight {
			sum += w / sigma * float64(by[i])
		}
		return sum
	}
	gradient := make([]float32, len(weight))
	const h = 1e-5
	for i, at := range weight {
		weight[i] = at + h
		up := value()
		weight[i] = at - h
		gradient[i] = float32((up - value()) / (2 * h))
		weight[i] = at
	}
	return gradient
}

// A weight of zeros stays zero, and nothing becomes NaN.
func TestSpectralOfZeros(t *testing.T) {
	l := layer.Spectral{Layer: layer.Dense{Name: "l", In: 2, Out: 3}}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		params := layer.Init(l, 1)
		clear(params[0].Value)
		x := random(rand.New(rand.NewPCG(1, 1)), 4, 2)
		for i, v := range compile(t, b, trained{l})(x, params, nil)[0] {
			if v != params[1].Value[i%3] {
				t.Errorf("%v at %d, expected the bias %v", v, i, params[1].Value[i%3])
			}
		}
		for _, v := range after(t, b, l, x, params)[2] {
			if v != 0 {
				t.Errorf("u became %v, expected 0", v)
			}
		}
	})
}
