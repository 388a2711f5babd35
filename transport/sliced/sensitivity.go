package sliced

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/privacy"
)

// floatSlack covers what float32 arithmetic adds to a bound proved for real
// numbers: a projection of unit vectors in dimension d ≤ 10⁴ is off by less than
// d·2⁻²⁴ < 10⁻³ relative in the worst case and by about √d·2⁻²⁴ in practice; the
// dimensions used here (≤ 256) stay below 2·10⁻⁵.
const floatSlack = 1 + 2e-5

// ProjectionSensitivity returns the ℓ₂-sensitivity of X ↦ XU given U when one
// row is replaced by another at most diameter away: σ_max(U)·diameter. U is
// drawn without looking at the data, so conditioning on it is allowed and the
// bound has no failure probability.
func ProjectionSensitivity(u Directions, diameter float64) privacy.Sensitivity {
	return privacy.Sensitivity{
		Value:    u.SpectralNorm() * diameter * floatSlack,
		Relation: privacy.ReplaceOne,
		Query:    "projections of every row",
		Source:   "σ_max(U)·‖x−x′‖, exact for these directions",
	}
}

// PublishedBound returns w(k, δ′) of Lemma 1 of 003 (Rakotomamonjy & Ralaivola
// 2021): with probability at least 1−δ′ over k independent uniform directions of
// R^d, ‖(x−x′)U‖² ≤ w for a pair with ‖x−x′‖ ≤ 1. For k > 30 it is the
// central-limit form with z at 1−δ′/2, as the public code has it (003 Eq. 23,
// 000 Eq. 26), and below the Bernstein form (000 Eq. 25).
//
// It is here to reproduce published noise. It is not a bound to promise: the
// central-limit form fails more often than δ′, and either form speaks of one
// pair and one draw, not of every release.
func PublishedBound(k, d int, failure float64) float64 {
	if k <= 30 {
		return BernsteinBound(k, d, failure)
	}
	z := distuv.UnitNormal.Quantile(1 - failure/2)
	return float64(k)/float64(d) + z/float64(d)*math.Sqrt(2*float64(k)*float64(d-1)/float64(d+2))
}

// BernsteinBound returns w(k, δ′) of 000 Eq. 25.
func BernsteinBound(k, d int, failure float64) float64 {
	log := math.Log(2 / failure)
	kf, df := float64(k), float64(d)
	return kf/df + 2./3*log + 2/df*math.Sqrt(kf*(df-1)/(df+2)*log)
}
