package dpsinkhorn

import (
	"fmt"
	"math"
	"slices"

	"molehill/models/semidebiased"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/sampling"
)

// Game implements experiment.Auditable for trainings on noisy gradients: the worst
// loss that couples records, whose gradient one of them turns round. The attacker
// sees the first steps' releases. Of kinds that look at records once it is their release.
func (e Experiment) Game(r *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*Config)
	if e.kind != nil && e.kind.game != nil {
		of, err := domainOf(r, c, statement)
		if err != nil {
			return audit.Game{}, err
		}
		return e.kind.game(c, of, statement)
	}
	plan, rate, err := c.promised(statement)
	if err != nil {
		return audit.Game{}, err
	}
	size := c.Generated // a number of each row: more would be the same game, slower
	var worlds audit.Worlds
	for world := range worlds {
		for range size {
			worlds[world] = append(worlds[world], float64(2*world-1)*plan.Sensitivity.Value/2/math.Sqrt(float64(size)))
		}
	}
	n := audit.Neighbours{Plan: plan, Rate: rate, Worlds: []audit.Worlds{worlds},
		Release: func(world int, release *privacy.Releaser, step int) ([]float64, error) {
			drawn, err := release.Draw(step)
			if err != nil {
				return nil, err
			}
			gradient := semidebiased.Turned(size, world == 1 && slices.Contains(drawn, 0))
			if c.Perturbed == ByParameters {
				err = (&byParameters{byImages{config: c, release: release}}).sanitise(step, gradient)
			} else {
				err = c.Clipping.Sanitise(gradient, c.Generated, 1, c.Bound, release, step)
			}
			released := make([]float64, size)
			for i, v := range gradient {
				released[i] = float64(v)
			}
			return released, err
		}}
	return n.Game(audit.Executions,
		fmt.Sprintf("a record that turns the gradient of every step that draws it round, in the data or not, seen through the releases of the first %d steps; the attacker knows both gradients, and not which steps drew the record", plan.Steps),
		semidebiased.NotAudited(plan.Steps, statement.Steps)...), nil
}

// promised is the plan of a statement, of the steps that are audited.
func (c *Config) promised(statement privacy.Statement) (plan privacy.Plan, rate float64, err error) {
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return plan, 0, err
	}
	if drawn.Kind != sampling.KindPoisson {
		return plan, 0, fmt.Errorf("its statement says %q of samples; only trainings on Poisson batches offer their mechanism to audits, and what follows one release does at the experiment that made it", statement.Sampler)
	}
	s, err := c.sensitivity()
	if err != nil {
		return plan, 0, err
	}
	plan, rate, err = audit.Stated(statement, s, semidebiased.AuditedSteps, 0)
	if err == nil && rate != float64(c.Batch)/float64(plan.Records) {
		err = fmt.Errorf("its statement says %q of samples, its settings batches of %d; audit it with the version that made it", statement.Sampler, c.Batch)
	}
	plan.Coordinates = c.Generated
	return plan, rate, err
}
