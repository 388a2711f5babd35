package flow

import "molehill/transport"

// Rest is the guide that pulls nowhere. With diffusion λ a flow that follows it is
// the heat flow ∂ρ/∂t = λΔ·ρ, which 000 Section 4.1 names as the limit of λ → ∞
// (Eq. 15, with time in units of 1/λ).
//
// The section's special cases are settings of Flow and Open:
//
//	pure SW₂ flow        λ = 0, σ = 0
//	entropic SW₂ flow    λ > 0, σ = 0
//	smoothed SW₂ flow    λ ≥ 0, σ > 0
//	heat flow            λ > 0 and Rest
//
// It also names σ → ∞ as a way to the heat flow, with the smoothed distance falling
// to 0. It does not, unless the two means agree: what shifts a law shifts every
// smoothed projection, so the distance stays above the means' distance over √d, and
// the flow keeps a drift towards the target's mean (see Isotropic).
type Rest struct{}

// Drift implements Guide: all zeros.
func (Rest) Drift(_ Flow, x transport.Points, _ int) ([]float32, error) {
	return make([]float32, len(x.Data)), nil
}
