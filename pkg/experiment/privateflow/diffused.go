package privateflow

import (
	"fmt"
	"math"
	"slices"

	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
)

// diffused is what the particles alone prove: the diffusion hides the releases
// further (docs/diffusion.md), if it is secret, as a run's is, and if no noisy
// projection is ever seen, as a run stores none. 003's Theorem 3 is about one
// particle and one step; this is about all particles at every step.
func diffused(c *Config, dim int, plan privacy.Plan, public noise.Source) (privacy.Claim, error) {
	worst := 0
	if plan.Each != nil {
		worst = slices.Index(plan.Each, slices.Max(plan.Each))
	}
	u, err := directions(c, public).Draw(dim, worst)
	if err != nil {
		return privacy.Claim{}, err
	}
	f := c.flow(plan)
	displacement, err := f.Displacement(c.Particles, c.Batch, u, latentDiameter)
	if err != nil {
		return privacy.Claim{}, err
	}
	std := math.Sqrt(2 * c.Diffusion * c.StepSize)
	const weights = 1e-9 // of the displacement: its weights are computed, and so are those of a step
	largest := latentDiameter/2*(1+1e-6) + noise.Farthest(plan.NoiseStd)
	rounding := f.Rounding(c.Particles, u, largest) + weights*displacement +
		noise.GridInflation(std, 0, c.Particles*dim) + displacement/plan.Sensitivity.Value*plan.Inflation()
	seen, err := accountant.DiffusedRelease{NoiseMultiplier: plan.NoiseMultiplier(), Displacement: displacement, NoiseStd: std, Rounding: rounding}.Gaussian()
	if err != nil {
		return privacy.Claim{}, err
	}
	event := accountant.SelfComposed{Count: plan.Steps, Event: plan.Sampler.Event(plan.Records, seen)}
	result, err := accountant.Tightest{}.Epsilon(event, plan.Sensitivity.Relation, c.Delta)
	return privacy.Claim{Label: privacy.AsProved, Accountant: result.Accountant, Epsilon: privacy.Epsilon(result.Epsilon), Sound: true,
		Note: "of the particles alone, with their diffusion (docs/diffusion.md): no noisy projection is ever seen"}, err
}

// theorem3 is what 003's Theorem 3 says of a mechanism that its paper accounts for by
// at, which returns the ε that is claimed at a δ: the diffusion of the last step turns
// (ε, δ₀) into (ε, δ) with δ₀ above δ, so that the ε of the larger δ₀ can be claimed.
// The reading is that of docs/diffusion.md, which has the reasons why it is no bound:
// the displacement of one particle between neighbours, at most h times their distance.
func theorem3(c *Config, at func(delta float64) (float64, error)) (privacy.Claim, error) {
	step := accountant.Diffusion{Displacement: latentDiameter * c.StepSize, NoiseStd: math.Sqrt(2 * c.Diffusion * c.StepSize)}
	amplified := func(delta float64) (epsilon, after float64, err error) {
		if epsilon, err = at(delta); err != nil {
			return 0, 0, err
		}
		after, err = step.Amplify(epsilon, delta)
		return epsilon, after, err
	}
	before, after, err := amplified(c.Delta)
	if err != nil {
		return privacy.Claim{}, err
	}
	claim := privacy.Claim{Label: c.theirs(), Accountant: "003 Theorem 3", Epsilon: privacy.Epsilon(before),
		Note: fmt.Sprintf("at ε = %.4g δ = %g falls to %.2g by the last step's diffusion; for one particle and neighbouring releases, which is no bound (docs/diffusion.md)", before, c.Delta, after)}
	// The larger δ₀, the larger what is left of it.
	low, high := math.Log(c.Delta), math.Log(0.5)
	for range 40 {
		middle := (low + high) / 2
		epsilon, after, err := amplified(math.Exp(middle))
		if err != nil {
			return claim, err
		}
		if after > c.Delta {
			high = middle
			continue
		}
		low, claim.Epsilon = middle, privacy.Epsilon(max(0, epsilon))
	}
	return claim, nil
}
