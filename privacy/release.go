package privacy

import (
	"fmt"

	"molehill/privacy/noise"
)

// Releaser adds a plan's noise to queries. It is the only door through which a
// value computed from records leaves.
type Releaser struct {
	plan   Plan
	secret noise.Source
}

// Releaser returns the plan's releaser, drawing its noise from secret.
func (p Plan) Releaser(secret noise.Source) *Releaser { return &Releaser{p, secret} }

// Release replaces values by values plus noise, both rounded to the noise's
// public grid. It is for release step ∈ [0, Steps); asked again for a step with
// the same values it gives the same answer, so a computation that was
// interrupted can be continued without spending twice.
//
// It refuses, and leaves values as they are, what the plan does not cover: a
// step too many, another relation, a query more sensitive than planned, more
// coordinates than planned for. A plan without noise passes values through.
func (r *Releaser) Release(values []float64, s Sensitivity, step int) error {
	p := r.plan
	if !p.Budget.Private() && p.NoiseStd == 0 {
		return nil
	}
	switch {
	case step < 0 || step >= p.Steps:
		return fmt.Errorf("privacy: release %d of a plan for %d; the budget is spent, plan for more releases", step+1, p.Steps)
	case s.Relation != p.Sensitivity.Relation:
		return fmt.Errorf("privacy: a query under the relation %v in a plan under %v; state both under one relation", s.Relation, p.Sensitivity.Relation)
	case !(s.Value <= p.Sensitivity.Value):
		return fmt.Errorf("privacy: a query of sensitivity %v in a plan for %v; plan for the most sensitive query", s.Value, p.Sensitivity.Value)
	case len(values) > max(1, p.Coordinates):
		return fmt.Errorf("privacy: a release of %d numbers in a plan for %d; plan for the largest release", len(values), p.Coordinates)
	case !(p.NoiseStd > 0):
		return fmt.Errorf("privacy: the plan for ε = %v has no noise; complete it with Calibrate", p.Budget.Epsilon)
	}
	return r.secret.Release(values, values, p.NoiseStd, "release", step)
}
