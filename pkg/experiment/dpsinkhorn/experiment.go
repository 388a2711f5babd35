// Package dpsinkhorn holds DP-Sinkhorn (001, with 002 its appendix): a generator of labelled
// images that learns from private ones through the noisy gradient of a Sinkhorn loss
// (models/semidebiased) by its images; and other ways to train the same generators.
package dpsinkhorn

import (
	"context"
	"io"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/noise"
)

// Experiment trains a generator of labelled images in one of the ways that are
// registered.
type Experiment struct{ kind *kind }

func init() {
	for _, k := range kinds {
		experiment.Registry.Register(Experiment{k})
	}
}

// Describe implements plugin.Plugin.
func (e Experiment) Describe() plugin.Info { return e.kind.Info }

// Config implements experiment.Experiment.
func (e Experiment) Config(preset experiment.Preset) experiment.Config {
	return e.kind.settings(preset, "mnist")
}

// Run implements experiment.Experiment. It leaves the artefacts generator.npz (the
// network), samples.npy and .png ([classes·8, pixels], a row of each class), and the
// curve "sliced W₂" of rows as they are generated to held-out ones; where it protects
// nobody also "marginal error, non-private" of the plans.
func (e Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	if err := c.unchanged(ctx); err != nil {
		return result, err
	}
	rows, err := load(ctx, c, r.Say)
	if err != nil {
		return result, err
	}
	if err := r.ComputedOn(rows.Backend.String(), rows.Origin); err != nil {
		return result, err
	}
	if rows.latents != nil {
		if err := r.KeepSplit(rows.latents.Split); err != nil {
			return result, err
		}
	}
	t, err := newTraining(c, rows, noise.Seeded(r.Spec.Seed))
	if err != nil {
		return result, err
	}
	defer func() { t.generator.Close() }() // another one after a restart
	start, err := t.startBatch(ctx, r.Say)
	if err != nil {
		return result, err
	}
	plan, claims, open, err := e.kind.prepare(t)
	if err != nil {
		return result, err
	}
	pay, err := experiment.Promise{Data: c.Dataset, Plan: plan, Rows: rows.Private.Data, Labels: rows.Private.Labels, Published: claims, Beside: rows.NotCovered}.Later(ctx, r)
	if err != nil {
		return result, err
	}
	steps := c.Steps
	if plan.Sampler != nil { // every step is paid for
		steps = plan.Steps
	}
	private := stage{steps: steps, open: func() (guide, error) {
		paid, err := pay()
		if err != nil {
			return nil, err
		}
		return open(ctx, paid.Releaser, r.Say)
	}}
	if err := learn(ctx, r, t, t.startStage(start), private); err != nil {
		return result, err
	}
	paid, err := pay() // a run that had made all its steps leaves nothing before it has, either
	if err != nil {
		return result, err
	}
	if err := r.WriteFile(artefact, func(to io.Writer) error { return t.generator.Save(to, steps) }); err != nil {
		return result, err
	}
	if result, err = finish(ctx, r, t, steps); err != nil {
		return result, err
	}
	return result, paid.Commit(ctx)
}

// artefact is the network of a finished run.
const artefact = "generator.npz"
