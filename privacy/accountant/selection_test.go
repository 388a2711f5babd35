package accountant

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// A mechanism with two outcomes, repeated a random number of times and the
// better outcome kept, has a law that can be written down: the worse one wins
// only if all runs give it, which is the generating function of the number of
// runs. The theorems must cover its divergence.
func TestSelectionOfTwoOutcomes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	tightest := 0.
	for range 400 {
		epsilon := 0.05 + 2*rng.Float64() // of the base: randomised response
		truth := 1 / (1 + math.Exp(-epsilon))
		mean := 1 + 20*rng.Float64()
		shape := []float64{0, 1, 0.5, -0.5, 3, math.Inf(1)}[rng.IntN(6)]
		var generating func(x float64) float64
		if math.IsInf(shape, 1) {
			generating = func(x float64) float64 { return math.Exp(mean * (x - 1)) }
		} else {
			gamma := math.Exp(-negativeBinomialLog(mean, shape))
			generating = func(x float64) float64 {
				if shape == 0 {
					return math.Log(1-(1-gamma)*x) / math.Log(gamma)
				}
				return (math.Pow(1-(1-gamma)*x, -shape) - 1) / (math.Pow(gamma, -shape) - 1)
			}
			const h = 1e-6
			if slope := (generating(1) - generating(1-h)) / h; !(math.Abs(slope/mean-1) <= 1e-2) {
				t.Fatalf("mean %g, shape %g: γ = %g gives the mean %g", mean, shape, gamma, slope)
			}
		}
		order := 1.1 + 10*rng.Float64()
		base := plan{steps: []counted{{step{noise: response, rate: 1, sigma: 1 / epsilon}, 1}}}
		bound := selection{base, mean, shape, 1}.divergences()(order)
		for _, worse := range [][2]float64{{truth, 1 - truth}, {1 - truth, truth}} {
			p, q := generating(worse[0]), generating(worse[1])
			// A Poisson number of runs may be 0: then a third outcome, alike on both.
			none := 0.
			if math.IsInf(shape, 1) {
				none = math.Exp(-mean)
				p, q = p-none, q-none
			}
			sum := none + math.Pow(p, order)*math.Pow(q, 1-order) + math.Pow(1-none-p, order)*math.Pow(1-none-q, 1-order)
			if seen := math.Log(sum) / (order - 1); !(seen <= bound) {
				t.Errorf("ε = %.3g, mean %.3g, shape %g, order %.3g: divergence %.6g, the theorem says %.6g", epsilon, mean, shape, order, seen, bound)
			} else {
				tightest = max(tightest, seen/bound)
			}
		}
	}
	t.Logf("largest share of the bound: %.3f", tightest)
	if !(tightest >= 0.3) {
		t.Errorf("at most %.3f of the bound is reached; the test compares nothing", tightest)
	}
}

// Of a Gaussian all that the theorems ask for has a closed form but the best order, which is
// looked for here in steps of a thousandth. Coarser steps may cost a little, and gain nothing.
func TestSelectionIsWhatTheTheoremsSay(t *testing.T) {
	const sigma = 3.
	base := func(order float64) float64 { return order / (2 * sigma * sigma) }
	least := func(of func(order float64) float64) float64 {
		best := math.Inf(1)
		for x := 1e-4; x <= 1e6; x *= 1.001 {
			best = min(best, of(1+x))
		}
		return best
	}
	for _, mean := range []float64{1.5, 7, 300} {
		for _, shape := range []float64{0, 0.5, 1, -0.5, math.Inf(1)} {
			theorem := func(order float64) float64 { // Theorem 6
				epsilon := math.Log(1 + 1/(order-1))
				delta := math.Exp(least(func(at float64) float64 {
					return min(0, (at-1)*(base(at)-epsilon+math.Log(1-1/at))-math.Log(at))
				}))
				return base(order) + mean*delta + math.Log(mean)/(order-1)
			}
			if !math.IsInf(shape, 1) { // Theorem 2
				low, high := 0., 1. // of γ
				for range 200 {
					gamma := (low + high) / 2
					gives := shape * (1 - gamma) / (gamma * (1 - math.Pow(gamma, shape)))
					if shape == 0 {
						gives = (1 - gamma) / (gamma * math.Log(1/gamma))
					}
					if gives > mean {
						low = gamma
					} else {
						high = gamma
					}
				}
				second := (1 + shape) * least(func(at float64) float64 { return (1-1/at)*base(at) + math.Log(1/low)/at })
				theorem = func(order float64) float64 { return base(order) + second + math.Log(mean)/(order-1) }
			}
			for _, order := range []float64{1.2, 2, 9, 80} {
				want := theorem(order)
				got, err := RDP{}.Divergence(RepeatAndSelect{Gaussian{sigma}, mean, shape}, AddRemove, order)
				if err != nil || !(got >= want*(1-1e-6) && got <= want*1.01) {
					t.Errorf("mean %v, shape %v, order %v: divergence %v, %v; the theorem says %v", mean, shape, order, got, err, want)
				}
			}
		}
	}
}

