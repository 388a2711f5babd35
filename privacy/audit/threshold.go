package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/privacy/accountant"
)

// Errors counts the mistakes of a test that tells one world from another.
type Errors struct {
	False, Zeros int // said one where it was zero, of so many zeros
	Missed, Ones int // said zero where it was one, of so many ones
}

// rates returns upper bounds on the probabilities of either mistake that hold
// together with the given confidence (Clopper & Pearson 1934).
func (e Errors) rates(confidence float64) (falsePositive, falseNegative float64) {
	beta := (1 - confidence) / 2
	return UpperLimit(e.False, e.Zeros, beta), UpperLimit(e.Missed, e.Ones, beta)
}

// Epsilon is a lower bound, at the given confidence, on every ε for which the
// mechanism is (ε, delta)-private: any test of it has FPR + e^ε·FNR ≥ 1 − δ and
// FNR + e^ε·FPR ≥ 1 − δ (Kairouz, Oh & Viswanath 2015, Theorem 2.1). It assumes
// that the trials are independent.
func (e Errors) Epsilon(delta, confidence float64) float64 {
	fp, fn := e.rates(confidence)
	// Both ratios are at most 1 where a sum of rates passes 1 − δ.
	return math.Log(max(1, (1-delta-fn)/fp, (1-delta-fp)/fn))
}

func (e Errors) String() string {
	return fmt.Sprintf("%d false of %d zeros, %d missed of %d ones", e.False, e.Zeros, e.Missed, e.Ones)
}

// GaussianEpsilon is a lower bound on ε at delta as Epsilon is, for a mechanism
// that is known to be Gaussian: then no test beats Φ⁻¹(1−FPR) − Φ⁻¹(FNR) ≤ μ
// (Dong, Roth & Su 2022), and μ has one ε at each δ. So a few hundred trials
// reach an ε that Epsilon would need e^ε for (Nasr et al., "Tight Auditing of
// Differentially Private Machine Learning", 2023).
func (e Errors) GaussianEpsilon(delta, confidence float64) (float64, error) {
	mu := e.mu(confidence)
	if mu <= 0 {
		return 0, nil
	}
	return accountant.GaussianEpsilon(1/mu, delta)
}

func (e Errors) mu(confidence float64) float64 {
	fp, fn := e.rates(confidence)
	if fp >= 1 || fn >= 1 {
		return 0
	}
	return -distuv.UnitNormal.Quantile(fp) - distuv.UnitNormal.Quantile(fn)
}

// UpperLimit is the upper Clopper–Pearson limit at level beta of a probability
// whose event was seen hits times in n: the largest p with
// P[Binomial(n, p) ≤ hits] ≥ beta, which is between 0 and 1.
func UpperLimit(hits, n int, beta float64) float64 {
	switch {
	case hits >= n:
		return 1
	case hits <= 0:
		return -math.Expm1(math.Log(beta) / float64(n))
	}
	lo, hi := float64(hits)/float64(n), 1.
	for hi-lo > 1e-12*hi {
		// P[Binomial(n, p) ≤ hits] = P[Binomial(n, 1−p) ≥ n−hits]
		if middle := (lo + hi) / 2; upperTail(n-hits, n, 1-middle) >= beta {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi
}

// trial is one bit and the attacker's score of it.
type trial struct {
	one   bool
	score float64
}

// test says one where a score is at least threshold.
func test(trials []trial, threshold float64) Errors {
	var e Errors
	for _, t := range trials {
		switch {
		case t.one:
			e.Ones++
			if t.score < threshold {
				e.Missed++
			}
		default:
			e.Zeros++
			if t.score >= threshold {
				e.False++
			}
		}
	}
	return e
}

// split chooses the threshold that gives the best bound on one half of the
// trials and tests with it on the other, which has not been looked at.
func split(trials []trial, bound func(Errors) float64) Errors {
	half := len(trials) / 2
	seen, fresh := slices.Clone(trials[:half]), trials[half:]
	slices.SortFunc(seen, func(a, b trial) int { return cmp.Compare(a.score, b.score) })
	// With the threshold at the i-th score, those before are called zero.
	e := test(seen, math.Inf(-1))
	best, threshold := math.Inf(-1), 0.
	next := 0 // to be tried
	for i, t := range seen {
		if i >= next && (i == 0 || t.score > seen[i-1].score) {
			if b := bound(e); b > best {
				best, threshold = b, t.score
			}
			next = i + max(1, half/thresholds)
		}
		if t.one {
			e.Missed++
		} else {
			e.False--
		}
	}
	return test(fresh, threshold)
}

// thresholds is about how many are tried.
const thresholds = 200
