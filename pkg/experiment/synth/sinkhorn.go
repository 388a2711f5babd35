package synth

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/dpsinkhorn"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
)

// bySinkhorn trains a generator of rows by DP-Sinkhorn (001, Algorithm 1): each step
// draws some records, and releases the gradient of a Sinkhorn loss by generated rows,
// clipped as a whole, with noise.
//
// Batches are of a fixed size and the promise is under replace-one, as that of the
// other methods, where 001 has Poisson samples and add/remove. It takes hardly more
// noise, shows no number of records, and a step is never without any.
type bySinkhorn struct {
	config *Config
	places *places
	made   *generator.Generator
}

func newBySinkhorn(c *Config, columns []table.Column) (*bySinkhorn, error) {
	p, err := newPlaces(columns)
	return &bySinkhorn{config: c, places: p}, err
}

const (
	defaultTraining = 20_000 // steps, where the settings do not say
	checkpointEvery = 20 * time.Second
	told            = 50 // times that a training tells of itself
	generatedAtOnce = 1024
	generatorFile   = "generator.npz"
	movedName       = "columns, moved since told last"
	lossName        = "loss"
)

// loss is the semi-debiased Sinkhorn loss of rows in their places (001 Eq. 6). The
// target is a column like the others there, and not a label.
func (m *bySinkhorn) loss() dpsinkhorn.Loss {
	return dpsinkhorn.Loss{Classes: 1, Entropy: m.config.Entropy, Debiasing: m.config.Debiasing, Iterations: 200, Tolerance: 1e-3}
}

// stepSensitivity is that of a step.
func (c *Config) stepSensitivity() (privacy.Sensitivity, error) {
	return dpsinkhorn.Whole.Sensitivity(c.Bound, c.Generated, privacy.ReplaceOne)
}

// plan plans as many steps as the settings say with the least noise that proves ε for
// them, or, with noise of their own, as many as the budget pays for.
func (m *bySinkhorn) plan(n int) (privacy.Plan, error) {
	c := m.config
	if c.Batch > n {
		return privacy.Plan{}, fmt.Errorf("batch is %d of %d rows; draw at most all of them", c.Batch, n)
	}
	if err := m.loss().CheckIterations(m.places.largest()); err != nil {
		return privacy.Plan{}, err
	}
	s, err := c.stepSensitivity()
	if err != nil {
		return privacy.Plan{}, err
	}
	plan := privacy.Plan{Sensitivity: s, Sampler: sampling.FixedSize{Size: c.Batch}, Records: n, Steps: c.Steps, Budget: c.budget(), Coordinates: c.Generated * m.places.dim}
	if plan.Steps == 0 {
		plan.Steps = defaultTraining
	}
	if c.Noise == 0 || !plan.Budget.Private() {
		return privacy.Calibrate(plan)
	}
	plan.NoiseStd = c.Noise * s.Value
	multiplier := plan.NoiseMultiplier()
	steps, err := accountant.CalibrateSteps(plan.Budget.Epsilon, plan.Budget.Delta, plan.Steps, func(steps int) accountant.Event {
		return accountant.SelfComposed{Count: steps, Event: plan.Sampler.Event(n, accountant.Gaussian{NoiseMultiplier: multiplier})}
	}, s.Relation, accountant.Tightest{})
	if err == nil && steps == 0 {
		err = fmt.Errorf("one step alone spends more than ε = %v at noise of %.3g times its sensitivity; take more noise, smaller batches, or noise=0 for the least that proves ε", c.Epsilon, multiplier)
	}
	plan.Steps = steps
	return plan, err
}

// learn trains the generator.
func (m *bySinkhorn) learn(ctx context.Context, r *run.Run, t *table.Table, release *privacy.Releaser, steps int) error {
	b, err := backend.Open()
	if err != nil {
		return err
	}
	if err := r.Describe(b.String(), m.config.Data); err != nil {
		return err
	}
	training, err := m.train(b, noise.Seeded(r.Spec.Seed), t, release, steps)
	if err != nil {
		return err
	}
	defer training.close()
	done, _, err := r.Restore(func(done int, from io.Reader) error { return m.made.Restore(from, done) })
	if err != nil {
		return err
	}
	if _, err := training.tell(); err != nil { // from here on
		return err
	}
	began, saved, first, every := time.Now(), time.Now(), done, run.Interval(checkpointEvery)
	for done < steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := training.step(done); err != nil {
			return fmt.Errorf("step %d: %w", done+1, err)
		}
		done++
		if done%max(1, steps/told) == 0 || done == steps {
			values, err := training.tell()
			if err != nil {
				return err
			}
			if err := r.Emit(run.Event{Step: done, Total: steps, Rate: float64(done-first) / time.Since(began).Seconds(), Values: values}); err != nil {
				return err
			}
		}
		if time.Since(saved) > every || done == steps {
			if err := r.Checkpoint(done, func(to io.Writer) error { return m.made.Save(to, done) }); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
	return r.WriteFile(generatorFile, func(to io.Writer) error { return m.made.Save(to, steps) })
}

// input draws the generator's noise for n rows.
func (m *bySinkhorn) input(n int, rng *rand.Rand) transport.Points {
	z := transport.NewPoints(n, m.config.Latent)
	for i := range z.Data {
		z.Data[i] = float32(rng.NormFloat64())
	}
	return z
}

// make draws rows: of each of them the generator makes probabilities, of which each
// column is drawn by itself.
func (m *bySinkhorn) make(ctx context.Context, r *run.Run, _, rows int) ([][]table.Code, error) {
	rng := noise.Seeded(r.Spec.Seed).Stream("rows", 0)
	codes, members := make([][]table.Code, len(m.places.corners)), make([][][]table.Code, len(m.places.corners))
	for j := range codes {
		codes[j], members[j] = make([]table.Code, rows), m.places.members(j)
	}
	outcomes := make([]int, len(codes))
	for first := 0; first < rows; first += generatedAtOnce {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		probabilities, err := m.made.Generate(m.input(min(generatedAtOnce, rows-first), rng))
		if err != nil {
			return nil, err
		}
		if err := probabilities.Check(); err != nil {
			return nil, fmt.Errorf("what the generator makes is no longer finite (%w); train with a smaller learning_rate than %v", err, m.config.LearningRate)
		}
		for i := range probabilities.Len() {
			m.places.draw(outcomes, probabilities.Row(i), rng)
			for j, k := range outcomes {
				codes[j][first+i] = members[j][k][rng.IntN(len(members[j][k]))]
			}
		}
	}
	return codes, nil
}

func (m *bySinkhorn) close() {
	if m.made != nil {
		m.made.Close()
	}
}
