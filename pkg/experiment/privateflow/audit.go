package privateflow

import (
	"errors"
	"fmt"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Auditable is an Estimator whose mechanism can be attacked.
type Auditable interface {
	Estimator
	// Game sets the estimator up for an attack on n records of dimension dim:
	// canaries on the unit sphere, as latents are.
	Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error)
}

// Game implements experiment.Auditable. The plan is made anew from the run's
// settings and must be the one that the run's statement tells of.
func (e Experiment) Game(r *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	auditable, ok := as[Auditable](e.Estimator)
	if !ok {
		return audit.Game{}, fmt.Errorf("the estimator %s does not offer its mechanism to audits", e.Describe().Name)
	}
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return audit.Game{}, err
	}
	_, dim, err := r.Table("particles.npy")
	if err != nil {
		return audit.Game{}, err
	}
	c, n, public := config.(*Config), drawn.Records, noise.Seeded(r.Spec.Seed)
	plan, _, err := e.Plan(c, n, dim, public)
	if err != nil {
		return audit.Game{}, err
	}
	if err := audit.Same(plan, statement); err != nil {
		return audit.Game{}, err
	}
	return auditable.Game(c, n, dim, plan, public)
}

// notTested is what no audit of a flow looks at.
var notTested = audit.NotTestedOfRelease("encoding, public split and cache: whether a latent depends on one private record only")

// canaries returns n unit records: the first ones ±along as their bits say, all
// others along.
func canaries(bits []bool, n int, along []float32) transport.Points {
	x := transport.NewPoints(n, len(along))
	for i := range n {
		row := x.Row(i)
		copy(row, along)
		if i < len(bits) && !bits[i] {
			for c := range row {
				row[c] = -row[c]
			}
		}
	}
	return x
}

// rows repeats the release of a step under its own key and returns it as the
// releaser gave it out, [Count][records of the step]: an attacker sees whole
// rows, while a target keeps each direction sorted. That the two are one release
// is checked against answered, the target's answer.
func rows(records transport.Points, u sliced.Directions, answered []transport.Quantile, release *privacy.Releaser, step int) ([][]float32, error) {
	drawn, err := release.Draw(step)
	if err != nil {
		return nil, err
	}
	table, err := sliced.Project(records.Subset(drawn).Within(latentDiameter/2), u)
	if err != nil {
		return nil, err
	}
	var values []float64
	for _, row := range table {
		for _, v := range row {
			values = append(values, float64(v))
		}
	}
	if err := release.Release(values, sliced.ProjectionSensitivity(u, latentDiameter), step); err != nil {
		return nil, err
	}
	for j, row := range table {
		for i := range row {
			row[i] = float32(values[j*len(row)+i])
		}
		sorted := slices.Clone(row)
		slices.Sort(sorted)
		if !slices.Equal(sorted, answered[j].Values) {
			return nil, errAnother
		}
	}
	return table, nil
}

var errAnother = errors.New("the target released something else than its plan, records and directions say; the audit does not know this mechanism")
