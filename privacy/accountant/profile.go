package accountant

import (
	"math"

	"molehill/privacy/accountant/pld"
)

// pair is the step's dominating pair. Neighbours that are exchanged give the
// reverse pair, so only the order of P and Q is chosen here.
func (s step) pair() pld.Pair {
	s.sigma = min(s.sigma, quietest) // less noise costs more
	base := func(epsilon float64) float64 { return gaussianProfile(s.sigma, epsilon) }
	switch s.noise {
	case laplace:
		base = func(epsilon float64) float64 { return laplaceProfile(s.sigma, epsilon) }
	case response:
		base = func(epsilon float64) float64 { return responseProfile(1/s.sigma, epsilon) }
	}
	sampler := s.sampler
	if sampler == poissonReplace && s.sigma < loud {
		sampler = withoutReplacement
	}
	switch sampler {
	case poisson:
		return poissonPair(s.rate, base)
	case poissonReplace:
		return pld.Pair{Forward: func(epsilon float64) float64 { return s.poissonReplaceProfile(epsilon) }}
	case withoutReplacement:
		// Balle, Barthe & Gaboardi 2018, Theorem 9, for either direction. As a
		// trade-off function this is C_q(G_μ) of Dong, Roth & Su 2022, Section 4.2;
		// 004, Section 5.3.
		return pld.Pair{Forward: func(epsilon float64) float64 {
			return s.rate * base(insideSample(epsilon, s.rate))
		}}
	}
	return pld.Pair{Forward: base}
}

// quietest is as much noise as makes a difference; squares of more overflow.
const quietest = 1e100

// loud is the noise multiplier below which poissonReplaceProfile would overflow.
// The profile of fixed-size samples bounds it: of a record that is in the batch,
// q·H_γ′ against a mixture is at most q times the larger H_γ′ of its parts.
const loud = 0.05

// insideSample is log(1 + (e^ε − 1)/q), the ε of a mechanism on a batch with
// which ε on all records is reached, for ε > log(1−q).
func insideSample(epsilon, rate float64) float64 {
	if inside := math.Expm1(epsilon) / rate; !math.IsInf(inside, 1) {
		return math.Log1p(inside)
	}
	return epsilon + math.Log(-math.Expm1(-epsilon)) - math.Log(rate) // where 1 is nothing beside it
}

// poissonPair is that of a mechanism with a symmetric profile on a Poisson
// sample, with the record in P and not in Q: Balle, Barthe & Gaboardi 2018,
// Theorem 8; H(ε) = q·base(t(ε)). The other direction follows from
// H_{e^ε}(Q‖P) = 1 − e^ε + e^ε·H_{e^−ε}(P‖Q).
func poissonPair(rate float64, base func(epsilon float64) float64) pld.Pair {
	return pld.Pair{
		Forward: func(epsilon float64) float64 { return rate * base(insideSample(epsilon, rate)) },
		Backward: func(epsilon float64) float64 {
			// In e^ε·(e^−ε − 1 + q) the exponentials may be large, never the result.
			left := rate - (1-rate)*math.Expm1(epsilon)
			if !(left > 0) {
				return 0
			}
			return left * base(-insideSample(-epsilon, rate))
		},
	}
}

// gaussianProfile is the least δ of a Gaussian for ε ≥ 0.
func gaussianProfile(sigma, epsilon float64) float64 {
	// The textbook form is fast, and accurate where its terms are not all but
	// equal and nothing over- or underflows.
	if x := epsilon*sigma - 1/(2*sigma); sigma < 50 && epsilon < 600 && x < 20 && x+1/sigma < 37 {
		return max(0, upperTail(x)-math.Exp(epsilon)*upperTail(x+1/sigma))
	}
	if delta := math.Exp(logGaussianDelta(sigma, epsilon)); delta <= 1 {
		return delta
	}
	return 1 // where it overflows there is next to no noise
}

// upperTail is 1 − Φ(x).
func upperTail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// laplaceProfile is the least δ of Laplace noise of scale b for ε ≥ 0:
// (1 − e^((ε−1/b)/2))⁺ (Balle, Barthe & Gaboardi 2018, Theorem 3).
func laplaceProfile(b, epsilon float64) float64 {
	return max(0, -math.Expm1((epsilon-1/b)/2))
}

// responseProfile is the least δ, for ε ≥ 0, of randomized response that tells the
// truth with odds e^pure: (e^pure − e^ε)⁺/(1 + e^pure), which no mechanism of this
// pure ε exceeds (Kairouz, Oh & Viswanath 2015).
func responseProfile(pure, epsilon float64) float64 {
	return max(0, -math.Expm1(epsilon-pure)/(1+math.Exp(-pure)))
}

// poissonReplaceProfile is the least δ for ε ≥ 0 of a sum with Gaussian noise
// over a Poisson sample, of which one record's vector is replaced, each of norm
// at most half of the sensitivity: that of
//
//	P = (1−q)·N(0, 1) + q·N(c, 1) against Q = (1−q)·N(0, 1) + q·N(−c, 1)
//
// with c = 1/(2σ). That opposite vectors of full length are the worst: let the
// record's vector be v in one data set and w in the other, and condition on the
// rest of the batch. For γ ≥ 1, H_γ of the two mixtures is q times H_γ′ of
// N(v, I) against a mixture of N(0, I) and N(w, I), with γ′ = 1 + (γ−1)/q (Balle,
// Barthe & Gaboardi 2018, Theorem 2). Under N(v, I) the densities of the two
// relative to N(v, I) are log-normal, and their law depends on |v| ≤ c and
// |w−v| ≤ 2c alone. H is the mean of a convex function of their weighted sum, so
// it is largest where the sum is largest in convex order: if the two are
// comonotone, which collinear −v and w−v make them, and each as spread as can be
// (Dhaene et al., "The Concept of Comonotonicity in Actuarial Science and
// Finance", 2002). Exchanging v and w mirrors the pair.
func (s step) poissonReplaceProfile(epsilon float64) float64 {
	if epsilon > 600 {
		return s.rate * gaussianProfile(s.sigma, insideSample(epsilon, s.rate)) // see loud
	}
	c, gain := 1/(2*s.sigma), math.Expm1(epsilon)
	// P/Q = e^ε at z: a quadratic equation in u = e^(cz).
	k := s.rate * math.Exp(-c*c/2)
	a := gain * (1 - s.rate)
	z := math.Log((a+math.Hypot(a, 2*math.Exp(epsilon/2)*k))/(2*k)) / c
	if k == 0 || math.IsInf(z, 0) {
		return s.rate * gaussianProfile(s.sigma, insideSample(epsilon, s.rate))
	}
	in, out, none := s.rate*upperTail(z-c), s.rate*math.Exp(epsilon)*upperTail(z+c), a*upperTail(z)
	// Under much noise these are all but equal, and what is left mostly rounding.
	rounding := 0x1p-50 * (1 + z*z) * (in + out + none)
	return min(s.rate, max(0, in-out-none+rounding))
}
