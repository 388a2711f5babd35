package images

import (
	"context"
	"errors"
	"fmt"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/noise"
)

// Name is the experiment's.
const Name = "synth-images"

// Experiment implements experiment.Experiment.
type Experiment struct{}

// Describe implements plugin.Plugin.
func (Experiment) Describe() plugin.Info {
	return plugin.Info{Name: Name, Version: "5", Source: "Molehill: docs/own-data.md",
		Summary: "synthetic images of a folder of your own, with a privacy report; `molehill synth` runs it"}
}

// Config implements experiment.Experiment.
func (Experiment) Config(experiment.Preset) experiment.Config { return settings() }

// Artefacts of a run, beside those of all kinds of data.
const (
	SheetFile  = "sheet.png"
	pointsFile = "points.npy"
	labelsFile = "labels.npy"
)

// Run implements experiment.Experiment. It leaves the artefacts of synth.Run; generator.npz
// (what noisy gradients have trained), with the curve "points, moved since told last";
// points.npy and labels.npy (the synthetic images as points of the code), synthetic.zip, and
// sheet.png (some of each class).
func (Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (run.Result, error) {
	c := config.(*Config)
	k, err := c.open(ctx)
	if err != nil {
		return run.Result{}, c.Unnamed(err)
	}
	return synth.Run(ctx, r, &c.Terms, k, c.Images)
}

// known is what is public of a run before its release (synth.Kind).
type known struct {
	config *Config
	schema *pictures.Schema
	code   code
}

// open reads the schema, after it has seen that the images are those that were asked for.
func (c *Config) open(ctx context.Context) (known, error) {
	schema, err := data.Open(ctx, &c.Terms)
	if err != nil {
		return known{}, err
	}
	with, err := c.code(schema)
	return known{c, schema, with}, err
}

func (k known) Name() string { return k.schema.Name }

// Read reads and encodes the images. Their keeper is told by Diagnose what disagrees.
func (k known) Read(ctx context.Context, r *run.Run) (encoded, error) {
	source, err := pictures.Open(k.config.Data, k.schema)
	if err != nil {
		return encoded{}, err
	}
	r.Say(run.Event{Message: "reading the images"})
	private, err := encode(ctx, source, k.schema, k.code, source.Len(), func(done, all int) { r.Say(run.Event{Message: fmt.Sprintf("%d of %d images read", done, all)}) })
	return private, errors.Join(err, source.Close())
}

func (k known) Method(seed uint64) (method, error) {
	return k.config.method(k.schema, k.code.dim(), noise.Seeded(seed)), nil
}

func (k known) Promise(private encoded) experiment.Promise {
	return experiment.Promise{Rows: private.points.Data, Labels: private.labels, Beside: k.notCovered()}
}
