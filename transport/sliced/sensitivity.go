package sliced

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/privacy"
)

// slack covers what float32 arithmetic adds to a bound proved for real numbers.
// A projection of a vector of R^d in float32 is off by at most d·2⁻²⁴·Σ|x_c·θ_c|
// ≤ d·2⁻²⁴·‖x‖ (Higham 2002, 3.5), for both neighbours 2·d·2⁻²⁴ times a norm of
// at most half the diameter; over k directions √k times that, and σ_max ≥
// √(k/d). So the relative error of ‖(x−x′)U‖ against σ_max·diameter is at most
// d^1.5·2⁻²⁴; twice that is taken, for the rounding of U and of the norm.
func slack(d int) float64 { return 1 + 2*math.Pow(float64(d), 1.5)*0x1p-24 }

// ProjectionSensitivity returns the ℓ₂-sensitivity of X ↦ XU given U when one
// row is replaced by another at most diameter away: σ_max(U)·diameter. U is
// drawn without looking at the data, so conditioning on it is allowed and the
// bound has no failure probability. Rows must lie within diameter/2 of the
// origin (transport.Points.Within, OnSphere): far from it float32 could not tell
// neighbours apart as finely as the bound says.
//
// There is no bound, and Value is +Inf, which no plan takes, for directions that
// are not unit vectors and a diameter that is not positive and finite.
func ProjectionSensitivity(u Directions, diameter float64) privacy.Sensitivity {
	value := math.Inf(1)
	if u.Check(u.Dim) == nil && diameter > 0 {
		value = u.SpectralNorm() * diameter * slack(u.Dim)
	}
	return privacy.Sensitivity{
		Value:    value,
		Relation: privacy.ReplaceOne,
		Query:    "projections of every row",
		Source:   "σ_max(U)·‖x−x′‖, computed for these directions, with slack for float32",
	}
}

// PublishedBound returns w(k, δ′) of Lemma 1 of 003 (Rakotomamonjy & Ralaivola
// 2021): with probability at least 1−δ′ over k independent uniform directions of
// R^d, ‖(x−x′)U‖² ≤ w for a pair with ‖x−x′‖ ≤ 1. For k > 30 it is the
// central-limit form with z at 1−δ′/2, as the public code has it (003 Eq. 23,
// 000 Eq. 26), and below the Bernstein form of 000 Eq. 25 (where the public code
// has ln(1/δ′) in place of ln(2/δ′)).
//
// It is here to reproduce published noise. It is not a bound to promise: the
// central-limit form fails more often than δ′, and either form speaks of one
// pair and one draw, not of every release. It is NaN unless k and d are at least 1
// and δ′ lies in (0, 1).
func PublishedBound(k, d int, failure float64) float64 {
	if k <= 30 || !(failure > 0 && failure < 1) || d < 1 {
		return BernsteinBound(k, d, failure)
	}
	z := distuv.UnitNormal.Quantile(1 - failure/2)
	return float64(k)/float64(d) + z/float64(d)*math.Sqrt(2*float64(k)*float64(d-1)/float64(d+2))
}

// BernsteinBound returns w(k, δ′) of 000 Eq. 25, or NaN as PublishedBound does.
func BernsteinBound(k, d int, failure float64) float64 {
	if k < 1 || d < 1 || !(failure > 0 && failure < 1) {
		return math.NaN()
	}
	log := math.Log(2 / failure)
	kf, df := float64(k), float64(d)
	return kf/df + 2./3*log + 2/df*math.Sqrt(kf*(df-1)/(df+2)*log)
}
