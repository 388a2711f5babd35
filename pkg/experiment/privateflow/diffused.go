package privateflow

import (
	"math"
	"slices"

	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/transport/flow"
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
	f := flow.Flow{StepSize: c.StepSize, Diffusion: c.Diffusion, NoisyEvaluation: c.NoisyEvaluation}
	if c.SmoothParticles {
		f.Smoothing = plan.NoiseStd
	}
	displacement, err := f.Displacement(c.Particles, c.Batch, u, latentDiameter)
	if err != nil {
		return privacy.Claim{}, err
	}
	// What rounding to the grids of both noises can move besides.
	std := math.Sqrt(2 * c.Diffusion * c.StepSize)
	displacement += noise.GridInflation(std, c.Particles*dim) +
		displacement/plan.Sensitivity.Value*noise.GridInflation(plan.NoiseStd, plan.Coordinates)
	seen, err := accountant.DiffusedRelease{NoiseMultiplier: plan.NoiseMultiplier(), Displacement: displacement, NoiseStd: std}.Gaussian()
	if err != nil {
		return privacy.Claim{}, err
	}
	event := accountant.SelfComposed{Count: plan.Steps, Event: plan.Sampler.Event(plan.Records, seen)}
	result, err := accountant.Tightest{}.Epsilon(event, plan.Sensitivity.Relation, c.Delta)
	return privacy.Claim{Label: "as proved", Accountant: result.Accountant, Epsilon: privacy.Epsilon(result.Epsilon), Sound: true,
		Note: "of the particles alone, with their diffusion (docs/diffusion.md): no noisy projection is ever seen"}, err
}