func TestSelectionCostsMoreThanOneRunAndGrows(t *testing.T) {
	once := SelfComposed{PoissonSampled{0.01, Gaussian{2}}, 1000}
	before := epsilon(t, RDP{}, once, AddRemove, 1e-6)
	for _, mean := range []float64{1, 2, 10, 100, 1e4} {
		got := epsilon(t, RDP{}, RepeatAndSelect{once, mean, 1}, AddRemove, 1e-6)
		if !(got >= before*(1-1e-9)) {
			t.Errorf("the best of %g runs on average costs ε = %g, fewer cost %g", mean, got, before)
		}
		before = got
	}
	// Papernot & Steinke: a few times one run, whatever the mean.
	if single := epsilon(t, RDP{}, once, AddRemove, 1e-6); !(before <= 5*single) {
		t.Errorf("the best of 10⁴ runs costs ε = %g, one costs %g; want a few times that", before, single)
	}
	for _, a := range []Accountant{PLD{}, GDP{}, AnalyticGaussian{}, Classic{}, Moments{}} {
		var refusal *UnsupportedError
		if _, err := a.Epsilon(RepeatAndSelect{Gaussian{1}, 3, 1}, AddRemove, 1e-6); !errors.As(err, &refusal) {
			t.Errorf("%s on a selection: %v, want it refused", a.Name(), err)
		}
	}
	if r, err := (Tightest{}).Epsilon(RepeatAndSelect{Gaussian{1}, 3, 1}, AddRemove, 1e-6); err != nil || r.Accountant != "rdp" {
		t.Errorf("the tightest accountant of a selection is %q, %v; want rdp", r.Accountant, err)
	}
}

// Fewer than one run on average: what is left out may not make up for what is
// released, and nothing ever costs less than nothing.
func TestNoSelectionPaysForAnotherEvent(t *testing.T) {
	for _, mean := range []float64{0, 0.1, 0.999, -1, math.NaN(), math.Inf(1)} {
		for _, shape := range []float64{1, 0, math.Inf(1)} {
			if err := Validate(RepeatAndSelect{Gaussian{1}, mean, shape}); err == nil {
				t.Errorf("the best of %v runs on average (shape %v) is taken for an event", mean, shape)
			}
		}
	}
	alone := epsilon(t, RDP{}, Gaussian{1}, AddRemove, 1e-5)
	for _, shape := range []float64{1, 0, -0.9, math.Inf(1)} {
		for _, mean := range []float64{1, 1.001, 3} {
			chosen := RepeatAndSelect{Gaussian{10}, mean, shape}
			for _, order := range []float64{1.001, 1.5, 10, 1000} {
				if d, err := (RDP{}).Divergence(chosen, AddRemove, order); err != nil || !(d >= 0) {
					t.Errorf("mean %v, shape %v: divergence %v of order %v, %v", mean, shape, d, order, err)
				}
			}
			both := Composed{[]Event{Gaussian{1}, SelfComposed{chosen, 100}}}
			if got := epsilon(t, RDP{}, both, AddRemove, 1e-5); !(got >= alone) {
				t.Errorf("mean %v, shape %v: with the selections ε = %v, without %v", mean, shape, got, alone)
			}
		}
	}
}

// Of shapes beyond a billion the law of the number of runs no longer changes: neither does
// what the theorem says, though γ is then 1 but for digits that it does not have.
func TestSelectionOfLargeShapes(t *testing.T) {
	for _, base := range []Event{Pure{1}, Pure{2.5}, Gaussian{3}} {
		for _, mean := range []float64{1 + 1e-9, 1.45, 10, 100} {
			want := epsilon(t, RDP{}, RepeatAndSelect{base, mean, 1e9}, AddRemove, 1e-5)
			for _, shape := range []float64{1e12, 1e15, 1e16, 1e18, 1e30} {
				if got := epsilon(t, RDP{}, RepeatAndSelect{base, mean, shape}, AddRemove, 1e-5); !(math.Abs(got/want-1) <= 1e-6) {
					t.Errorf("%v, mean %g: shape %g costs ε = %v, shape 1e9 %v", base, mean, shape, got, want)
				}
			}
		}
	}
}

// Neither do means overflow: the law of a negative shape has log(mean) in its exponent.
func TestNegativeBinomialOfAnyMean(t *testing.T) {
	for _, shape := range []float64{-0.99, -0.7, -0.6, -0.5, -0.1, 0, 0.5, 1, 1e3, 1e18} {
		for _, mean := range []float64{1 + 1e-12, 1.5, 100, 1e100, 1e200, 1e300} {
			l := negativeBinomialLog(mean, shape)
			// The mean again, of terms that do not overflow.
			log := logExpm1(l)
			switch {
			case shape == 0:
				log -= math.Log(l)
			case shape < 0:
				log += math.Log(-shape) - logExpm1(-shape*l)
			default:
				log += math.Log(shape) - math.Log(-math.Expm1(-shape*l))
			}
			if off := log - math.Log(mean); !(off >= 0 && off <= 1e-9*(1+math.Log(mean))) {
				t.Errorf("shape %g, mean %g: log 1/γ = %g gives a mean off by %g in its logarithm", shape, mean, l, off)
			}
		}
	}
}

// One run for certain is that run, whatever the shape; once it was looked for without end.
func TestSelectionOfOneRun(t *testing.T) {
	for _, shape := range []float64{-0.9, -0.5, -0.1, 0, 1e-9, 0.01, 0.3, 0.5, 0.7, 1, 3, 1e9} {
		got := epsilon(t, RDP{}, RepeatAndSelect{Gaussian{3}, 1, shape}, AddRemove, 1e-5)
		if least := epsilon(t, RDP{}, Gaussian{3}, AddRemove, 1e-5); !(got >= least && got < 4*least) {
			t.Errorf("shape %g: ε = %v, the run alone %v", shape, got, least)
		}
	}
}
