package dpsinkhorn

import (
	"cmp"
	"context"
	"embed"
	"fmt"

	"molehill/models/generator"
	"molehill/models/semidebiased"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/plugin"
	"molehill/privacy"
)

// Where generated and real rows meet.
const (
	Pixels  = "pixels"  // as images, of values from −1 to 1
	Latents = "latents" // as latents of an autoencoder that has seen public images only
)

// What gets the noise of a step.
const (
	ByImages     = "images"     // the gradient by generated rows, which need not be many (001)
	ByParameters = "parameters" // that by the generator's parameters, as DP-SGD does: 001's ablation
)

// Config are the settings of a training. The papers' symbols stand beside each.
type Config struct {
	Dataset string          `json:"dataset"` // 001's settings for fashion-mnist and celeba come with them
	Label   string          `json:"label"`   // of faces: the attribute that is the class; "" elsewhere
	Space   string          `json:"space"`   // pixels or latents
	Weights string          `json:"weights"` // file of the autoencoder's weights for latents; "" for those that ship
	Inputs  string          `json:"inputs"`  // digests of rows and weights that no version fixes; see Pin
	Epsilon privacy.Epsilon `json:"epsilon"` // ε to be proved; inf for none
	Delta   float64         `json:"delta"`   // δ, below 1/n

	Debiasing  float64 `json:"debiasing"`   // p, share of the debiasing, from 0 to 1
	Absolute   float64 `json:"absolute"`    // m, weight of ‖x−y‖₁ in the cost
	Unsquared  bool    `json:"unsquared"`   // the cost has no ‖x−y‖₂²: m·‖x−y‖₁ alone
	LabelScale float64 `json:"label_scale"` // α_c, weight of the class in the cost
	Entropy    float64 `json:"entropy"`     // λ, weight of the entropy
	Iterations int     `json:"iterations"`  // of Sinkhorn's algorithm, at most
	Tolerance  float64 `json:"tolerance"`   // of its marginals

	Batch        int                   `json:"batch"`        // real rows of a step, on average; how many there are is left to chance
	Multiplicity int                   `json:"multiplicity"` // how many times each real image of a step is looked at: as it is, and moved by a few pixels
	Generated    int                   `json:"generated"`    // n, generated rows that meet them: a public number
	Clipping     semidebiased.Clipping `json:"clipping"`     // of gradients: whole or per-image
	Bound        float64               `json:"bound"`        // Δ, to which gradients are clipped
	Perturbed    string                `json:"perturbed"`    // what gets the noise: the gradient by images or by parameters
	// Noise is σ, the noise in units of Δ, and the training ends before the step
	// that would spend more than ε; 0 for the least noise that proves ε for all
	// steps.
	Noise float64 `json:"noise"`
	Steps int     `json:"steps"` // at most
	// Published makes all steps with the noise σ of a paper that claims Epsilon of
	// them, whatever they spend; the statement says what can be proved.
	Published bool `json:"published"`

	Optimizer    string         `json:"optimizer"`     // adam or sgd
	LearningRate float64        `json:"learning_rate"` // of the optimiser
	Schedule     train.Schedule `json:"schedule"`      // of the learning rate: constant or cosine
	WeightDecay  float64        `json:"weight_decay"`  // of the optimiser
	Average      float64        `json:"average"`       // β of a running average of the parameters, which generates; 0 for none

	Architecture string `json:"architecture"` // of a generator of images (models/generator)
	Latent       int    `json:"latent"`       // dimension of its noise
	Embedding    int    `json:"embedding"`    // dimension of its classes
	Width        int    `json:"width"`        // of its layers

	Start      string `json:"start"`       // data set, public by construction, that the generator learns first; "" for none
	StartSteps int    `json:"start_steps"` // steps on that, without noise

	Features int     `json:"features"` // pairs of random Fourier features of a mean embedding
	Scale    float64 `json:"scale"`    // length scale of its kernel; 0 for the median distance of held-out rows

	Samples int `json:"samples"` // generated rows that are scored

	kind   *kind
	preset experiment.Preset
}

// mostCosts is how many pairs of rows a step may have: a gigabyte of costs.
const mostCosts = 1 << 28

// mostFeatures is how many features of rows a step may have: 4 GB, and some times that.
const mostFeatures = 1 << 30

