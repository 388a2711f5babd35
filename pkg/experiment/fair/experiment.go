package fair

import (
	"context"
	"fmt"
	"io"
	"slices"

	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/noise"
)

// Experiment trains a fair model for one of the tasks.
type Experiment struct{ kind *kind }

// Describe implements plugin.Plugin.
func (e Experiment) Describe() plugin.Info { return e.kind.Info }

// Config implements experiment.Experiment.
func (e Experiment) Config(preset experiment.Preset) experiment.Config {
	c := e.kind.config(preset)
	c.kind = e.kind
	return &c
}

// Names of artefacts of a finished run.
const (
	network     = "model.npz"
	Predictions = "predictions.npy"
)

// Run implements experiment.Experiment. It leaves the artefacts model.npz and
// predictions.npy, what φ makes of the records for testing, with their A and Y
// beside it, [held, d+2]; and of public records the curves "loss" (004 Eq. 8 or 9),
// "task loss" and "distance" of the batches.
func (e Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	needed := groups(Parity)
	if e.kind.labels {
		needed = groups(Odds)
	}
	t, test, err := c.begin(r, needed)
	if err != nil {
		return result, err
	}
	defer t.learner.Close()
	paid, err := t.pay(ctx, r, t.promised())
	if err != nil {
		return result, err
	}
	source, err := dataset.Registry.Lookup(c.Dataset)
	if err != nil {
		return result, err
	}
	if err := t.learn(ctx, r, source.Public()); err != nil {
		return result, err
	}
	if err := r.WriteFile(network, func(to io.Writer) error { return t.save(to, c.Steps) }); err != nil {
		return result, err
	}
	if result, err = t.finish(r, test); err != nil {
		return result, err
	}
	return result, paid.Commit(ctx)
}

// begin returns the training of a run before its first step, and the records for
// testing, which have people of the groups.
func (c *Config) begin(r *run.Run, tested []group) (t *training, test *Records, err error) {
	train, test, err := sources[c.Dataset](c)
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := test.categories(tested); err != nil {
		return nil, nil, fmt.Errorf("records for testing: %w", err)
	}
	on, err := backend.Open()
	if err != nil {
		return nil, nil, err
	}
	if err := r.ComputedOn(on.String(), train.Origin); err != nil {
		return nil, nil, err
	}
	key, err := r.Key()
	if err != nil {
		return nil, nil, err
	}
	t, err = newTraining(c, on, train, noise.Keyed(key, r.Spec.Research), noise.Seeded(r.Spec.Seed))
	return t, test, err
}

// promised is what a training promises about the records that it learns from.
func (t *training) promised() experiment.Promise {
	return experiment.Promise{Data: t.config.Dataset, Plan: t.Plan, Published: t.claims, NotCovered: t.notCovered,
		Rows: slices.Concat(t.records.X, t.target), Labels: slices.Concat(t.records.Group, t.records.Label)}
}

// pay pays for a promise, after which the training can release.
func (t *training) pay(ctx context.Context, r *run.Run, p experiment.Promise) (experiment.Paid, error) {
	paid, err := p.Make(ctx, r)
	t.release = paid.Releaser
	return paid, err
}

// learn makes the steps from the last checkpoint on, and tells of losses if it may.
func (t *training) learn(ctx context.Context, r *run.Run, tell bool) error {
	done, _, err := r.Restore(func(done int, from io.Reader) error { return t.restore(from, done) })
	if err != nil {
		return err
	}
	return run.Loop{Total: t.config.Steps, Save: t.save, Step: func(done int) (run.Values, error) {
		g, err := t.step(done)
		if err != nil || !tell {
			return nil, err
		}
		alpha := t.config.Alpha
		values := run.Values{"loss": (1-alpha)*g.Loss + alpha*g.Distance, "task loss": g.Loss}
		if alpha > 0 { // else nobody has computed it
			values["distance"] = g.Distance
		}
		return values, nil
	}}.Run(ctx, r, done)
}
