package accountant

import (
	"math"
	"testing"
)

func TestGDPIsExactForGaussians(t *testing.T) {
	e := Composed{[]Event{SelfComposed{Gaussian{3}, 9}, Gaussian{1}}} // μ = √(9/9 + 1)
	mu, exact, err := GDP{}.Mu(e, ReplaceOne)
	if err != nil || !exact || !(math.Abs(mu-math.Sqrt2) <= 1e-12) {
		t.Errorf("μ = %v, exact %v, %v; want √2, exactly", mu, exact, err)
	}
	r, err := GDP{}.Epsilon(e, ReplaceOne, 1e-5)
	if want := epsilon(t, AnalyticGaussian{}, e, ReplaceOne, 1e-5); err != nil || r.Approximate || !(math.Abs(r.Epsilon/want-1) <= 1e-9) {
		t.Errorf("ε = %v (approximate: %v), %v; want %v, exactly", r.Epsilon, r.Approximate, err, want)
	}
}

// The limit theorem: many steps on small samples come close to a Gaussian. It
// must say that it is no bound.
func TestGDPIsTheLimitOfSamples(t *testing.T) {
	for _, c := range []struct {
		event Event
		rel   Relation
	}{
		{SelfComposed{PoissonSampled{1e-3, Gaussian{1.5}}, 1_000_000}, AddRemove},
		{SelfComposed{FixedSizeSampled{100, 100_000, Gaussian{1.5}}, 1_000_000}, ReplaceOne},
		{SelfComposed{FixedSizeSampled{100, 100_000, Gaussian{150}}, 1_000_000}, ReplaceOne}, // where μ is taken to first order
	} {
		r, err := GDP{}.Epsilon(c.event, c.rel, 1e-5)
		if err != nil || !r.Approximate || r.Note == "" {
			t.Fatalf("%v: %+v, %v; want it marked approximate, and why", c.event, r, err)
		}
		want := epsilon(t, PLD{}, c.event, c.rel, 1e-5)
		if !(math.Abs(r.Epsilon/want-1) <= 0.02) {
			t.Errorf("%v: the limit is ε = %.4g, the truth at most %.4g; want within 2 %%", c.event, r.Epsilon, want)
		}
	}
	// Few steps are far from the limit, and it lies below the truth.
	few := SelfComposed{PoissonSampled{1e-3, Gaussian{0.6}}, 100}
	if limit, want := epsilon(t, GDP{}, few, AddRemove, 1e-6), epsilon(t, PLD{}, few, AddRemove, 1e-6); !(limit <= want/2) {
		t.Errorf("100 steps: the limit is ε = %.4g, the truth about %.4g; want the limit to fail here", limit, want)
	}
}

// 004, Section 5.3: C_p(G_μ) composed T times. Dong, Roth & Su 2022, Corollary
// 5.4, written down again.
func TestGDPOfFixedSizeSamplesIsThePublishedFormula(t *testing.T) {
	const p, mu, steps = 0.01, 0.8, 500
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	want := math.Sqrt2 * p * math.Sqrt(steps) * math.Sqrt(math.Exp(mu*mu)*phi(1.5*mu)+3*phi(-mu/2)-2)
	got, _, err := GDP{}.Mu(SelfComposed{FixedSizeSampled{1, 100, Gaussian{1 / mu}}, steps}, ReplaceOne)
	if err != nil || !(math.Abs(got/want-1) <= 1e-12) {
		t.Errorf("μ = %v, %v; want %v", got, err, want)
	}
}
