package accountant

import "math"

// renyi returns the Rényi divergence of order alpha > 1 of one step, the larger
// one of the two directions between neighbours, or a bound of it.
//
// All are integrals over what a sampled Gaussian with noise multiplier σ
// compares: z ~ N(0, σ²), the likelihood ratio G = exp((2z−1)/(2σ²)) of N(1, σ²)
// to N(0, σ²), and its mixture γ = 1 + q(G−1).
func (s step) renyi(alpha float64) float64 {
	switch s.noise {
	case laplace:
		return laplaceRenyi(s.sigma, alpha)
	case response:
		return responseRenyi(1/s.sigma, alpha)
	}
	whole := alpha / (2 * s.sigma * s.sigma) // the Gaussian's, without sampling
	// Sampling never hurts. Where the integral would need too many cells, or its
	// numbers overflow, the bound without sampling will do: ε is too large to mean
	// anything, or next to nothing.
	if s.sampler == everything || alpha > 1e5*s.sigma || s.sigma > 1e100 {
		return whole
	}
	var logExcess float64 // of exp((α−1)·D_α) over 1
	if s.sampler == poisson {
		logExcess = s.poissonExcess(alpha)
	} else {
		logExcess = s.replacementExcess(alpha)
	}
	return min(whole, softplus(logExcess)/(alpha-1))
}

// laplaceRenyi is the divergence of Laplace noise of scale b: Mironov 2017, Table
// II, 1/(α−1)·log(α/(2α−1)·e^((α−1)/b) + (α−1)/(2α−1)·e^(−α/b)).
func laplaceRenyi(b, alpha float64) float64 {
	if m := 1 / b; alpha*m < 0.5 {
		// Both parts are at least 0, and what cancels in their sum is left out.
		return math.Log1p((alpha*expRest((alpha-1)*m)+(alpha-1)*expRest(-alpha*m))/(2*alpha-1)) / (alpha - 1)
	}
	// Relative to the first exponential, so that nothing overflows.
	rest := (alpha - 1) / (2*alpha - 1) * math.Expm1((1-2*alpha)/b)
	return max(0, 1/b+math.Log1p(rest)/(alpha-1))
}

// expRest is e^x − 1 − x for |x| < ½, to all digits.
func expRest(x float64) float64 {
	sum, term := 0., x*x/2
	for k := 3.; term != 0 && math.Abs(term) > 1e-18*sum; k++ {
		sum += term
		term *= x / k
	}
	return sum
}

// responseRenyi is the divergence of randomized response that tells the truth with
// odds e^pure, 1/(α−1)·log((e^(α·pure) + e^((1−α)·pure))/(1 + e^pure)).
func responseRenyi(pure, alpha float64) float64 {
	if alpha*pure > 1 {
		return pure + (math.Log1p(math.Exp((1-2*alpha)*pure))-math.Log1p(math.Exp(-pure)))/(alpha-1)
	}
	// The same as a ratio of hyperbolic cosines, of which nothing cancels.
	return math.Log1p(2*math.Sinh(alpha*pure/2)*math.Sinh((alpha-1)*pure/2)/math.Cosh(pure/2)) / (alpha - 1)
}

// softplus is log(1 + exp(x)).
func softplus(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

// far is how many σ beyond the outermost possible peak an integral goes.
const far = 13

// poissonExcess is log(A_α − 1) for A_α = E[γ^α], the moment of the
// Poisson-sampled Gaussian under add/remove: Mironov, Talwar & Zhang, "Rényi
// Differential Privacy of the Sampled Gaussian Mechanism" (2019), Theorem 4,
// and Theorem 5, which says that this direction is the larger one. As E[γ] = 1,
//
//	A_α − 1 = E[γ^α − 1 − α(γ−1)],
//
// which has no negative part: nothing cancels, however small the rate, and
// integer and fractional orders are alike.
func (s step) poissonExcess(alpha float64) float64 {
	f := func(z float64) float64 {
		l, t := s.ratio(z)
		return logBregman(alpha, l, s.rate*math.Expm1(t)) + s.logDensity(z)
	}
	return logIntegral(f, -far*s.sigma, max(alpha, 2)+far*s.sigma, s.sigma)
}

// replacementExcess is log(A_α − 1) for fixed-size samples without replacement
// under replace-one.
//
// Balle, Barthe & Gaboardi, "Privacy Amplification by Subsampling" (2018),
// Theorem 9: the hockey-stick divergence of the sampled mechanism at γ ≥ 1, in
// either direction, is at most h(γ) = q·E_g of the Gaussian, with γ = 1 + q(g−1).
// Sason & Verdú, "f-Divergence Inequalities" (2016), Section VII: an
// f-divergence is an integral of the two hockey-stick divergences against f″.
// For f(γ) = γ^α this is
//
//	A_α ≤ 1 + α(α−1) ∫₁^∞ (γ^(α−2) + γ^(−α−1)) h(γ) dγ.
//
// Integrating by parts twice (h″(γ) dγ is the law of γ under N(0, σ²), and both
// f and f′ are made to vanish at 1) turns this into
//
//	A_α − 1 ≤ E[(γ^α − 1)(1 − γ^(1−α)); z ≥ ½],
//
// again without cancellation. At q = 1 it is the Gaussian's moment exactly.
func (s step) replacementExcess(alpha float64) float64 {
	f := func(z float64) float64 {
		l, _ := s.ratio(z)
		return logExpm1(alpha*l) + math.Log(-math.Expm1((1-alpha)*l)) + s.logDensity(z)
	}
	return logIntegral(f, 0.5, max(alpha, 2)+far*s.sigma, s.sigma)
}

// ratio returns log γ and log G at z.
func (s step) ratio(z float64) (logMixture, logRatio float64) {
	t := (2*z - 1) / (2 * s.sigma * s.sigma)
	if t > 700 { // exp(t) overflows
		return t + math.Log(s.rate) + math.Log1p((1-s.rate)/s.rate*math.Exp(-t)), t
	}
	return math.Log1p(s.rate * math.Expm1(t)), t
}

// logBregman is log(γ^α − 1 − α(γ−1)), given log γ and γ−1, of which the latter
// may overflow.
func logBregman(alpha, logGamma, x float64) float64 {
	c := alpha - 1
	switch {
	case alpha*math.Abs(x) < 0.05: // the binomial series without its first two terms
		sum, term := 1., 1.
		for k := 3.; math.Abs(term) > 1e-17; k++ {
			term *= (alpha - k + 1) / k * x
			sum += term
		}
		return math.Log(alpha*c/2*sum) + 2*math.Log(math.Abs(x))
	case alpha*logGamma < 600:
		return math.Log((1+x)*math.Expm1(c*logGamma) - c*x)
	default:
		return alpha*logGamma + math.Log1p(c*math.Exp(-alpha*logGamma)-alpha*math.Exp(-c*logGamma))
	}
}

// logDensity is the log of the density of N(0, σ²) at z.
func (s step) logDensity(z float64) float64 {
	u := z / s.sigma
	return -u*u/2 - math.Log(s.sigma) - logSqrt2Pi
}

const logSqrt2Pi = 0.91893853320467274178

// logExpm1 is log(exp(x) − 1) for x ≥ 0.
func logExpm1(x float64) float64 {
	if x > 1 {
		return x + math.Log1p(-math.Exp(-x))
	}
	return math.Log(math.Expm1(x))
}
