package accountant

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// point is one golden value; which fields count depends on its group. The file
// and how it was made: testdata/golden.py.
type point struct {
	Sigma, Rate, Order, Epsilon, Delta, Value float64
	Size, Population, Steps                   int
}

type golden struct {
	Orders             []float64
	PoissonEpsilon     []point `json:"poisson_epsilon"`
	PoissonRDP         []point `json:"poisson_rdp"` // whole orders: dp_accounting; others: Opacus
	PoissonExact       []point `json:"poisson_exact"`
	ReplacementEpsilon []point `json:"replacement_epsilon"`
	ReplacementExact   []point `json:"replacement_exact"`
	LogDelta           []point `json:"gaussian_log_delta"`
	GaussianEpsilon    []point `json:"gaussian_epsilon"`
	GaussianSigma      []point `json:"gaussian_sigma"`
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	// None of these is missing, or called otherwise in the file.
	for i, points := range [][]point{g.PoissonEpsilon, g.PoissonRDP, g.PoissonExact, g.ReplacementEpsilon, g.ReplacementExact, g.LogDelta, g.GaussianEpsilon, g.GaussianSigma} {
		if len(points) < 8 {
			t.Fatalf("group %d of golden.json has %d points", i, len(points))
		}
	}
	return g
}

func epsilon(t *testing.T, a Accountant, e Event, rel Relation, delta float64) float64 {
	t.Helper()
	r, err := a.Epsilon(e, rel, delta)
	if err != nil {
		t.Fatalf("%s of %v under %v: %v", a.Name(), e, rel, err)
	}
	return r.Epsilon
}

func sampled(p point) Event {
	return SelfComposed{PoissonSampled{p.Rate, Gaussian{p.Sigma}}, p.Steps}
}

func TestPoissonEpsilonEqualsDPAccounting(t *testing.T) {
	g := readGolden(t)
	for _, p := range g.PoissonEpsilon {
		// At dp_accounting's orders the same number, and by search no worse one.
		got := epsilon(t, RDP{Orders: g.Orders}, sampled(p), AddRemove, p.Delta)
		if !(math.Abs(got/p.Value-1) <= 1e-6) {
			t.Errorf("%v: ε = %.9g, dp_accounting says %.9g", sampled(p), got, p.Value)
		}
		if found := epsilon(t, RDP{}, sampled(p), AddRemove, p.Delta); !(found <= got*(1+1e-9)) {
			t.Errorf("%v: ε = %.9g by search, %.9g at fixed orders", sampled(p), found, got)
		}
	}
}

func TestPoissonDivergences(t *testing.T) {
	g := readGolden(t)
	for _, p := range g.PoissonRDP {
		// They take the log of a number near 1, which leaves an absolute error of
		// some 1e-15/(α−1), more where Opacus's series cancels.
		got := step{poisson, p.Rate, p.Sigma, gaussian}.renyi(p.Order)
		if !(math.Abs(got-p.Value) <= 1e-6*p.Value+1e-13/(p.Order-1)) {
			t.Errorf("σ=%g q=%g α=%g: divergence %.9g, dp_accounting (whole orders) or Opacus says %.9g", p.Sigma, p.Rate, p.Order, got, p.Value)
		}
	}
	for _, p := range g.PoissonExact {
		got := step{poisson, p.Rate, p.Sigma, gaussian}.renyi(p.Order)
		if !(got >= p.Value*(1-1e-10) && got <= p.Value*(1+2e-8)) {
			t.Errorf("σ=%g q=%g α=%g: divergence %.12g, high precision says %.12g", p.Sigma, p.Rate, p.Order, got, p.Value)
		}
	}
}

func TestReplacementDivergenceIsTheHockeyStickIntegral(t *testing.T) {
	for _, p := range readGolden(t).ReplacementExact {
		got := step{withoutReplacement, p.Rate, p.Sigma, gaussian}.renyi(p.Order)
		if !(got >= p.Value*(1-1e-10) && got <= p.Value*(1+2e-8)) {
			t.Errorf("σ=%g q=%g α=%g: divergence %.12g, high precision says %.12g", p.Sigma, p.Rate, p.Order, got, p.Value)
		}
	}
}

func TestReplacementIsTighterThanDPAccounting(t *testing.T) {
	g := readGolden(t)
	for _, p := range g.ReplacementEpsilon {
		e := SelfComposed{FixedSizeSampled{p.Size, p.Population, Gaussian{p.Sigma}}, p.Steps}
		got := epsilon(t, RDP{}, e, ReplaceOne, p.Delta)
		if !(got <= p.Value) {
			t.Errorf("%v: ε = %g, dp_accounting's bound is %g", e, got, p.Value)
		}
	}
}

func TestGaussianGolden(t *testing.T) {
	g := readGolden(t)
	for _, p := range g.LogDelta {
		if got := logGaussianDelta(p.Sigma, p.Epsilon); !(math.Abs(got-p.Value) <= 1e-11*max(1, p.Sigma*p.Epsilon)) {
			t.Errorf("σ=%g ε=%g: log δ = %.15g, high precision says %.15g", p.Sigma, p.Epsilon, got, p.Value)
		}
	}
	for _, p := range g.GaussianEpsilon {
		if got, err := GaussianEpsilon(p.Sigma, p.Delta); err != nil || !(math.Abs(got-p.Value) <= 1e-6*p.Value) {
			t.Errorf("σ=%g δ=%g: ε = %.12g, %v; dp_accounting says %.12g", p.Sigma, p.Delta, got, err, p.Value)
		}
	}
	for _, p := range g.GaussianSigma {
		if got, err := GaussianSigma(p.Epsilon, p.Delta); err != nil || !(math.Abs(got-p.Value) <= 1e-6*p.Value) {
			t.Errorf("ε=%g δ=%g: σ = %.12g, %v; dp_accounting says %.12g", p.Epsilon, p.Delta, got, err, p.Value)
		}
	}
}

// Where the second tail of the textbook form is no longer a normal number, the profile is
// the logarithm's.
func TestGaussianProfileWhereATailUnderflows(t *testing.T) {
	for sigma := 0.04; sigma < 0.06; sigma += 0.0005 {
		for x := -8.; x < 22; x += 0.25 {
			e := (x + 1/(2*sigma)) / sigma
			if got, want := gaussianProfile(sigma, e), min(1, math.Exp(logGaussianDelta(sigma, e))); !(math.Abs(got/want-1) <= 1e-8) {
				t.Errorf("σ = %g, ε = %g: δ = %g, want %g", sigma, e, got, want)
			}
		}
	}
}
