package dpsinkhorn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

const (
	auditedSteps = 500 // of a training, at most
	auditedRuns  = 2000
)

// Game implements experiment.Auditable for trainings on noisy gradients: the worst
// loss that couples records, whose gradient one of them turns round. The attacker
// sees the first steps' releases.
func (e Experiment) Game(_ *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*Config)
	plan, rate, err := c.promised(statement)
	if err != nil {
		return audit.Game{}, err
	}
	size := c.Generated // a number of each row: more would be the same game, slower
	along := 1 / math.Sqrt(float64(size))
	far := plan.Sensitivity.Value / 2
	return audit.Game{
		Relation: privacy.AddRemove, Canaries: 1, Bits: 1, Executions: auditedRuns,
		Tested: fmt.Sprintf("a record that turns the gradient of every step that draws it round, in the data or not, seen through the releases of the first %d steps; the attacker knows both gradients, and not which steps drew the record", plan.Steps),
		NotTested: []string{
			"the Sinkhorn loss itself: no record of it turns a gradient round as the worst one does",
			"the records themselves, and the run's own noise, whose key is erased",
			fmt.Sprintf("steps after the first %d", plan.Steps),
			"timing, memory, and what else a machine gives away",
		},
		Play: func(ctx context.Context, bits []bool, secret noise.Source) ([]float64, error) {
			release := plan.Releaser(secret)
			var score float64
			for step := range plan.Steps {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				drawn, err := release.Draw(step)
				if err != nil {
					return nil, err
				}
				gradient := make([]float32, size)
				toward := -1e3 * along // far beyond what is clipped
				if bits[0] && slices.Contains(drawn, 0) {
					toward = -toward
				}
				for i := range gradient {
					gradient[i] = float32(toward)
				}
				if c.Perturbed == ByParameters {
					err = (&byParameters{byImages{config: c, release: release}}).sanitise(step, gradient)
				} else {
					err = c.Clipping.Sanitise(gradient, c.Generated, 1, c.Bound, release, step)
				}
				if err != nil {
					return nil, err
				}
				var seen float64
				for _, v := range gradient {
					seen += float64(v) * along
				}
				score += math.Log1p(rate * math.Expm1(2*far*seen/(plan.NoiseStd*plan.NoiseStd)))
			}
			return []float64{score}, nil
		},
	}, nil
}

// promised is the plan of a statement, of the steps that are audited.
func (c *Config) promised(statement privacy.Statement) (plan privacy.Plan, rate float64, err error) {
	var n int
	if _, err := fmt.Sscanf(statement.Sampler[max(0, strings.LastIndex(statement.Sampler, " of ")):], " of %d records", &n); err != nil || !strings.HasPrefix(statement.Sampler, "Poisson") {
		return plan, 0, fmt.Errorf("its statement says %q of samples; only trainings on Poisson batches offer their mechanism to audits, and what follows one release does at the experiment that made it", statement.Sampler)
	}
	s, err := c.sensitivity()
	if err != nil {
		return plan, 0, err
	}
	if s != statement.Sensitivity {
		return plan, 0, fmt.Errorf("its statement has the sensitivity %+v, its settings %+v; audit it with the version that made it", statement.Sensitivity, s)
	}
	rate = float64(c.Batch) / float64(n)
	plan = privacy.Plan{Sensitivity: s, Sampler: sampling.Poisson{Rate: rate}, Records: n, Steps: min(statement.Steps, auditedSteps),
		Budget: c.budget(), NoiseStd: statement.NoiseStd, Coordinates: c.Generated}
	return plan, rate, nil
}
