package synth

import (
	"context"
	"fmt"
	"math"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/dpsinkhorn"
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

// Game implements experiment.Auditable for DP-Sinkhorn: the worst loss that couples
// records, whose gradient one of them turns round. The attacker sees the first steps'
// releases.
func (Experiment) Game(_ *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*Config)
	if c.Method != Sinkhorn {
		return audit.Game{}, fmt.Errorf("its method is %s, of which only a single release of Gaussian noise could be audited; the method that offers its steps is %s", c.Method, Sinkhorn)
	}
	plan, err := c.promised(statement)
	if err != nil {
		return audit.Game{}, err
	}
	size := c.Generated // a number of each row: more would be the same game, slower
	rate, far := float64(c.Batch)/float64(plan.Records), plan.Sensitivity.Value/2
	along := 1 / math.Sqrt(float64(size))
	return audit.Game{
		Relation: privacy.ReplaceOne, Canaries: 1, Bits: 1, Executions: auditedRuns,
		Tested: fmt.Sprintf("one of two records, of which the second turns the gradient of every step that draws it round, seen through the releases of the first %d steps; the attacker knows both gradients, and not which steps drew the record", plan.Steps),
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
				toward := -1e3 * along // far beyond what is clipped
				if bits[0] && slices.Contains(drawn, 0) {
					toward = -toward
				}
				gradient := make([]float32, size)
				for i := range gradient {
					gradient[i] = float32(toward)
				}
				if err := dpsinkhorn.Whole.Sanitise(gradient, size, 1, c.Bound, release, step); err != nil {
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
func (c *Config) promised(statement privacy.Statement) (plan privacy.Plan, err error) {
	var batch, n int
	if _, err := fmt.Sscanf(statement.Sampler, "FixedSize(%d) of %d records", &batch, &n); err != nil || batch != c.Batch {
		return plan, fmt.Errorf("its statement says %q of samples, its settings batches of %d; audit it with the version that made it", statement.Sampler, c.Batch)
	}
	s, err := c.stepSensitivity()
	if err != nil {
		return plan, err
	}
	if s != statement.Sensitivity {
		return plan, fmt.Errorf("its statement has the sensitivity %+v, its settings %+v; audit it with the version that made it", statement.Sensitivity, s)
	}
	return privacy.Plan{Sensitivity: s, Sampler: sampling.FixedSize{Size: batch}, Records: n, Steps: min(statement.Steps, auditedSteps),
		Budget: c.budget(), NoiseStd: statement.NoiseStd, Coordinates: c.Generated}, nil
}
