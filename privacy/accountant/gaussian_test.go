package accountant

import (
	"math"
	"testing"
)

func TestGaussianFunctionsInvertEachOther(t *testing.T) {
	for _, sigma := range []float64{0.01, 0.3, 1, 7, 1e3, 1e6} {
		for _, delta := range []float64{1e-300, 1e-100, 1e-12, 1e-5, 1e-2, 0.5} {
			eps, err := GaussianEpsilon(sigma, delta)
			if err != nil {
				t.Fatal(err)
			}
			back, err := GaussianDelta(sigma, eps)
			if err != nil || !(back <= delta) {
				t.Errorf("σ=%g δ=%g: ε=%g gives back δ=%g, %v", sigma, delta, eps, back, err)
			}
			if below, _ := GaussianDelta(sigma, eps*(1-1e-9)); eps > 0 && !(below > delta) {
				t.Errorf("σ=%g δ=%g: ε=%.15g is not the least", sigma, delta, eps)
			}
			if eps == 0 || eps > 1e4 {
				continue
			}
			if got, err := GaussianSigma(eps, delta); err != nil || !(math.Abs(got/sigma-1) <= 1e-9) {
				t.Errorf("ε=%g δ=%g: σ=%.15g, %v; want %g", eps, delta, got, err, sigma)
			}
		}
	}
}

func TestGaussianDeltaAtZeroIsTotalVariation(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.5, 1, 20, 1e8} {
		want := math.Erf(1 / (2 * math.Sqrt2 * sigma))
		if got, err := GaussianDelta(sigma, 0); err != nil || !(math.Abs(got/want-1) <= 1e-12) {
			t.Errorf("σ=%g: δ(0) = %g, %v; want %g", sigma, got, err, want)
		}
	}
}

func TestMillsRatioDoesNotJump(t *testing.T) {
	// At 3 the way of computing changes.
	below, above := mills(math.Nextafter(3, 0)), mills(3)
	if !(math.Abs(above/below-1) <= 1e-14) {
		t.Errorf("R(3−) = %.17g, R(3) = %.17g", below, above)
	}
	// On both sides of d = ½, where the drop is integrated or subtracted.
	for _, x := range []float64{-7, 0, 2, 5, 37} {
		subtracted := mills(x) - mills(x+0.4)
		if got := millsDrop(x, 0.4); !(math.Abs(got/subtracted-1) <= 1e-12) {
			t.Errorf("x=%g: drop %.15g integrated, %.15g subtracted", x, got, subtracted)
		}
	}
}

func TestClassicIsMarkedBeyondOne(t *testing.T) {
	sigma := ClassicSigma(0.5, 1e-5)
	r, err := Classic{}.Epsilon(Gaussian{sigma}, ReplaceOne, 1e-5)
	if err != nil || !(math.Abs(r.Epsilon-0.5) <= 1e-12) || r.Approximate {
		t.Errorf("σ = %g: %+v, %v", sigma, r, err)
	}
	if exact := epsilon(t, AnalyticGaussian{}, Gaussian{sigma}, ReplaceOne, 1e-5); !(exact <= 0.5) {
		t.Errorf("the classic σ for ε = 0.5 gives %g", exact)
	}
	if r, _ := (Classic{}).Epsilon(Gaussian{0.1}, ReplaceOne, 1e-5); !r.Approximate || r.Note == "" {
		t.Errorf("ε = %g is not marked", r.Epsilon)
	}
}

func TestBadGaussianArgumentsAreErrors(t *testing.T) {
	for _, c := range [][2]float64{{0, 1}, {-1, 1}, {math.NaN(), 1}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := GaussianDelta(c[0], c[1]); err == nil {
			t.Errorf("GaussianDelta(%v, %v): no error", c[0], c[1])
		}
	}
	for _, c := range [][2]float64{{0, 1e-5}, {1, 0}, {1, 1}, {1, math.NaN()}} {
		if _, err := GaussianEpsilon(c[0], c[1]); err == nil {
			t.Errorf("GaussianEpsilon(%v, %v): no error", c[0], c[1])
		}
	}
	for _, c := range [][2]float64{{-1, 1e-5}, {1, 0}, {1, 1}, {math.NaN(), 0.1}, {math.Inf(1), 0.1}} {
		if _, err := GaussianSigma(c[0], c[1]); err == nil {
			t.Errorf("GaussianSigma(%v, %v): no error", c[0], c[1])
		}
	}
}

func TestCalibrateNoiseIsOnTheSafeSide(t *testing.T) {
	const delta = 1e-5
	for _, c := range []struct {
		a     Accountant
		rel   Relation
		build func(float64) Event
	}{
		{AnalyticGaussian{}, ReplaceOne, func(nm float64) Event { return Gaussian{nm} }},
		{RDP{}, AddRemove, func(nm float64) Event { return SelfComposed{PoissonSampled{0.01, Gaussian{nm}}, 1000} }},
		{RDP{}, ReplaceOne, func(nm float64) Event { return SelfComposed{FixedSizeSampled{100, 9000, Gaussian{nm}}, 1000} }},
		{Moments{}, AddRemove, func(nm float64) Event { return PoissonSampled{0.01, Gaussian{nm}} }},
	} {
		for _, target := range []float64{0.5, 3, 40} {
			nm, err := CalibrateNoise(target, delta, c.build, c.rel, c.a)
			if err != nil {
				t.Errorf("%s, ε = %g: %v", c.a.Name(), target, err)
				continue
			}
			at, below := epsilon(t, c.a, c.build(nm), c.rel, delta), epsilon(t, c.a, c.build(nm*(1-2e-6)), c.rel, delta)
			if !(at <= target && below > target) {
				t.Errorf("%s, ε = %g: noise multiplier %g gives %g, a little less gives %g", c.a.Name(), target, nm, at, below)
			}
		}
	}
	exact, _ := GaussianSigma(2, delta)
	if nm, err := CalibrateNoise(2, delta, func(nm float64) Event { return Gaussian{nm} }, AddRemove, AnalyticGaussian{}); err != nil || !(nm >= exact && nm <= exact*(1+1e-6)) {
		t.Errorf("calibrated %v, %v; want %v", nm, err, exact)
	}
}

func TestCalibrateNoiseFailsClearly(t *testing.T) {
	gaussian := func(nm float64) Event { return Gaussian{nm} }
	for _, target := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := CalibrateNoise(target, 1e-5, gaussian, AddRemove, RDP{}); err == nil {
			t.Errorf("target %v: no error", target)
		}
	}
	if _, err := CalibrateNoise(1, 1e-5, func(float64) Event { return Gaussian{0.5} }, AddRemove, RDP{}); err == nil {
		t.Error("an event that ignores the multiplier: no error")
	}
	if _, err := CalibrateNoise(1, 1e-5, gaussian, ReplaceOne, Moments{}); err == nil {
		t.Error("an event that is not supported: no error")
	}
	if _, err := CalibrateNoise(1, 0, gaussian, AddRemove, RDP{}); err == nil {
		t.Error("δ = 0: no error")
	}
}
