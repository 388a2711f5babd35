package accountant

import "math"

// AnalyticGaussian accounts exactly for Gaussians without sampling, in any
// number: they compose to one Gaussian with 1/σ² = Σ 1/σᵢ² (Dong, Roth & Su,
// "Gaussian Differential Privacy", 2022), whose ε is that of Balle & Wang,
// "Improving the Gaussian Mechanism for Differential Privacy" (2018), Theorem 8.
type AnalyticGaussian struct{}

// Name is "analytic-gaussian".
func (AnalyticGaussian) Name() string { return "analytic-gaussian" }

// Epsilon is Accountant's.
func (a AnalyticGaussian) Epsilon(e Event, rel Relation, delta float64) (Result, error) {
	p, err := read(a, e, rel, delta)
	if err == nil {
		err = onlyGaussian(a, p, e, rel)
	}
	r := Result{Delta: delta, Accountant: a.Name()}
	switch {
	case err != nil:
		return Result{}, err
	case p.nonPrivate:
		return nonPrivate(a, delta), nil
	case len(p.steps) == 0:
		return r, nil
	}
	r.Epsilon, err = GaussianEpsilon(clampSigma(1/p.mu()), delta)
	return r, err
}

// Classic is the textbook calibration ε = √(2 ln(1.25/δ))/σ of one Gaussian
// (Dwork & Roth 2014, Theorem A.1), here also of several, which are one with
// 1/σ² = Σ 1/σᵢ². It is a theorem for ε < 1 only; beyond, its results are marked
// approximate. It is here to reproduce papers: AnalyticGaussian is exact.
type Classic struct{}

// Name is "classic-gaussian".
func (Classic) Name() string { return "classic-gaussian" }

// Epsilon is Accountant's.
func (a Classic) Epsilon(e Event, rel Relation, delta float64) (Result, error) {
	p, err := read(a, e, rel, delta)
	if err == nil {
		err = onlyGaussian(a, p, e, rel)
	}
	switch {
	case err != nil:
		return Result{}, err
	case p.nonPrivate:
		return nonPrivate(a, delta), nil
	}
	r := Result{Epsilon: ClassicSigma(1, delta) * p.mu(), Delta: delta, Accountant: a.Name()}
	if r.Epsilon >= 1 {
		r.Approximate = true
		r.Note = "the classical calibration is proven for ε < 1 only"
	}
	return r, nil
}

// ClassicSigma is the noise multiplier √(2 ln(1.25/δ))/ε of the textbook, for
// reproducing papers. It protects as promised for ε in (0, 1) and δ in (0, 1).
func ClassicSigma(epsilon, delta float64) float64 {
	return math.Sqrt(2*math.Log(1.25/delta)) / epsilon
}

// GaussianDelta returns the least δ for which a Gaussian of a noise multiplier
// is (epsilon, δ)-differentially private: Φ(1/(2σ) − εσ) − e^ε·Φ(−1/(2σ) − εσ)
// (Balle & Wang 2018, Theorem 8). Its relative error is below 10⁻¹⁰ down to the
// least normal float64.
func GaussianDelta(noiseMultiplier, epsilon float64) (float64, error) {
	if err := Validate(Gaussian{noiseMultiplier}); err != nil {
		return 0, err
	}
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	return math.Exp(logGaussianDelta(noiseMultiplier, epsilon)), nil
}

// GaussianEpsilon returns the least ε for which a Gaussian of a noise multiplier
// is (ε, delta)-differentially private, rounded up by a relative 2·10⁻¹².
func GaussianEpsilon(noiseMultiplier, delta float64) (float64, error) {
	if err := Validate(Gaussian{noiseMultiplier}); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	logDelta := math.Log(delta) - roundOff
	private := func(epsilon float64) bool { return logGaussianDelta(noiseMultiplier, epsilon) <= logDelta }
	if private(0) {
		return 0, nil
	}
	return least(private), nil
}

// GaussianSigma returns the least noise multiplier for which a Gaussian is
// (epsilon, delta)-differentially private, rounded up by a relative 2·10⁻¹².
func GaussianSigma(epsilon, delta float64) (float64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	logDelta := math.Log(delta) - roundOff
	return least(func(sigma float64) bool { return logGaussianDelta(sigma, epsilon) <= logDelta }), nil
}

// roundOff is more than the error of logGaussianDelta.
const roundOff = 1e-11

// least returns the least x > 0 with ok(x), rounded up by a relative 2·10⁻¹², for an
// ok that stays true once it is, or +Inf.
func least(ok func(x float64) bool) float64 {
	lo, hi := 0., 1.
	for !ok(hi) {
		if math.IsInf(hi, 1) {
			return hi
		}
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-12*hi {
		middle := lo + (hi-lo)/2
		if middle == lo || middle == hi { // neighbours, as there are near 0
			break
		}
		if ok(middle) {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi * (1 + 1e-12)
}

// logGaussianDelta is the log of the privacy profile at ε ≥ 0. With x = εσ −
// 1/(2σ) and the Mills ratio R = (1−Φ)/φ it is φ(x)·(R(x) − R(x + 1/σ)), as
// e^ε·φ(x + 1/σ) = φ(x).
func logGaussianDelta(sigma, epsilon float64) float64 {
	x := epsilon*sigma - 1/(2*sigma)
	if x < -8 { // δ is near 1: nothing cancels in the profile itself
		return math.Log1p(-math.Erfc(-x/math.Sqrt2)/2 - math.Exp(-x*x/2-logSqrt2Pi)*mills(x+1/sigma))
	}
	return -x*x/2 - logSqrt2Pi + math.Log(millsDrop(x, 1/sigma))
}

// millsDrop is R(x) − R(x+d) for d > 0. A short way it is integrated, as
// −R′(u) = 1 − u·R(u) > 0, so that nothing cancels.
func millsDrop(x, d float64) float64 {
	if d > 0.5 {
		return mills(x) - mills(x+d)
	}
	var sum float64
	for i, node := range kronrodNodes {
		y := millsSlope(x + d/2*(1-node))
		if node != 0 {
			y += millsSlope(x + d/2*(1+node))
		}
		sum += kronrodWeights[i] * y
	}
	return sum * d / 2
}

// mills is the Mills ratio R(x) = (1 − Φ(x))/φ(x).
func mills(x float64) float64 {
	if x < 3 {
		return math.Sqrt(math.Pi/2) * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
	}
	return 1 / (x + millsFraction(x))
}

// millsSlope is −R′(x) = 1 − x·R(x).
func millsSlope(x float64) float64 {
	if x < 3 {
		return 1 - x*mills(x)
	}
	rest := millsFraction(x)
	return rest / (x + rest)
}

// millsFraction is 1/(x + 2/(x + 3/(x + …))), the tail of Laplace's continued
// fraction R(x) = 1/(x + 1/(x + 2/(x + …))), for x ≥ 3.
func millsFraction(x float64) float64 {
	rest := 0.
	for k := 15 + int(400/(x*x)); k >= 1; k-- {
		rest = float64(k) / (x + rest)
	}
	return rest
}
