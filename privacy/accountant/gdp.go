package accountant

import "math"

// GDP accounts by Gaussian differential privacy (Dong, Roth & Su, "Gaussian
// Differential Privacy", 2022): a composition is as private as one Gaussian of
// parameter μ, the distance of two normal distributions of variance 1. For
// Gaussians on all records that is exact. For samples it is their limit as steps
// grow in number and each one vanishes, which may lie below the truth: such
// results are marked approximate. It is how 004 accounts.
//
// It supports Gaussians; on Poisson samples under add-remove and zero-out, on
// fixed-size samples under replace-one.
type GDP struct{}

// Name is "gdp".
func (GDP) Name() string { return "gdp" }

// Mu returns μ, and whether it is exact.
func (a GDP) Mu(e Event, rel Relation) (mu float64, exact bool, err error) {
	p, err := read(a, e, rel, 0.5)
	if err != nil {
		return 0, false, err
	}
	if p.nonPrivate {
		return math.Inf(1), true, nil
	}
	if len(p.selections) > 0 {
		return 0, false, &UnsupportedError{a.Name(), e, rel, "a selection has no parameter μ; use RDP"}
	}
	mu, exact = p.mu(), true
	for _, c := range p.steps {
		if c.noise != gaussian || c.sampler == poissonReplace {
			return 0, false, &UnsupportedError{a.Name(), e, rel, "it accounts for Gaussians, on Poisson samples under add-remove and zero-out; use PLD"}
		}
		if c.sampler != everything {
			exact = false
			mu = math.Hypot(mu, math.Sqrt(c.count)*c.limit())
		}
	}
	return mu, exact, nil
}

// limit is μ/√T of T steps on samples.
func (s step) limit() float64 {
	m := 1 / s.sigma
	if s.sampler == poisson {
		// Bu, Dong, Long & Su, "Deep Learning with Gaussian Differential Privacy"
		// (2020), Theorem 5.
		return s.rate * math.Sqrt(math.Expm1(m*m))
	}
	// Dong, Roth & Su 2022, Corollary 5.4, for C_q(G_m); 004, Section 5.3. The
	// expression is 0 to first order in m.
	inner := math.Exp(m*m)*lowerTail(1.5*m) + 3*lowerTail(-m/2) - 2
	if m < 1e-2 {
		inner = m * m / 2 // + O(m³)
	}
	return s.rate * math.Sqrt(2*inner)
}

// lowerTail is Φ(x).
func lowerTail(x float64) float64 { return upperTail(-x) }

// Epsilon is Accountant's.
func (a GDP) Epsilon(e Event, rel Relation, delta float64) (Result, error) {
	if err := checkDelta(delta); err != nil {
		return Result{}, err
	}
	mu, exact, err := a.Mu(e, rel)
	r := Result{Epsilon: mu, Delta: delta, Accountant: a.Name(), Approximate: !exact}
	if err != nil || mu == 0 || math.IsInf(mu, 1) {
		return r, err
	}
	if !exact {
		r.Note = "a central limit, which may lie below the truth"
	}
	r.Epsilon, err = GaussianEpsilon(clampSigma(1/mu), delta)
	return r, err
}

// clampSigma keeps a multiplier in its domain where 1/μ over- or underflows.
func clampSigma(sigma float64) float64 {
	return min(max(sigma, math.SmallestNonzeroFloat64), math.MaxFloat64)
}
