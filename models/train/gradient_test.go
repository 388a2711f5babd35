package train

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

func gradientStep(t *testing.T, trainer *Trainer) *GradientStep {
	t.Helper()
	s, err := trainer.GradientStep(squares)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func unchanged([]float32) error { return nil }

// A gradient that is left as it is makes the step that one graph makes.
func TestGradientStepIsTheStep(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, o := range few(b) {
			one, two := made(t, b, normed, layer.Init(normed, 1), o), made(t, b, normed, layer.Init(normed, 1), o)
			p, s := steps(t, one), gradientStep(t, two)
			for k := range 4 {
				loss, _, err := p.Run(0.03, batch(k)...)
				if err != nil {
					t.Fatal(err)
				}
				same, err := s.Run(0.03, unchanged, batch(k)...)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(loss-same) > 1e-5 {
					t.Errorf("%+v: the loss is %v; of one graph %v", o, same, loss)
				}
			}
			expectNear(t, fmt.Sprintf("%+v", o), values(t, two.Params), wide(values(t, one.Params)), 1e-5)
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
		s := gradientStep(t, trainer)
		refused(t, trainer, s)
		if _, err := s.Run(rate, func(gradient []float32) error {
			if len(gradient) != trainer.Learned() {
				t.Fatalf("a gradient of %d values", len(gradient))
			}
			copy(gradient, wave(len(gradient), 1.7, 0.3))
			return nil
		}, batch(0)...); err != nil {
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
func refused(t *testing.T, trainer *Trainer, s *GradientStep) {
	t.Helper()
	before := values(t, trainer.Params)
	spent := errors.New("the budget is spent")
	if _, err := s.Run(0.1, func([]float32) error { return spent }, batch(0)...); !errors.Is(err, spent) {
		t.Errorf("%v; expected %v", err, spent)
	}
	for _, v := range []float64{math.NaN(), math.Inf(-1)} {
		_, err := s.Run(0.1, func(gradient []float32) error { gradient[33] = float32(v); return nil }, batch(0)...)
		if err == nil || !strings.Contains(err.Error(), "at 33 of 34") {
			t.Errorf("a gradient with %v: %v", v, err)
		}
	}
	expectNear(t, "parameters", values(t, trainer.Params), wide(before), 0)
}
