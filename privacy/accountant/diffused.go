package accountant

import (
	"fmt"
	"math"
)

// DiffusedRelease is a Gaussian release that nobody sees. What is seen is f of
// it plus Gaussian noise of its own, such as the particles of a flow after one
// step x ↦ x + h·v̂ + √(2λh)·Z (003 Eqs. 18 and 24). It is a Gaussian release of
// more noise: the two noises add up.
//
// Diffusion, beside it, needs to know how far apart any two releases can send
// the particles, and releases with Gaussian noise have no bound. Here it is
// enough to know how far one record sends them.
type DiffusedRelease struct {
	// NoiseMultiplier is σ, the release's noise in units of its sensitivity.
	// Above 0.
	NoiseMultiplier float64
	// Displacement is how far one record sends what is seen: ‖f(r) − f(r + t·w)‖₂ ≤
	// t·Displacement for every release r, every way w from a data set's value to a
	// neighbour's, and t in [0, 1], as with a Lipschitz constant times the
	// sensitivity. It speaks of all that is seen together: of all particles in one
	// vector, not of one of them; and if one release serves K steps that are all
	// seen, it is √K times that of a step. Above 0.
	Displacement float64
	// NoiseStd is the standard deviation of the noise on each coordinate of what is
	// seen, √(2λh), at least 0. It must be as secret as the release's.
	NoiseStd float64
	// Rounding is by how much more what is seen may move, whatever t is: what single
	// precision, or a grid, adds to f(r) − f(r + t·w). At least 0.
	Rounding float64
}

// Gaussian returns the event of what is seen: noise multiplier
// √(σ² + (NoiseStd/Displacement)²), divided by 1 + Rounding/Displacement and no less
// than σ. It may be sampled and composed like any other. The release itself must not
// be seen, nor anything else made of it.
//
// Proof. Let neighbours differ by w and share out its way, aw to the release's
// noise and (1−a)w to the diffusion. With r ~ N(y, σ²) and r′ ~ N(y+w, σ²)
// compare (r, f(r) + Z) with (r′ − (1−a)w, f(r′) + Z′). The first parts are
// Gaussians aw apart; given that they are both r, the second parts are Gaussians
// f(r) and f(r + (1−a)w), at most (1−a)·Displacement apart. Two Gaussian
// mechanisms compose to one with (1/σ′)² = (a/σ)² + ((1−a)·Displacement/NoiseStd)²
// (Dong, Roth & Su 2022, Corollary 3.3), and what is seen is their second part.
// The best a gives σ′² = σ² + (NoiseStd/Displacement)². With rounding the second
// parts are (1−a)·Displacement + Rounding apart, which for a = c·a′ and c = 1 +
// Rounding/Displacement is c·(1−a′)·Displacement: the same with c/σ′ in place of 1/σ′.
// At a = 1 nothing is left to round, as f is of the same release. The shift that is shared
// out is that of Feldman et al. 2018, in the form of Bok, Su & Altschuler 2024.
// It is attained where f is linear.
func (d DiffusedRelease) Gaussian() (Gaussian, error) {
	if err := Validate(Gaussian{d.NoiseMultiplier}); err != nil {
		return Gaussian{}, err
	}
	if !(d.Displacement > 0 && d.Displacement <= math.MaxFloat64) {
		return Gaussian{}, fmt.Errorf("accountant: one record moves what is seen by up to %v; want a finite bound greater than 0", d.Displacement)
	}
	if !(d.NoiseStd >= 0 && d.NoiseStd <= math.MaxFloat64) {
		return Gaussian{}, fmt.Errorf("accountant: diffusion with noise of standard deviation %v; want √(2λh), finite and at least 0", d.NoiseStd)
	}
	if !(d.Rounding >= 0 && d.Rounding <= math.MaxFloat64) {
		return Gaussian{}, fmt.Errorf("accountant: rounding moves what is seen by up to %v; want a finite bound of at least 0", d.Rounding)
	}
	sum := math.Hypot(d.NoiseMultiplier, d.NoiseStd/d.Displacement) / (1 + d.Rounding/d.Displacement)
	return Gaussian{max(d.NoiseMultiplier, min(math.Nextafter(sum, 0), math.MaxFloat64))}, nil
}
