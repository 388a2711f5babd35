package accountant

import (
	"strings"
	"testing"
)

// The loss of a plan can be looked at, and is what the accountant goes by; what releases
// nothing, or everything, has none.
func TestLossOfAPlan(t *testing.T) {
	plan := Composed{[]Event{Gaussian{2}, SelfComposed{PoissonSampled{0.1, Gaussian{1}}, 20}}}
	loss, err := (PLD{}).Composition(plan, AddRemove)
	if err != nil {
		t.Fatal(err)
	}
	want, err := (PLD{}).Delta(plan, AddRemove, 1.5)
	if got := loss.Delta(1.5); err != nil || got != want || !(got > 0 && got < 1) {
		t.Errorf("δ = %v of the loss, %v by the accountant, %v", got, want, err)
	}
	for want, e := range map[string]Event{
		"nothing is released": PoissonSampled{0, Gaussian{1}},
		"not private":         Composed{[]Event{Gaussian{1}, NonPrivate{}}},
		"use RDP":             RepeatAndSelect{Gaussian{1}, 3, 1},
	} {
		if _, err := (PLD{}).Composition(e, AddRemove); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the loss of %v: %v, want it to say %q", e, err, want)
		}
	}
}

// Samples so rare that (e^ε−1)/q is no number any more have the profile that others have. At
// δ = q/2 the ε of a step is the median of what the Gaussian loses, less log(1/q).
func TestTheRarestSamplesCostWhatOthersDo(t *testing.T) {
	const sigma = 0.001 // whose loss is 1/2σ² = 5·10⁵, nearly
	for _, rate := range []float64{1e-297, 1e-305} {
		step := PoissonSampled{rate, Gaussian{sigma}}
		for count := 1; count <= 2; count++ {
			r, err := PLD{}.Epsilon(SelfComposed{step, count}, AddRemove, rate/2)
			if err != nil || !(r.Epsilon > 4.9e5) {
				t.Errorf("rate %g, δ = %g, %d steps: ε = %v, %v; the loss is near 5·10⁵ as often as the record is drawn", rate, rate/2, count, r.Epsilon, err)
			}
		}
	}
}
