package swae

import (
	"context"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/noise"
)

// Experiment trains the autoencoder and measures what it is good for.
type Experiment struct{}

func init() { experiment.Registry.Register(Experiment{}) }

// Describe implements plugin.Plugin.
func (Experiment) Describe() plugin.Info {
	return plugin.Info{Name: "dp-swae", Version: "3", Source: "004 Sections 6 and B",
		Summary: "private autoencoder whose codes look like a prior: noisy gradients of a reconstruction loss and a sliced Wasserstein distance, clipped inside"}
}

// Config implements experiment.Experiment.
func (Experiment) Config(preset experiment.Preset) experiment.Config {
	c := config(preset)
	c.preset = preset
	return &c
}

// Names of artefacts: networks of a finished run.
const (
	autoencoderFile = "autoencoder.npz"
	labelsFile      = "labels.npz"
	lawFile         = "law.json" // means of harmonics of codes
)

// Run implements experiment.Experiment. It leaves the networks, autoencoder.npz and,
// without supervision, labels.npz; where codes lie, if there is no prior, law.json; what
// they make of held-out images and of points to generate from (picture); and the curves
// "reconstruction loss", in nats a pixel, and, with a prior, "sliced W₂" between codes and
// prior, of held-out images.
func (e Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	now, err := c.digest(ctx)
	if err == nil {
		err = experiment.Unchanged(c.Dataset, c.Inputs, now)
	}
	if err != nil {
		return result, err
	}
	d, err := load(ctx, c, r.Say)
	if err != nil {
		return result, err
	}
	if err := r.ComputedOn(d.backend.String(), d.private.Origin); err != nil {
		return result, err
	}
	t, err := newTraining(c, d, noise.Seeded(r.Spec.Seed))
	if err != nil {
		return result, err
	}
	defer t.close()
	if c.Release != "" {
		return t.again(ctx, r)
	}
	plan, claims, err := c.plan(d.private.Len(), t.coordinates())
	if err != nil {
		return result, err
	}
	if err := t.prepare(plan); err != nil {
		return result, err
	}
	pay, err := experiment.Promise{Data: c.Dataset, Plan: plan, Rows: d.private.X, Labels: d.private.Labels, Published: claims, Beside: d.notCovered}.Later(ctx, r)
	if err != nil {
		return result, err
	}
	if err := t.run(ctx, r, pay); err != nil {
		return result, err
	}
	paid, err := pay() // what a run that had made all those steps has paid
	if err != nil {
		return result, err
	}
	after := func(steps int) func(done int) error {
		return func(done int) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.Emit(run.Event{Step: steps + done, Total: c.StartSteps + c.Steps + c.Labels + c.Law})
		}
	}
	// The classifier has no checkpoint: going on, it makes the same few steps again,
	// by the same releases.
	if t.labels != nil {
		if err := t.labels.learn(t, paid.Releaser, after(c.StartSteps+c.Steps)); err != nil {
			return result, err
		}
	}
	if t.law != nil {
		if err := t.law.learn(t, paid.Releaser, after(c.StartSteps+c.Steps+c.Labels)); err != nil {
			return result, err
		}
	}
	if err := t.save(r); err != nil {
		return result, err
	}
	if result, err = finish(ctx, r, t, plan.NoiseStd); err != nil {
		return result, err
	}
	return result, paid.Commit(ctx)
}
