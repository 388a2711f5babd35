package circle

import (
	"slices"

	"molehill/models/backend"
	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Game implements experiment.Auditable: of noisy gradients the worst neighbours that are
// known, on the side that ε is proved for, through the first steps; of noisy projections a
// point that is replaced by its antipode.
func (e Experiment) Game(r *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	return config.(*Config).kind.game(config.(*Config), r.Spec.Seed, statement)
}

func gradientsGame(c *Config, _ uint64, statement privacy.Statement) (audit.Game, error) {
	on, err := backend.Open()
	if err != nil {
		return audit.Game{}, err
	}
	t := matching.Training{Clipping: c.clipping(), Outputs: 2, Steps: c.Steps, Points: c.protected() == ofZ,
		Query: matching.Query{Records: c.Batch, Alpha: 1, Pairs: []sliced.Sizes{{A: c.Batch, B: c.Batch, Fixed: true}}}}
	if t.Sensitivity, err = c.sensitivity(c.protected()); err != nil {
		return audit.Game{}, err
	}
	return t.Game(on, statement)
}

func projectionsGame(c *Config, seed uint64, statement privacy.Statement) (audit.Game, error) {
	directions := c.fixed(noise.Seeded(seed))
	plan, rate, err := audit.Stated(statement, sliced.ProjectionSensitivity(directions, 2*c.Limit), 1, 0)
	if err != nil {
		return audit.Game{}, err
	}
	along, err := directions.MostStretched()
	if err != nil {
		return audit.Game{}, err
	}
	var worlds audit.Worlds // rows have noise of their own: one of them is the game
	for world := range worlds {
		point := transport.Points{Dim: 2, Data: slices.Clone(along)}
		for i := range point.Data {
			point.Data[i] *= float32(1-2*world) * 2 * float32(c.Limit)
		}
		table, err := sliced.Project(point.Within(c.Limit), directions)
		if err != nil {
			return audit.Game{}, err
		}
		for _, line := range table {
			worlds[world] = append(worlds[world], float64(line[0]))
		}
	}
	return audit.Sampled(plan, rate, worlds).Game(audit.Executions,
		"a point of Z at the limit of the norm, along the direction that the projections stretch most, or at the antipode, seen through the noisy projections of its row; the attacker knows the directions, and not whether the release drew the point",
		append([]string{"the sample X, of which nothing is claimed", "the other rows, which have noise of their own"}, audit.NotTested(plan.Steps, statement.Steps)...)...), nil
}
