package autoencoder

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"

	"molehill/models/autoencoder"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

// Config are the settings of a training. Zero values are filled in by the data
// set and the preset: see usual.
type Config struct {
	Dataset      string                   `json:"dataset"`
	Inputs       string                   `json:"inputs"`       // digest of rows that no version fixes; see Pin
	Architecture autoencoder.Architecture `json:"architecture"` // conv or dcgan
	Side         int                      `json:"side"`         // of the images, which smaller ones are padded to
	Width        int                      `json:"width"`        // channels
	Latent       int                      `json:"latent"`       // dimension
	autoencoder.TrainConfig

	preset experiment.Preset
}

// usual are the settings for a data set: the architecture and the latent space
// of 003 C.2 and C.5, and Adam as in its public code. The papers give no number
// of epochs. The quick preset makes one pass over grey images, and trains a
// quarter of the width on a few passes over faces; the paper's is what the
// shipped weights were trained with, and for faces the whole width on all of
// CelebA's public half.
func usual(name string, preset experiment.Preset) Config {
	c := Config{TrainConfig: autoencoder.DefaultTrainConfig}
	model := autoencoder.DefaultConfig
	if preset == experiment.Quick {
		c.Epochs = 1
	}
	if name == "celeba" {
		model = autoencoder.FacesConfig
		if preset == experiment.Quick {
			model.Width, c.Batch, c.Epochs = model.Width/4, 50, 5
		}
	}
	c.Architecture, c.Side, c.Width, c.Latent = model.Architecture, model.Side, model.Width, model.Latent
	return c
}

// complete fills in what is zero. A setting of another architecture than the
// data set's takes that architecture's side and width.
func (c Config) complete() Config {
	fill := usual(c.Dataset, c.preset)
	if c.Architecture != "" && c.Architecture != fill.Architecture {
		other := autoencoder.DefaultConfig
		if c.Architecture == autoencoder.DCGAN {
			other = autoencoder.FacesConfig
		}
		fill.Side, fill.Width = other.Side, other.Width
	}
	if c.Architecture == "" {
		c.Architecture = fill.Architecture
	}
	for _, field := range []struct {
		value *int
		usual int
	}{{&c.Side, fill.Side}, {&c.Width, fill.Width}, {&c.Latent, fill.Latent}, {&c.Epochs, fill.Epochs}, {&c.Batch, fill.Batch}} {
		if *field.value == 0 {
			*field.value = field.usual
		}
	}
	return c
}

// model is the autoencoder's configuration for images with so many channels.
func (c Config) model(channels int) autoencoder.Config {
	return autoencoder.Config{Architecture: c.Architecture, Side: c.Side, Width: c.Width, Latent: c.Latent, Channels: channels}
}

// Check implements experiment.Config.
func (c *Config) Check() error {
	if _, err := dataset.Registry.Lookup(c.Dataset); err != nil {
		return err
	}
	full := c.complete()
	if full.Epochs < 1 || full.Batch < 1 {
		return fmt.Errorf("epochs %d, batch %d; need at least 1 and 1", full.Epochs, full.Batch)
	}
	if err := cmp.Or(
		experiment.Positive("learning_rate", full.LearningRate, experiment.Fastest),
		experiment.Within("decay", full.Decay, 0, 1),
	); err != nil {
		return err
	}
	return full.model(3).Check()
}

// Pin implements experiment.Pinner. It also writes down what was left to the
// data set.
func (c *Config) Pin() (err error) {
	*c = c.complete()
	c.Inputs, err = experiment.Digest(context.Background(), c.Dataset, dataset.Options{Seed: experiment.SplitSeed}, (*dataset.Splits).CheckImages)
	return err
}

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string {
	all := plugin.Meanings(words)
	maps.Copy(all, autoencoder.Meanings())
	return all
}
