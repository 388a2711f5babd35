package accountant

import (
	"fmt"
	"math"
)

// Diffusion is a post-processing step that adds Gaussian noise of its own to a
// function of what was released, such as a flow's x ↦ x + h·drift(x) + √(2λh)·Z
// (003, Eq. 20 and 24). It forgets some of what it is given, and the δ of a
// claim shrinks.
type Diffusion struct {
	// Displacement bounds, in ℓ₂, how far apart two values of the function can
	// be, over everything that may have been released: a bound of the drift for
	// all particles together, not an estimate. At least 0.
	Displacement float64
	// NoiseStd is the standard deviation of the noise on each coordinate:
	// √(2λh). Above 0: without diffusion nothing is amplified.
	NoiseStd float64
}

// Amplify returns the δ′ ≤ delta with which the result is (epsilon, δ′)-private
// if what went in is (epsilon, delta)-private: 003, Theorem 3, after Balle,
// Barthe, Gaboardi & Geumlek, "Privacy Amplification by Mixing and Diffusion
// Mechanisms" (2019), Theorem 1.
//
// Let M and M′ be the laws of what goes in. Of M, a part of mass δ lies above
// e^ε·M′, and of e^ε·M′ a part of mass e^ε − 1 + δ above M; the rest is common.
// So a Markov operator K makes of H_{e^ε}(M‖M′) = δ at most
//
//	δ·sup H_γ(K(x)‖K(x′)), γ = 1 + (e^ε−1)/δ,
//
// over all x and x′ (H is jointly convex): δ times the profile of a Gaussian at
// log γ, of noise multiplier NoiseStd/Displacement. It holds for the last step
// of a flow, whose particles are seen afterwards only.
func (d Diffusion) Amplify(epsilon, delta float64) (float64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	if !(d.NoiseStd > 0 && d.NoiseStd <= math.MaxFloat64) {
		return 0, fmt.Errorf("accountant: diffusion with noise of standard deviation %v; the theorem needs some, λ > 0 and h > 0 in √(2λh)", d.NoiseStd)
	}
	if !(d.Displacement >= 0 && d.Displacement <= math.MaxFloat64) {
		return 0, fmt.Errorf("accountant: diffusion from points up to %v apart; the theorem needs a bounded drift, finite and at least 0", d.Displacement)
	}
	if d.Displacement == 0 {
		return 0, nil // the result is the same whatever went in
	}
	// log(1 + (e^ε−1)/δ)
	inside := insideSample(epsilon, delta)
	sigma := clampSigma(d.NoiseStd / d.Displacement)
	return delta * math.Exp(min(0, logGaussianDelta(sigma, inside)+roundOff)), nil
}