// Check implements experiment.Config.
func (c *Config) Check() error {
	if err := c.budget().Check(); err != nil {
		return err
	}
	if err := cmp.Or(
		experiment.Within("batch", c.Batch, 1, 1_000_000),
		experiment.Within("multiplicity", c.Multiplicity, 1, 100),
		experiment.Within("generated", c.Generated, 1, 1_000_000),
		experiment.Within("steps", c.Steps, 1, 100_000_000),
		experiment.Within("latent", c.Latent, 1, 4096),
		experiment.Within("iterations", c.Iterations, 1, 1_000_000),
		experiment.Within("samples", c.Samples, 100, 10_000_000),
		experiment.Within("features", c.Features, 0, 10_000_000),
		experiment.Within("absolute", c.Absolute, 0, experiment.Farthest),
		experiment.Within("label_scale", c.LabelScale, 0, experiment.Farthest),
		experiment.Positive("entropy", c.Entropy, experiment.Farthest),
		experiment.Within("tolerance", c.Tolerance, 0, 1),
		experiment.Positive("bound", c.Bound, experiment.Farthest),
		experiment.Positive("learning_rate", c.LearningRate, experiment.Fastest),
		experiment.Within("weight_decay", c.WeightDecay, 0, 1),
		experiment.Within("noise", c.Noise, 0, 1e6),
		experiment.Within("scale", c.Scale, 0, experiment.Farthest),
		experiment.OneOf("space", c.Space, Pixels, Latents),
		experiment.OneOf("clipping", c.Clipping, semidebiased.Whole, semidebiased.PerImage),
		experiment.OneOf("perturbed", c.Perturbed, ByImages, ByParameters),
		c.Schedule.Check(),
	); err != nil {
		return err
	}
	if rows := max(c.Generated, room(c.Batch)*c.Multiplicity); c.kind.byLoss(c.StartSteps) && c.Generated > mostCosts/rows {
		return fmt.Errorf("generated is %d, beside up to %d rows; a step holds the costs of all pairs, take at most %d pairs", c.Generated, rows, mostCosts)
	}
	if c.kind.embeds && c.Generated > mostFeatures/max(1, 2*c.Features) {
		return fmt.Errorf("generated is %d, of 2·%d features; a step holds all of them, take at most %d numbers", c.Generated, c.Features, mostFeatures)
	}
	if c.Multiplicity > 1 && c.Space != Pixels {
		return fmt.Errorf("multiplicity is %d and space %q; it is images that are moved, take space=%s or leave it out", c.Multiplicity, c.Space, Pixels)
	}
	if c.Perturbed == ByParameters && c.Clipping == semidebiased.PerImage {
		return fmt.Errorf("clipping is %q and perturbed %q; the gradient by the parameters has no images to clip one by one, set clipping=%s", c.Clipping, c.Perturbed, semidebiased.Whole)
	}
	if c.Noise > 0 && !c.budget().Private() {
		return fmt.Errorf("noise is %v and ε = ∞; without a budget nothing gets noise, leave it 0", c.Noise)
	}
	if c.Published && c.Noise == 0 {
		return fmt.Errorf("published is true and noise is 0; set it to the paper's σ, such as 1.5")
	}
	if err := c.optimizer().Check(); err != nil {
		return err
	}
	if err := experiment.CheckStart(c.Start, c.StartSteps); err != nil {
		return err
	}
	source, err := dataset.Registry.Lookup(c.Dataset)
	if err != nil {
		return err
	}
	if _, chooses := source.(dataset.Labelled); chooses == (c.Label == "") {
		if chooses {
			return fmt.Errorf("label is not set; rows of %s get their classes from an attribute, such as --set label=Male", c.Dataset)
		}
		return fmt.Errorf("label is %q; rows of %s have labels of their own, leave it out", c.Label, c.Dataset)
	}
	if err := c.loss(1).Check(); err != nil {
		return err
	}
	if c.kind.check != nil {
		return c.kind.check(c)
	}
	return nil
}

// Pin implements experiment.Pinner.
func (c *Config) Pin() (err error) {
	then := c.Inputs
	if c.Space == Latents {
		c.Weights, c.Inputs, err = latent.Pin(c.Dataset, c.Label, c.Weights)
	} else {
		c.Inputs, err = c.digest(context.Background())
	}
	if err == nil && then != "" && c.Inputs != then {
		return fmt.Errorf("rows or weights are no longer those that inputs = %.12s… names; leave inputs out to take what is there", then)
	}
	return err
}

// digest tells images from others.
func (c *Config) digest(ctx context.Context) (string, error) {
	return experiment.Digest(ctx, c.Dataset, dataset.Options{Seed: experiment.SplitSeed, Label: c.Label}, (*dataset.Splits).CheckImages)
}

// unchanged returns an error if what Pin has looked at is no longer the same.
func (c *Config) unchanged(ctx context.Context) error {
	if c.Space == Latents {
		return latent.Unchanged(ctx, c.Dataset, c.Label, c.Weights, c.Inputs)
	}
	now, err := c.digest(ctx)
	if err == nil {
		err = experiment.Unchanged(c.Dataset, c.Inputs, now)
	}
	return err
}

func (c *Config) budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(c.Epsilon), Delta: c.Delta}
}

func (c *Config) optimizer() train.Optimizer {
	return train.Optimizer{Name: c.Optimizer, WeightDecay: c.WeightDecay, Average: c.Average}
}

func (c *Config) loss(classes int) semidebiased.Loss {
	return semidebiased.Loss{Debiasing: c.Debiasing, Absolute: c.Absolute, Unsquared: c.Unsquared, LabelScale: c.LabelScale, Classes: classes,
		Entropy: c.Entropy, Iterations: c.Iterations, Tolerance: c.Tolerance}
}

// rate is the learning rate at a step of so many.
func (c *Config) rate(step, steps int) float64 {
	return c.Schedule.Rate(c.LearningRate, step, steps)
}

// design is the generator for rows.
func (c *Config) design(rows *Rows) generator.Design {
	if c.Space == Latents {
		return generator.Config{Noise: c.Latent + len(rows.Classes), Output: rows.Private.Dim}
	}
	return generator.Images{Architecture: c.Architecture, Classes: len(rows.Classes), Latent: c.Latent, Embedding: c.Embedding,
		Side: rows.Height, Channels: rows.Channels, Width: c.Width}
}

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return plugin.Meanings(words) }
