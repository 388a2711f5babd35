package train

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

func passage(t *testing.T, trainer *Trainer) *Passage {
	t.Helper()
	p, err := trainer.Passage()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func passageTo(t *testing.T, trainer *Trainer, head Head) *Passage {
	t.Helper()
	p, err := trainer.PassageTo(head)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bySquares goes forward on a batch, and returns the gradient of its squares by what the
// network has made.
func bySquares(t *testing.T, p *Passage, batch []*tensors.Tensor) *tensors.Tensor {
	t.Helper()
	results, err := p.Forward(batch[0])
	if err != nil {
		t.Fatal(err)
	}
	y := results[0]
	made, err := tensors.CopyFlatData[float32](y)
	if err != nil {
		t.Fatal(err)
	}
	dims := y.Shape().Dimensions
	target, err := tensors.CopyFlatData[float32](batch[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range target {
		made[i] = 2 * (made[i] - v) / float32(len(made))
	}
	release([]*tensors.Tensor{y, batch[1]})
	return tensors.FromFlatDataAndDimensions(made, dims...)
}

// Forward and back makes the step that one graph makes, by itself and with a gradient
// that is left as it is. (No bias is before a normalisation, where rounding alone would
// move it.)
func TestPassageIsTheStep(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, o := range few(b) {
			start := layer.Init(nested, 1)
			one, two, three := made(t, b, nested, start, o), made(t, b, nested, start, o), made(t, b, nested, start, o)
			p, there, changed := steps(t, one), passage(t, two), passage(t, three)
			for k := range 4 {
				step(t, p, 0.03, batch(k))
				if err := there.Step(0.03, bySquares(t, there, batch(k))); err != nil {
					t.Fatal(err)
				}
				if err := changed.StepChanged(0.03, bySquares(t, changed, batch(k)), func([]float32) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			want := wide(values(t, one.Params))
			expectNear(t, fmt.Sprintf("%+v", o), values(t, two.Params), want, 1e-5)
			expectNear(t, fmt.Sprintf("%+v, changed", o), values(t, three.Params), want, 1e-5)
		}
	})
}

// A step and the next one's way forward in one graph are those of two, with a head that
// takes more than the network's output.
func TestStepForwardIsBoth(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, o := range few(b) {
			start := layer.Init(nested, 1)
			one, two := made(t, b, nested, start, o), made(t, b, nested, start, o)
			head := func(y *graph.Node, more []*graph.Node) []*graph.Node {
				miss := graph.Sub(y, more[0])
				return []*graph.Node{graph.ReduceAllSum(graph.Square(miss)), graph.MulScalar(miss, 2)}
			}
			apart, joined := passageTo(t, one, head), passageTo(t, two, head)
			var want, got []float32
			note := func(to *[]float32, results []*tensors.Tensor, err error) *tensors.Tensor {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				*to = append(*to, tensors.ToScalar[float32](results[0]))
				return results[1]
			}
			pair := batch(0)
			byTwo, err := joined.Forward(pair[0], pair[1])
			byY := note(&got, byTwo, err)
			for k := range 4 {
				pair := batch(k)
				results, err := apart.Forward(pair[0], pair[1])
				if err := apart.Step(0.03, note(&want, results, err)); err != nil {
					t.Fatal(err)
				}
				if k == 3 {
					break
				}
				pair = batch(k + 1)
				results, err = joined.StepForward(0.03, byY, pair[0], pair[1])
				byY = note(&got, results, err)
			}
			if err := joined.Step(0.03, byY); err != nil {
				t.Fatal(err)
			}
			if got[0] == got[3] {
				t.Errorf("the loss stays at %v", got)
			}
			expectNear(t, fmt.Sprintf("%+v, losses", o), got, wide(want), 1e-5)
			expectNear(t, fmt.Sprintf("%+v", o), values(t, two.Params), wide(values(t, one.Params)), 1e-5)
			pair = batch(0)
			if _, err := joined.StepForward(0.03, tensors.FromFlatDataAndDimensions(wave(10, 1, 0), 5, 2), pair[0], pair[1]); err == nil {
				t.Error("a step from nowhere")
			}
		}
	})
}

// There is no way back but from a Forward, and a step uses it up.
func TestPassageNeedsItsForward(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		p := passage(t, made(t, b, plain, layer.Init(plain, 1), Optimizer{}))
		back := func() error { return p.Step(0.1, tensors.FromFlatDataAndDimensions(wave(10, 1, 0), 5, 2)) }
		if err := back(); err == nil {
			t.Error("a step from nowhere")
		}
		if err := p.Step(0.1, bySquares(t, p, batch(0))); err != nil {
			t.Fatal(err)
		}
		if err := back(); err == nil {
			t.Error("a second step from one Forward, whose parameters are gone")
		}
	})
}

// The gradient has the parameters' order, without tracked ones, and SGD goes by what
// it is changed to: weight decay comes after.
func TestGradientCanBeChanged(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const rate, decay = 0.5, 0.1
		trainer := made(t, b, normed, layer.Init(normed, 1), Optimizer{Name: SGD, WeightDecay: decay})
		if n := trainer.Learned(); n != 3*4+4+2*4+4*2+2 {
			t.Fatalf("%d values are learned", n)
		}
		before, err := trainer.Params()
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		p := passage(t, trainer)
		refused(t, trainer, p)
		if err := p.StepChanged(rate, bySquares(t, p, batch(0)), func(gradient []float32) error {
			if len(gradient) != trainer.Learned() {
				t.Fatalf("a gradient of %d values", len(gradient))
			}
			copy(gradient, wave(len(gradient), 1.7, 0.3))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		change := wave(trainer.Learned(), 1.7, 0.3)
		var got []float32
		after, err := trainer.Params()
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range before {
			if p.Tracked {
				if after[i].Value[0] == p.Value[0] {
					t.Errorf("%s did not follow", p.Name)
				}
				continue
			}
			got = append(got, after[i].Value...)
			for _, v := range p.Value {
				want = append(want, float64(v)-rate*(float64(change[0])+decay*float64(v)))
				change = change[1:]
			}
		}
		expectNear(t, "changed", got, want, 1e-6)
	})
}

// refused checks that nothing moves where the gradient is refused or not finite.
func refused(t *testing.T, trainer *Trainer, p *Passage) {
	t.Helper()
	before := values(t, trainer.Params)
	spent := errors.New("the budget is spent")
	if err := p.StepChanged(0.1, bySquares(t, p, batch(0)), func([]float32) error { return spent }); !errors.Is(err, spent) {
		t.Errorf("%v; expected %v", err, spent)
	}
	for _, v := range []float64{math.NaN(), math.Inf(-1)} {
		err := p.StepChanged(0.1, bySquares(t, p, batch(0)), func(gradient []float32) error { gradient[33] = float32(v); return nil })
		if !errors.Is(err, ErrDiverged) {
			t.Errorf("a gradient with %v: %v", v, err)
		}
	}
	expectNear(t, "parameters", values(t, trainer.Params), wide(before), 0)
}
