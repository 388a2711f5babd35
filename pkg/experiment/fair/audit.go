package fair

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"molehill/models/backend"
	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fair/xian"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
)

// Game implements experiment.Auditable: the worst neighbours of one group that are known,
// in place of people, through the first of the training's steps.
func (e Experiment) Game(_ *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	return config.(*Config).game(statement)
}

// Game implements experiment.Auditable: the training as Experiment does, followed by the
// histograms, in which the record that differs is predicted to be at one end or at the
// other.
func (p PostProcessed) Game(_ *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*PostConfig)
	g, err := c.game(statement)
	if err != nil {
		return g, err
	}
	training := g.Play
	g.Gaussian = false // there is Laplace noise, too
	g.Tested += "; then the histograms of predictions, which put that record into the first bin or into the last; the attacker knows the predictions of all others"
	g.Play = func(ctx context.Context, bits []bool, secret noise.Source) ([]float64, error) {
		scores, err := training(ctx, bits, secret)
		if err != nil {
			return nil, err
		}
		ratio, err := c.histogramRatio(bits[0], secret.Stream("histogram", 0))
		if err != nil {
			return nil, err
		}
		scores[0] += ratio
		return scores, nil
	}
	return g, nil
}

// histogramRatio releases the counts of a record whose prediction is at the end of the
// bins if last, else at their start, and returns the log-likelihood ratio of the two.
func (c *PostConfig) histogramRatio(last bool, secret *rand.Rand) (ratio float64, err error) {
	bins, epsilon := c.bins(), float64(c.HistogramEpsilon)
	at := []float64{bins.Low}
	if last {
		at[0] = bins.High
	}
	counts, err := xian.NoisyCounts(at, []int{0}, bins, epsilon, secret)
	if err != nil {
		return 0, err
	}
	for i, count := range counts[0] {
		switch i {
		case bins.Of(bins.Low):
			ratio += epsilon / 2 * (math.Abs(count-1) - math.Abs(count))
		case bins.Of(bins.High):
			ratio += epsilon / 2 * (math.Abs(count) - math.Abs(count-1))
		}
	}
	return ratio, nil
}

func (c *Config) game(statement privacy.Statement) (audit.Game, error) {
	on, err := backend.Open()
	if err != nil {
		return audit.Game{}, err
	}
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return audit.Game{}, err
	}
	taken := drawn.Taken()
	if len(taken) != len(groups(c.Criterion)) {
		return audit.Game{}, fmt.Errorf("its statement says %q of samples, which are not of %d groups; audit it with the version that made it", statement.Sampler, len(groups(c.Criterion)))
	}
	t := matching.Training{Clipping: c.clipping(), Outputs: c.kind.model(c, 1).Outputs, Steps: c.Steps}
	t.Query = c.query(taken, t.Outputs)
	if t.Sensitivity, err = t.Clipping.Sensitivity(t.Query); err != nil {
		return audit.Game{}, err
	}
	return t.Game(on, statement)
}

// Game implements experiment.Auditable: people who all earn little and have features far
// beyond what clipping leaves of their gradients, and one of them who earns much in the
// second world. Both are made into gradients before the first step.
func (s Saddle) Game(_ *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*SaddleConfig)
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return audit.Game{}, err
	}
	taken := drawn.Taken()
	if len(taken) != len(groups(Parity)) {
		return audit.Game{}, fmt.Errorf("its statement says %q of samples, which are not of two groups; audit it with the version that made it", statement.Sampler)
	}
	batch := taken[0] + taken[1]
	sensitivity, err := c.sensitivity(batch)
	if err != nil {
		return audit.Game{}, err
	}
	plan, rate, err := audit.Stated(statement, sensitivity, min(c.Steps, audit.Steps), 0)
	if err != nil {
		return audit.Game{}, err
	}
	people, rows := &Records{Dim: 1, Label: make([]int, batch), Group: make([]int, batch)}, make([]int, batch)
	for i := range batch {
		rows[i] = i
		people.X = append(people.X, float32(1e4*(1+c.LossLimit)))
		if i >= taken[0] {
			people.Group[i] = 1
		}
	}
	var worlds audit.Worlds
	for world := range worlds {
		people.Label = slices.Clone(people.Label)
		people.Label[0] = world
		worlds[world] = newDuel(c, people).gradient(rows)
	}
	share := worlds.Apart() / statement.Sensitivity.Value
	if share == 0 {
		return audit.Game{}, fmt.Errorf("with alpha = %v the first step follows the penalty alone, which no label moves, and no attack is known; audit a run with a smaller alpha", c.Alpha)
	}
	return audit.Sampled(plan, rate, worlds).Game(audit.Executions,
		fmt.Sprintf("a record of one of two labels, whose gradients before the first step are %.0f %% of the sensitivity apart, seen as if at each of the first %d steps; the attacker knows both gradients, and not which steps drew the record", 100*share, plan.Steps),
		audit.NotTested(plan.Steps, statement.Steps)...), nil
}
