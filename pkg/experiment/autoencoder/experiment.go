// Package autoencoder makes the networks that other experiments use as given. It
// reads public rows only.
package autoencoder

import (
	"context"
	"fmt"
	"io"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

func init() { experiment.Registry.Register(Experiment{}) }

// Experiment trains the autoencoders of 003 C.2.
type Experiment struct{}

// Describe implements plugin.Plugin.
func (Experiment) Describe() plugin.Info {
	return plugin.Info{Name: "autoencoder", Version: "3", Source: "003 C.2; Liutkus et al. 2019; Radford et al. 2016",
		Summary: "train the autoencoder of an image data set on its public half: the convolutional one, or for celeba the one after DCGAN"}
}

// Config implements experiment.Experiment.
func (Experiment) Config(preset experiment.Preset) experiment.Config {
	c := &Config{Dataset: "mnist", TrainConfig: autoencoder.DefaultTrainConfig, preset: preset}
	c.Epochs, c.Batch = 0, 0 // what the data set asks for
	return c
}

// Run implements experiment.Experiment. It leaves
//
//	weights.npz         which autoencoder.Load reads
//	loss.csv, loss.png  the loss of every step
//	reconstruction.png  held-out images, and below each what the network makes of it
//
// and the curve "loss". The order of images and the initial weights come from
// the run's seed. Where images show real people, reconstruction.png does, and is
// not to be shared.
func (Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	// What is written into the weights is what they learn from, whenever that is.
	rows, err := experiment.Digest(ctx, c.Dataset, dataset.Options{Seed: experiment.SplitSeed}, nil)
	if err == nil && rows != c.Inputs {
		err = experiment.Changed(c.Dataset)
	}
	if err != nil {
		return result, err
	}
	images, err := load(ctx, r, c)
	if err != nil {
		return result, err
	}
	b, err := backend.Open()
	if err != nil {
		return result, err
	}
	if err := r.ComputedOn(b.String(), images.public.Origin); err != nil {
		return result, err
	}
	if images.split.Digest != "" {
		if err := r.KeepSplit(images.split.String()); err != nil {
			return result, err
		}
	}
	model, err := autoencoder.New(c.model(images.public.Channels), r.Spec.Seed)
	if err != nil {
		return result, err
	}
	if err := fit(ctx, r, b, model, images.public, c); err != nil {
		return result, err
	}
	model.Meta.Dataset, model.Meta.Split, model.Meta.Inputs = c.Dataset, images.split.Digest, c.Inputs
	if err := r.WriteFile("weights.npz", model.Save); err != nil {
		return result, err
	}
	if err := writeCurve(r); err != nil {
		return result, err
	}
	heldOut, err := writeGrid(ctx, r, b, model, images)
	if err != nil {
		return result, err
	}
	note := "mean squared error per pixel value: of the last batch, of public images, and of held-out ones"
	if images.restriction != "" {
		note += ". " + images.restriction + "; that goes for reconstruction.png"
	}
	return run.Result{Metrics: run.Values{"loss": model.Meta.Loss, "held-out loss": heldOut}, Note: note}, nil
}

// fit trains the model, from the run's last checkpoint if it has one.
func fit(ctx context.Context, r *run.Run, b *backend.Backend, model *autoencoder.Autoencoder, images *dataset.Dataset, c *Config) error {
	c.TrainConfig.Seed = r.Spec.Seed
	training, err := autoencoder.NewTraining(model, b, images.X, c.TrainConfig)
	if err != nil {
		return err
	}
	defer training.Close()
	done, _, err := r.Restore(func(_ int, from io.Reader) error { return training.Restore(from) })
	if err != nil {
		return err
	}
	step := func(int) (run.Values, error) {
		last, err := training.Step()
		return run.Values{"loss": last.Loss}, err
	}
	save := func(to io.Writer, _ int) error { return training.Save(to) }
	if err := (run.Loop{Total: training.Total(), Step: step, Save: save}).Run(ctx, r, done); err != nil {
		return err
	}
	return training.Commit()
}

// images is what a training may see.
type images struct {
	public      *dataset.Dataset
	heldOut     *dataset.Dataset  // counts as public too
	split       dataset.Partition // says which rows are public; none if all are
	restriction string            // on showing them
}

// load returns rows that anybody may see: the public half of a data set, or as
// many rows of a set that is public as a whole.
func load(ctx context.Context, r *run.Run, c *Config) (images, error) {
	source, err := dataset.Registry.Lookup(c.Dataset)
	if err != nil {
		return images{}, err
	}
	var options dataset.Options
	if source.Public() {
		options.N = publicRows
	}
	splits, err := experiment.Load(ctx, c.Dataset, options, r.Say)
	if err != nil {
		return images{}, err
	}
	if err := splits.CheckImages(); err != nil {
		return images{}, err
	}
	all := images{public: splits.Train}
	if restricted, ok := source.(dataset.Restricted); ok {
		all.restriction = restricted.Restriction()
	}
	if !source.Public() {
		all.split = dataset.PublicPrivate(splits.Train.Len(), experiment.SplitSeed)
		all.public = splits.Train.Subset(all.split.Public)
	}
	shown := *splits.Test // its first images
	shown.X = shown.X[:min(heldOutImages, shown.Len())*shown.Dim()]
	all.heldOut = &shown
	for _, d := range []**dataset.Dataset{&all.public, &all.heldOut} {
		if (*d).Height > c.Side || (*d).Width > c.Side {
			return images{}, fmt.Errorf("images of %s have %d×%d pixels, side is %d; add --set side=%[2]d", c.Dataset, (*d).Height, (*d).Width, c.Side)
		}
		*d = (*d).Pad(c.Side, c.Side)
	}
	return all, nil
}

const (
	publicRows    = 30_000 // the size of MNIST's public half
	heldOutImages = 400    // that measure the result
)
