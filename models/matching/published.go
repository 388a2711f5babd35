package matching

import (
	"fmt"

	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/sampling"
)

// Published is what 004 says of the first steps of a plan, by its own sensitivity and the
// central limit of Section 5.3.
type Published struct {
	Plan        privacy.Plan
	Steps       int
	Sensitivity privacy.Sensitivity // Query.AsPublished
}

func (p Published) event(multiplier float64) accountant.Event {
	var sampler sampling.Sampler = sampling.All{}
	if p.Plan.Sampler != nil {
		sampler = p.Plan.Sampler
	}
	return accountant.SelfComposed{Count: p.Steps, Event: sampler.Event(p.Plan.Records, accountant.Gaussian{NoiseMultiplier: multiplier})}
}

// NoiseStd is the noise that 004 takes for the plan's budget.
func (p Published) NoiseStd() (float64, error) {
	b := p.Plan.Budget
	multiplier, err := accountant.CalibrateNoise(b.Epsilon, b.Delta, p.event, p.Plan.Sensitivity.Relation, accountant.GDP{})
	return multiplier * p.Sensitivity.Value, err
}

// Claim is what 004 claims for the plan's noise; note says more of it.
func (p Published) Claim(note string) (privacy.Claim, error) {
	limit, err := accountant.GDP{}.Epsilon(p.event(p.Plan.NoiseStd/p.Sensitivity.Value), p.Plan.Sensitivity.Relation, p.Plan.Budget.Delta)
	return privacy.Claim{Label: privacy.AsPublished, Accountant: limit.Accountant, Epsilon: privacy.Epsilon(limit.Epsilon),
		Note: fmt.Sprintf("004 Section 5.3: a limit for many small steps, no bound; for its sensitivity %.4g%s", p.Sensitivity.Value, note)}, err
}
