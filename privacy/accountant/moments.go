package accountant

import "math"

// Moments is the moments accountant as published: Abadi et al., "Deep Learning
// with Differential Privacy" (2016), for Gaussians on Poisson samples under
// add/remove. It looks at the moments λ = 1, …, MaxOrder of the privacy loss and
// converts by the tail bound, ε = min (Σ α(λ) + ln(1/δ))/λ. RDP is the same
// accounting with real orders and a better conversion.
type Moments struct {
	// MaxOrder is the largest λ; 0 stands for 32, the authors' choice.
	MaxOrder int
	// Cumulative adds the log moments of all orders up to λ to that of λ, as
	// the public code of DPSWflow does (its running sum over steps runs over
	// orders). Log moments are not negative, so ε is larger than need be, and
	// still true.
	Cumulative bool
}

// Name is "moments" or "moments-cumulative".
func (a Moments) Name() string {
	if a.Cumulative {
		return "moments-cumulative"
	}
	return "moments"
}

// Epsilon is Accountant's.
func (a Moments) Epsilon(e Event, rel Relation, delta float64) (Result, error) {
	p, err := read(a, e, rel, delta)
	switch {
	case err != nil:
		return Result{}, err
	case rel != AddRemove:
		return Result{}, &UnsupportedError{a.Name(), e, rel, "it is published for add-remove"}
	case !p.renyiKnown() || len(p.selections) > 0 || p.hasOtherNoise():
		return Result{}, &UnsupportedError{a.Name(), e, rel, "it is published for Gaussians on Poisson samples"}
	case p.nonPrivate:
		return nonPrivate(a, delta), nil
	}
	best := Result{Epsilon: math.Inf(1), Delta: delta, Accountant: a.Name()}
	if a.Cumulative {
		best.Note = "log moments summed over orders, as the public code of DPSWflow does"
	}
	var moment float64
	for lambda := range a.maxOrder() {
		order := float64(lambda + 1)
		if !a.Cumulative {
			moment = 0
		}
		for _, c := range p.steps {
			moment += c.count * c.logMoment(lambda+1)
		}
		if epsilon := (moment - math.Log(delta)) / order; epsilon < best.Epsilon {
			best.Epsilon, best.Order = epsilon, order
		}
	}
	return best, nil
}

func (a Moments) maxOrder() int {
	if a.MaxOrder < 1 {
		return 32
	}
	return a.MaxOrder
}

// logMoment is α(λ) = log max(E₁, E₂) of Abadi et al. for one step. E₂, the
// moment of the mixture against the Gaussian, is the larger one (Mironov, Talwar
// & Zhang 2019, Theorem 5), and E₂ = E[γ^(λ+1)] over z ~ N(0, σ²). Written as a
// sum over the binomial number k of copies of G in γ^(λ+1), with E[G^k] =
// exp(k(k−1)/(2σ²)), and with 1 taken from both sides, no term is negative:
//
//	E₂ − 1 = Σ_k Binomial(λ+1, q)(k) · (exp(k(k−1)/(2σ²)) − 1).
func (s step) logMoment(lambda int) float64 {
	n := float64(lambda + 1)
	if s.rate == 1 {
		return n * (n - 1) / (2 * s.sigma * s.sigma)
	}
	logSum := math.Inf(-1)
	for k := 2.; k <= n; k++ {
		logTerm := logBinomial(n, k) + k*math.Log(s.rate) + (n-k)*math.Log1p(-s.rate) +
			logExpm1(k*(k-1)/(2*s.sigma*s.sigma))
		logSum = logAdd(logSum, logTerm)
	}
	return softplus(logSum)
}

// logBinomial is log of n over k.
func logBinomial(n, k float64) float64 {
	all, _ := math.Lgamma(n + 1)
	chosen, _ := math.Lgamma(k + 1)
	left, _ := math.Lgamma(n - k + 1)
	return all - chosen - left
}

// logAdd is log(exp(a) + exp(b)).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
