package accountant

import (
	"math"
	"testing"
)

var someSigmas = []float64{0.3, 0.68, 1, 3, 30, 1000}
var someRates = []float64{1e-6, 1e-3, 250. / 30000, 0.1, 0.5, 0.99, 1}
var someOrders = []float64{1.001, 1.1, 2, 5, 16.5, 60, 300}

func TestPoissonDivergenceAtWholeOrdersIsTheBinomialSum(t *testing.T) {
	// Two derivations of one number: an integral, and Moments' sum of E[G^k].
	for _, sigma := range someSigmas {
		for _, rate := range someRates {
			for _, order := range []int{2, 3, 7, 33, 200} {
				s := step{poisson, rate, sigma, gaussian}
				got, want := s.renyi(float64(order)), s.logMoment(order-1)/float64(order-1)
				if !(got >= want*(1-1e-9) && got <= want*(1+1e-7)) {
					t.Errorf("σ=%g q=%g α=%d: %.12g by the integral, %.12g by the sum", sigma, rate, order, got, want)
				}
			}
		}
	}
}

func TestSampleOfEverythingIsNoSample(t *testing.T) {
	for _, sigma := range someSigmas {
		for _, order := range someOrders {
			want := order / (2 * sigma * sigma)
			// The integral itself, which renyi would cap at want.
			got := softplus(step{withoutReplacement, 1, sigma, gaussian}.replacementExcess(order)) / (order - 1)
			if !(got >= want*(1-1e-9) && got <= want*(1+1e-7)) {
				t.Errorf("σ=%g α=%g: %.12g at rate 1, want %.12g", sigma, order, got, want)
			}
			got = softplus(step{poisson, 1 - 1e-15, sigma, gaussian}.poissonExcess(order)) / (order - 1)
			if !(math.Abs(got/want-1) <= 1e-7) {
				t.Errorf("σ=%g α=%g: %.12g at Poisson rate 1, want %.12g", sigma, order, got, want)
			}
		}
	}
	e := epsilon(t, RDP{}, FixedSizeSampled{7, 7, Gaussian{2}}, ReplaceOne, 1e-5)
	if want := epsilon(t, RDP{}, Gaussian{2}, ReplaceOne, 1e-5); e != want {
		t.Errorf("7 of 7: ε = %v, want %v", e, want)
	}
}

// wang is the bound of Wang, Balle & Kasiviswanathan, "Subsampled Rényi
// Differential Privacy and Analytical Moments Accountant" (2019), Theorem 9, for
// a Gaussian, whose ε(∞) is infinite.
func wang(sigma, rate float64, order int) float64 {
	n, second := float64(order), 1/(sigma*sigma)
	sum := 2*math.Log(rate) + logBinomial(n, 2) + min(math.Log(4)+logExpm1(second), second+math.Ln2)
	for j := 3.; j <= n; j++ {
		sum = logAdd(sum, j*math.Log(rate)+logBinomial(n, j)+(j-1)*j/(2*sigma*sigma)+math.Ln2)
	}
	return softplus(sum) / (n - 1)
}

// mixtures is the divergence of order alpha of (1−q)·N(0, σ²) + q·N(a, σ²) from
// (1−q)·N(0, σ²) + q·N(b, σ²), by a sum that is good to some 1e-8.
func mixtures(sigma, rate, a, b, alpha float64) float64 {
	log := func(z, at float64) float64 {
		return -z*z/(2*sigma*sigma) + math.Log1p(rate*math.Expm1((2*z*at-at*at)/(2*sigma*sigma)))
	}
	sum, step := math.Inf(-1), sigma/20
	for z := -alpha - 15*sigma; z < alpha+15*sigma; z += step {
		sum = logAdd(sum, alpha*log(z, a)+(1-alpha)*log(z, b))
	}
	return (sum + math.Log(step/sigma) - logSqrt2Pi) / (alpha - 1)
}

func TestReplacementDivergenceHoldsAndBeatsWang(t *testing.T) {
	for _, sigma := range []float64{0.5, 0.9, 2, 10} {
		for _, rate := range []float64{1e-3, 0.02, 0.3, 0.9} {
			for _, order := range []int{2, 3, 8, 40} {
				alpha := float64(order)
				got := step{withoutReplacement, rate, sigma, gaussian}.renyi(alpha)
				if theirs := wang(sigma, rate, order); !(got <= theirs*(1+1e-9)) {
					t.Errorf("σ=%g q=%g α=%d: %g exceeds Wang, Balle & Kasiviswanathan's %g", sigma, rate, order, got, theirs)
				}
				// Neighbours at distance 1 of which the rest are all one record
				// (Lebeda, Regehr, Kamath & Steinke 2024), both ways, and neighbours on
				// either side of the rest.
				for _, ends := range [][2]float64{{1, 0}, {0, 1}, {0.5, -0.5}, {0.8, -0.2}} {
					if real := mixtures(sigma, rate, ends[0], ends[1], alpha); !(real <= got*(1+1e-7)+1e-12) {
						t.Errorf("σ=%g q=%g α=%d: neighbours %v diverge by %g, the bound is %g", sigma, rate, order, ends, real, got)
					}
				}
			}
		}
	}
}

