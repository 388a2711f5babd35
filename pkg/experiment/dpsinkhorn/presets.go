package dpsinkhorn

import (
	"math"

	"molehill/models/generator"
	"molehill/models/semidebiased"
	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/privacy"
)

// settings are those of a preset for a data set.
func (k *kind) settings(preset experiment.Preset, dataset string) *Config {
	c := k.config(preset)
	c.kind, c.preset, c.Dataset = k, preset, dataset
	c.Suit()
	return &c
}

// Suit implements experiment.Suited, by what 001 has for Fashion-MNIST and for faces (D.4),
// and its public code for faces. What is between latents, and mean embeddings, are as for
// MNIST but for δ.
func (c *Config) Suit() {
	theirs, paper := c.Space == Pixels && !c.kind.embeds, c.preset == experiment.Paper
	switch c.Dataset {
	case "fashion-mnist":
		switch {
		case theirs && c.kind.ofCode && paper:
			c.Noise = 2 * 0.9
		case theirs && !c.kind.ofCode:
			c.onFashion(paper)
		}
	case "celeba":
		c.Delta = 1e-6
		if theirs {
			c.onFaces(paper)
		}
	}
}

func (c *Config) onFashion(paper bool) {
	if c.Absolute = 3; !paper {
		return
	}
	c.LearningRate = 1e-5
	if c.kind.noisy {
		c.Noise, c.Steps = 1.9, 280_000
	}
}

func (c *Config) onFaces(paper bool) {
	c.Absolute, c.Entropy = 0, 5
	large := generator.CelebABigGAN
	c.Architecture, c.Latent, c.Embedding = large.Architecture, large.Latent, large.Embedding
	if c.kind.ofCode { // geomloss's divergence, debiased by the same images, with blur² for λ
		c.Debiasing, c.Entropy, c.Delta = 0, 5*5, 1e-5
	}
	if !paper {
		c.Steps, c.Width = 500, 8 // a step of a quarter of BigGAN's channels takes seconds on two cores
		return
	}
	c.Width, c.LearningRate = large.Width, 1e-5
	switch {
	case c.kind.ofCode:
		c.Batch, c.Generated, c.Bound, c.Noise = 200, 200, 0.1, 2*0.8
	case c.kind.noisy:
		c.Noise, c.Steps = 1.9, 1_700_000
	}
}

// pixels are the settings of the paper's text for MNIST (001 D.3 and D.4), but that
// the gradient is clipped as a whole. The quick ones make a quarter of the
// channels, and fewer and larger steps.
func pixels(preset experiment.Preset) Config {
	c := Config{
		Dataset: "mnist", Space: Pixels, Epsilon: 10, Delta: 1e-5,
		Debiasing: 0.4, Absolute: 1, LabelScale: 15, Entropy: 0.05, Iterations: 150, Tolerance: 1e-3,
		Batch: 50, Multiplicity: 1, Generated: 50, Clipping: semidebiased.Whole, Bound: 0.5, Perturbed: ByImages, Noise: 1.5, Steps: 160_000,
		Optimizer: train.Adam, LearningRate: 1e-4, Schedule: train.Constant, WeightDecay: 2e-5,
		Samples: 60_000,
	}
	c.generates(generator.MNISTText)
	if preset == experiment.Quick {
		c.Noise, c.Steps, c.LearningRate, c.Schedule = 0, 2000, 1e-3, train.Cosine
		c.Width, c.Samples = 16, 10_000
	}
	return c
}

// generates has a training learn one of the papers' networks.
func (c *Config) generates(g generator.Images) {
	c.Architecture, c.Latent, c.Embedding, c.Width = g.Architecture, g.Latent, g.Embedding, g.Width
}

func text(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Clipping, c.Noise, c.Published = semidebiased.PerImage, 1.5, true
	return c
}

// code are the settings of the public code (nv-tlabs/DP-Sinkhorn_code, the commands of its
// README), which are not those of its text. Its noise multiplier is in units of the
// sensitivity, 2Δ.
func code(preset experiment.Preset) Config {
	c := pixels(preset)
	c.generates(generator.MNISTCode)
	c.Debiasing, c.WeightDecay = 0.2, 1e-5
	if preset == experiment.Quick {
		c.Width = 16
	} else {
		c.Noise, c.LearningRate = 2*1.1, 1e-5
	}
	return c
}

// plain are the settings without privacy.
func plain(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Epsilon, c.Noise, c.Batch, c.Generated = privacy.Epsilon(math.Inf(1)), 0, 500, 500
	if preset == experiment.Quick {
		c.Batch, c.Generated, c.Steps = 100, 100, 1000
	}
	return c
}

// latents are ours for the loss between latents, which are 8 numbers and not 784:
// there the same clipped gradient has a tenth of the noise.
func latents(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Space, c.Noise = Latents, 0
	c.Debiasing, c.Absolute, c.LabelScale, c.Entropy = 0, 0, 2, 0.02
	c.Latent, c.LearningRate, c.Schedule, c.WeightDecay = 8, 1e-3, train.Cosine, 0
	c.Bound = 0.05 // below most gradients: each step then goes as far
	c.Steps = 100_000
	if preset == experiment.Quick {
		c.Steps = 20_000
	}
	return c
}

// sketch are ours for the loss against particles.
func sketch(preset experiment.Preset) Config {
	c := latents(preset)
	c.Debiasing, c.Batch, c.Generated, c.Steps = 1, 250, 250, 5000
	if preset == experiment.Quick {
		c.Steps = 3000
	}
	return c
}

// embedding are the settings of DP-MERF.
func embedding(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Noise, c.Debiasing = 0, 0
	c.generates(generator.MNISTCode)
	c.Generated, c.Features, c.LearningRate, c.Schedule, c.WeightDecay = 500, 10_000, 1e-3, train.Cosine, 0
	c.Steps = 5000
	if preset == experiment.Quick {
		c.Generated, c.Features, c.Steps, c.Width = 100, 1000, 1000, 16
	}
	return c
}
