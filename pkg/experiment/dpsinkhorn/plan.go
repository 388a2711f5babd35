package dpsinkhorn

import (
	"fmt"
	"math"
	"slices"

	"molehill/models/semidebiased"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/clip"
	"molehill/privacy/sampling"
)

// Plan is the promise of a training on noisy gradients, each releasing so many
// coordinates, and what the paper would claim for the same noise. A training with
// noise of its own (Config.Noise) is planned to end before the step that would
// spend more than the budget.
func (c *Config) Plan(records, coordinates int) (privacy.Plan, []privacy.Claim, error) {
	if c.Batch > records {
		return privacy.Plan{}, nil, fmt.Errorf("batch is %d of %d private records; draw at most all of them", c.Batch, records)
	}
	s, err := c.sensitivity()
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	rate := float64(c.Batch) / float64(records)
	plan := privacy.Plan{Sensitivity: s, Sampler: sampling.Poisson{Rate: rate}, Records: records, Steps: c.Steps, Budget: c.budget(), Coordinates: coordinates}
	if !plan.Budget.Private() {
		return plan, nil, nil
	}
	if c.Noise == 0 {
		plan, err = privacy.Calibrate(plan)
	} else {
		plan.NoiseStd = c.Noise * c.Bound
		if !c.Published {
			plan, err = plan.WithinBudget()
		}
	}
	if err != nil {
		return plan, nil, err
	}
	claims, err := c.claims(plan, rate)
	return plan, claims, err
}

func (c *Config) sensitivity() (privacy.Sensitivity, error) {
	if c.Perturbed == ByParameters {
		return clip.JointSensitivity(c.Bound, privacy.AddRemove)
	}
	return c.Clipping.Sensitivity(c.Bound, c.Generated, privacy.AddRemove)
}

// composed are steps with a noise multiplier on Poisson samples.
func composed(rate, multiplier float64, steps int) accountant.Event {
	return accountant.SelfComposed{Count: steps, Event: accountant.PoissonSampled{Rate: rate, Event: accountant.Gaussian{NoiseMultiplier: multiplier}}}
}

// printed are the trainings of which 001 (D.4) says that they are at ε = 10. For faces it
// prints a rate of 0.00038, where 50 of CelebA's 162,770 images are 0.00031: what it
// claims is said of either.
var printed = []struct {
	noise, delta float64
	steps        int
	rates        []float64
}{{1.5, 1e-5, 160_000, []float64{1. / 1200}}, {1.9, 1e-5, 280_000, []float64{1. / 1200}}, {1.9, 1e-6, 1_700_000, []float64{0.00038, 50. / 162_770}}}

// claims are what 001 says of a plan's noise: it takes 2Δ for the sensitivity,
// image by image or not, and Rényi divergences.
func (c *Config) claims(plan privacy.Plan, rate float64) (claims []privacy.Claim, err error) {
	for _, p := range printed {
		if math.Abs(plan.NoiseStd-p.noise*c.Bound) < 1e-9*c.Bound && p.steps == plan.Steps && p.delta == c.Delta &&
			slices.ContainsFunc(p.rates, func(q float64) bool { return math.Abs(rate-q) < 0.02*q }) {
			claims = append(claims, privacy.Claim{Label: privacy.AsPublished, Accountant: "001 D.4", Epsilon: 10, Note: fmt.Sprintf("for σ = %g over %d steps, q = %.2g", p.noise, p.steps, p.rates[0])})
		}
	}
	rdp := accountant.RDP{}
	result, err := rdp.Epsilon(composed(rate, plan.NoiseStd/(2*c.Bound), plan.Steps), privacy.AddRemove, c.Delta)
	if err != nil {
		return nil, err
	}
	note := "noise in units of 2Δ, as the public code accounts for it"
	if c.Clipping == semidebiased.PerImage && c.Perturbed == ByImages {
		note = fmt.Sprintf("noise in units of 2Δ, which bounds one image's gradient; that of all %d moves by up to 2Δ·√%[1]d", c.Generated)
	}
	return append(claims, privacy.Claim{Label: privacy.PapersWay, Accountant: rdp.Name(), Epsilon: privacy.Epsilon(result.Epsilon), Note: note}), nil
}