func TestEpsilonIsMonotone(t *testing.T) {
	build := map[string]func(sigma, rate float64, steps int) (Event, Relation){
		"poisson": func(sigma, rate float64, steps int) (Event, Relation) {
			return SelfComposed{PoissonSampled{rate, Gaussian{sigma}}, steps}, AddRemove
		},
		"fixed size": func(sigma, rate float64, steps int) (Event, Relation) {
			return SelfComposed{FixedSizeSampled{int(rate * 1e6), 1e6, Gaussian{sigma}}, steps}, ReplaceOne
		},
		"all": func(sigma, _ float64, steps int) (Event, Relation) {
			return SelfComposed{Gaussian{sigma}, steps}, ReplaceOne
		},
	}
	accountants := []Accountant{RDP{}, RDP{Classic: true}, Moments{}, Moments{Cumulative: true}, AnalyticGaussian{}, Classic{}}
	compared := 0
	for name, event := range build {
		for _, a := range accountants {
			at := func(sigma, rate float64, steps int, delta float64) float64 {
				e, rel := event(sigma, rate, steps)
				r, err := a.Epsilon(e, rel, delta)
				if unsupported(err) {
					return 0 // nothing to compare
				}
				if err != nil {
					t.Fatalf("%s of %v: %v", a.Name(), e, err)
				}
				compared++
				if !(r.Epsilon >= 0 && r.Epsilon <= math.MaxFloat64) || r.Accountant != a.Name() || r.Delta != delta {
					t.Fatalf("%s of %v: %+v", a.Name(), e, r)
				}
				return r.Epsilon
			}
			for _, sigma := range []float64{0.3, 1, 4, 60} {
				for _, rate := range []float64{1e-5, 0.01, 0.4} {
					for _, steps := range []int{1, 100, 1000000} {
						base := at(sigma, rate, steps, 1e-6)
						for change, other := range map[string]float64{
							"more noise": at(sigma*1.3, rate, steps, 1e-6), "a smaller rate": at(sigma, rate/2, steps, 1e-6),
							"a larger δ": at(sigma, rate, steps, 1e-4),
						} {
							if !(other <= base*(1+1e-6)) {
								t.Errorf("%s, %s, σ=%g q=%g T=%d: %s takes ε from %g to %g", a.Name(), name, sigma, rate, steps, change, base, other)
							}
						}
						if more := at(sigma, rate, steps+1, 1e-6); !(more >= base*(1-1e-6)) {
							t.Errorf("%s, %s, σ=%g q=%g T=%d: one more step takes ε from %g to %g", a.Name(), name, sigma, rate, steps, base, more)
						}
					}
				}
			}
		}
	}
	// Two accountants of all three events, two of Poisson samples, two of Gaussians: 10 of 18.
	if want := 10 * 36 * 5; compared != want {
		t.Errorf("%d values were compared, want %d", compared, want)
	}
}

func TestRDPIsAboveTheExactEpsilonOfAGaussian(t *testing.T) {
	for _, sigma := range []float64{0.01, 0.3, 1, 10, 1e4} {
		for _, delta := range []float64{1e-300, 1e-12, 1e-5, 0.1} {
			exact := epsilon(t, AnalyticGaussian{}, Gaussian{sigma}, ReplaceOne, delta)
			tight := epsilon(t, RDP{}, Gaussian{sigma}, ReplaceOne, delta)
			classic := epsilon(t, RDP{Classic: true}, Gaussian{sigma}, ReplaceOne, delta)
			if !(tight >= exact && classic >= tight) {
				t.Errorf("σ=%g δ=%g: exact %g, rdp %g, rdp-classic %g", sigma, delta, exact, tight, classic)
			}
			// Mironov 2017: the best order of the classic conversion is in closed form.
			want := 1/(2*sigma*sigma) + math.Sqrt(-2*math.Log(delta))/sigma
			if exact > 0 && !(math.Abs(classic/want-1) <= 1e-6) {
				t.Errorf("σ=%g δ=%g: rdp-classic %.9g, closed form %.9g", sigma, delta, classic, want)
			}
		}
	}
}

// A divergence and a δ² that are both no number any more prove nothing beside each other:
// the total variation here is 4·10⁻¹⁶⁰.
func TestRDPBelowTheLeastNumber(t *testing.T) {
	event := SelfComposed{Event: PoissonSampled{0.01, Gaussian{1e160}}, Count: 1000}
	for _, a := range []Accountant{RDP{}, Tightest{}} {
		if got := epsilon(t, a, event, AddRemove, 1e-300); !(got > 0) {
			t.Errorf("%T: ε = %v", a, got)
		}
	}
}

