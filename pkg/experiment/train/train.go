// Package train makes the networks that other experiments use as given. It
// reads public rows only.
package train

import (
	"context"
	"fmt"
	"io"
	"time"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

func init() { experiment.Registry.Register(Autoencoder{}) }

// Config are the settings of 003's public code (Adam, 10⁻³, batches of 250),
// but for the number of epochs and the decay of the rate.
type Config struct {
	Dataset string `json:"dataset"`
	Latent  int    `json:"latent"` // dimension
	autoencoder.TrainConfig
}

// Check implements experiment.Config.
func (c *Config) Check() error {
	if _, err := dataset.Registry.Lookup(c.Dataset); err != nil {
		return err
	}
	if c.Epochs < 1 || c.Batch < 1 || !(c.LearningRate > 0) {
		return fmt.Errorf("epochs %d, batch %d, learning_rate %v; need at least 1, 1 and more than 0", c.Epochs, c.Batch, c.LearningRate)
	}
	return nil
}

// Autoencoder trains the autoencoder of 003 C.2.
type Autoencoder struct{}

// Describe implements plugin.Plugin.
func (Autoencoder) Describe() plugin.Info {
	return plugin.Info{Name: "autoencoder", Version: "1", Source: "003 C.2; Liutkus et al. 2019",
		Summary: "train the convolutional autoencoder on the public half of an image data set"}
}

// Config implements experiment.Experiment. The quick preset makes one pass over
// the images; paper is what the shipped weights were trained with.
func (Autoencoder) Config(preset experiment.Preset) experiment.Config {
	c := &Config{Dataset: "mnist", Latent: autoencoder.DefaultConfig.Latent, TrainConfig: autoencoder.DefaultTrainConfig}
	if preset == experiment.Quick {
		c.Epochs = 1
	}
	return c
}

// checkpointEvery bounds what a killed training has to do again.
const checkpointEvery = 20 * time.Second

// Run implements experiment.Experiment. It leaves weights.npz, which
// autoencoder.Load reads, and the curve "loss". The order of images and the
// initial weights come from the run's seed.
func (Autoencoder) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	images, split, err := publicImages(ctx, c.Dataset)
	if err != nil {
		return result, err
	}
	b, err := backend.Open()
	if err != nil {
		return result, err
	}
	if err := r.Describe(b.String(), images.Origin); err != nil {
		return result, err
	}
	model, err := autoencoder.New(autoencoder.Config{Channels: images.Channels, Latent: c.Latent}, r.Spec.Seed)
	if err != nil {
		return result, err
	}
	c.TrainConfig.Seed = r.Spec.Seed
	training, err := autoencoder.NewTraining(model, b, images.X, c.TrainConfig)
	if err != nil {
		return result, err
	}
	defer training.Close()
	if _, _, err := r.Restore(func(_ int, from io.Reader) error { return training.Restore(from) }); err != nil {
		return result, err
	}
	var last autoencoder.Step
	began, saved, steps := time.Now(), time.Now(), 0
	for !training.Done() {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if last, err = training.Step(); err != nil {
			return result, err
		}
		steps++
		event := run.Event{Step: last.Step, Total: last.Total, Rate: float64(steps) / time.Since(began).Seconds(), Values: run.Values{"loss": last.Loss}}
		if err := r.Emit(event); err != nil {
			return result, err
		}
		if time.Since(saved) > checkpointEvery {
			if err := r.Checkpoint(last.Step, training.Save); err != nil {
				return result, err
			}
			saved = time.Now()
		}
	}
	if err := training.Commit(); err != nil {
		return result, err
	}
	model.Meta.Dataset, model.Meta.Split = c.Dataset, split
	return run.Result{Metrics: run.Values{"loss": model.Meta.Loss}, Note: "mean squared error of the last batch, of public images"},
		r.WriteFile("weights.npz", model.Save)
}

// publicImages returns rows that anybody may see: the public half of a data
// set, with the digest of the split that says which it is, or as many rows of a
// set that is public as a whole.
func publicImages(ctx context.Context, name string) (*dataset.Dataset, string, error) {
	source, err := dataset.Registry.Lookup(name)
	if err != nil {
		return nil, "", err
	}
	options, digest := dataset.Options{Seed: experiment.SplitSeed}, ""
	if source.Public() {
		options.N = publicRows
	}
	splits, err := dataset.Load(ctx, name, options)
	if err != nil {
		return nil, "", err
	}
	images := splits.Train
	if !source.Public() {
		partition := dataset.PublicPrivate(images.Len(), experiment.SplitSeed)
		images, digest = images.Subset(partition.Public), partition.Digest
	}
	return images.Pad(autoencoder.Side, autoencoder.Side), digest, nil
}

// publicRows is the size of MNIST's public half.
const publicRows = 30_000