func TestExtremeButValidEventsHaveAnEpsilon(t *testing.T) {
	for _, sigma := range []float64{5e-324, 1e-100, 1e-5, 1e5, 1e90, 1e160, math.MaxFloat64} {
		for _, rate := range []float64{5e-324, 1e-200, 1e-16, 1 - 1e-16} {
			for _, delta := range []float64{0x1p-1022, 1e-30, 1 - 1e-16} {
				for _, a := range []Accountant{RDP{}, RDP{Classic: true}, Moments{}} {
					got := epsilon(t, a, SelfComposed{PoissonSampled{rate, Gaussian{sigma}}, math.MaxInt}, AddRemove, delta)
					if !(got >= 0) || sigma >= 1e-100 && math.IsInf(got, 1) {
						t.Errorf("%s, σ=%g q=%g δ=%g: ε = %v", a.Name(), sigma, rate, delta, got)
					}
				}
				if got := epsilon(t, AnalyticGaussian{}, Gaussian{sigma}, AddRemove, delta); !(got >= 0) {
					t.Errorf("σ=%g δ=%g: ε = %v", sigma, delta, got)
				}
			}
			size := FixedSizeSampled{1, math.MaxInt, Gaussian{sigma}}
			if got := epsilon(t, RDP{}, size, ReplaceOne, 1e-5); !(got >= 0) {
				t.Errorf("%v: ε = %v", size, got)
			}
		}
	}
}

func TestDivergenceNeedsAnOrderAboveOne(t *testing.T) {
	for _, order := range []float64{1, 0, -2, math.NaN(), math.Inf(1)} {
		if _, err := (RDP{}).Divergence(Gaussian{1}, AddRemove, order); err == nil {
			t.Errorf("order %v: no error", order)
		}
		if _, err := (RDP{Orders: []float64{2, order}}).Epsilon(Gaussian{1}, AddRemove, 1e-5); err == nil {
			t.Errorf("orders 2, %v: no error", order)
		}
	}
	if d, err := (RDP{}).Divergence(SelfComposed{Gaussian{2}, 3}, AddRemove, 5); err != nil || !(math.Abs(d-3*5./8) <= 1e-12) {
		t.Errorf("divergence %v, %v; want 3·5/8", d, err)
	}
}

func BenchmarkEpsilon(b *testing.B) {
	for name, c := range map[string]struct {
		event Event
		rel   Relation
	}{
		"poisson":    {SelfComposed{PoissonSampled{0.01, Gaussian{1.1}}, 10000}, AddRemove},
		"fixed-size": {SelfComposed{FixedSizeSampled{250, 30000, Gaussian{0.68}}, 4200}, ReplaceOne},
		"small-rate": {SelfComposed{PoissonSampled{1e-5, Gaussian{30}}, 100}, AddRemove},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := (RDP{}).Epsilon(c.event, c.rel, 1e-5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Divergences of Laplace noise of scale b are α/(2b²) but for relative terms of the size
// α/b, however small.
func TestDivergenceOfMuchLaplaceNoise(t *testing.T) {
	for _, b := range []float64{1e4, 1e8, 1e12, 1e16, 1e50} {
		for _, order := range []float64{1 + 1e-7, 1.5, 2, 33} {
			want := order / (2 * b * b)
			if got, err := (RDP{}).Divergence(Laplace{b}, AddRemove, order); err != nil || !(math.Abs(got/want-1) <= 2*order/b+1e-13) {
				t.Errorf("b=%g α=%g: %g, %v; want %g", b, order, got, err, want)
			}
		}
	}
	// Both forms agree where one takes over.
	for _, order := range []float64{1.001, 2, 100} {
		few, more := laplaceRenyi(2*order*(1-1e-12), order), laplaceRenyi(2*order*(1+1e-12), order)
		if !(math.Abs(few/more-1) <= 1e-11) {
			t.Errorf("α=%g: %.17g and %.17g", order, few, more)
		}
	}
}

// 10³² releases with Laplace noise of 10¹⁶ are one with Gaussian noise of 1, as far as
// anybody can tell. No accountant of theirs may prove less than that has.
func TestReleasesBeyondCounting(t *testing.T) {
	event := SelfComposed{SelfComposed{Laplace{1e16}, 1e16}, 1e16}
	least := epsilon(t, AnalyticGaussian{}, Gaussian{1}, AddRemove, 1e-5)
	for _, a := range []Accountant{PLD{}, RDP{}, Tightest{}} {
		if got := epsilon(t, a, event, AddRemove, 1e-5); !(got >= least*(1-1e-6)) {
			t.Errorf("%T: ε = %v, want at least %v", a, got, least)
		}
	}
	if got, err := (PLD{}).Delta(event, AddRemove, 1); err != nil || !(got >= 0.1 && got <= 1) { // 0.127 of the Gaussian
		t.Errorf("δ(1) = %v, %v", got, err)
	}
}
