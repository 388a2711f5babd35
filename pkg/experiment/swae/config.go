package swae

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"math"

	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
)

// What the cross-entropy of an image is of that of its pixels.
const (
	Sum  = "sum"
	Mean = "mean"
)

// Config are the settings of a training. 004's symbols stand beside each.
type Config struct {
	preset experiment.Preset // whose settings these were at first

	Dataset string          `json:"dataset"`
	Inputs  string          `json:"inputs"`  // digest of rows that no version fixes; see Pin
	Epsilon privacy.Epsilon `json:"epsilon"` // ε to be proved; inf for none
	Delta   float64         `json:"delta"`   // δ, below 1/n
	// Published takes the noise for which 004's own accounting gives Epsilon to the
	// autoencoder's steps: its sensitivity, and the central limit. The statement says
	// what can be proved of it.
	Published bool `json:"published"`

	Latent    int     `json:"latent"`    // d₀, dimension of codes
	Alpha     float64 `json:"alpha"`     // α, weight of the distance to the prior
	Reduction string  `json:"reduction"` // of the reconstruction loss over pixels: sum or mean
	Output    float64 `json:"output"`    // M, to which codes are clipped
	Jacobian  float64 `json:"jacobian"`  // L, to which their Jacobians are clipped
	Loss      float64 `json:"loss"`      // C, to which gradients of the reconstruction loss are clipped
	Exact     bool    `json:"exact"`     // singular values are clipped to L, not rows to L/√d₀

	// Gain is what the weights start at in units of PyTorch's default, ±1/√inputs,
	// from which activations shrink to 0.4 of their size with each layer with ReLU; at
	// √6 they stay (He et al. 2015), and codes are apart from the start.
	Gain         float64        `json:"gain"`
	Batch        int            `json:"batch"`         // n′, records of a step
	Steps        int            `json:"steps"`         // of the autoencoder
	Projections  int            `json:"projections"`   // directions of the sliced distance, at least: whole bases of R^d₀ are drawn
	LearningRate float64        `json:"learning_rate"` // of the optimiser
	Schedule     train.Schedule `json:"schedule"`      // of the learning rate: constant or cosine

	// Labels is how many further steps, of the same noise and sample, train the
	// classifier of codes that labels generated images. With Supervision there are none.
	Labels int `json:"labels"`
	// Supervision is what the cross-entropy of an image's class, told from its code,
	// counts in the loss, in units of that of its pixels, summed. 0 is 004's.
	Supervision float64 `json:"supervision"`

	// Law is how many further steps, of the same noise and sample, tell where codes lie.
	// Codes lie on the unit sphere then, no prior pulls them (Alpha must be 0), and
	// generated images are decoded from points that lie as codes do. 0 is 004's.
	Law int `json:"law"`

	// Release is a finished run whose networks are used again, at no further cost, to
	// generate with other Passes, Grain and Samples; "" to train. All else is as it was there.
	Release string `json:"release,omitempty"`

	// Passes is how often what is drawn is decoded and encoded again before its image is
	// taken (ours). Where no code lies the decoder has learned nothing, and what it makes
	// there is encoded to where codes do lie. No record is looked at. 0 is 004's.
	Passes int `json:"passes,omitempty"`
	// Grain is how far each pixel of a generated image goes from the decoder's mean of it
	// towards a draw, 1 with that mean for a probability and otherwise 0 (ours). The loss
	// takes the decoder for the law of such draws; means are blurred where it is unsure,
	// as no real image is. 0 is 004's, 1 all the way.
	Grain float64 `json:"grain,omitempty"`

	Start      string `json:"start"`       // data set, public by construction, that the network learns first; "" for none
	StartSteps int    `json:"start_steps"` // steps on that, without noise

	Samples int `json:"samples"` // generated images that classifiers learn from
}

// config are the settings of a preset. The paper's are 004's, with what it does not
// tell: Adam at its usual rate of 1e-3, PyTorch's first weights, and the mean over
// pixels, as of that C = 1 is about the norm of a gradient: measured on MNIST, half of
// it before any step and from 0.3 to 2 later, when a fifth are clipped. Of the sum all
// are, to a 784th of what they were at most.
//
// The quick ones make a twentieth of the steps, at four times the rate and with larger
// first weights, without which so few steps come to a grey mean of all images; and
// take the sum, which leaves every gradient as long as its noise was planned for.
func config(preset experiment.Preset) Config {
	c := Config{
		Dataset: "mnist", Epsilon: 10, Delta: 1e-5,
		Latent: 6, Alpha: 0.1, Reduction: Mean, Output: 1.5, Jacobian: math.Sqrt(6), Loss: 1,
		Gain: 1, Batch: 600, Steps: 5000, Projections: 100, LearningRate: 1e-3, Schedule: train.Constant,
		Labels: 250, Samples: 60_000,
	}
	if preset == experiment.Quick {
		c.Reduction, c.Gain, c.Steps, c.LearningRate, c.Schedule = Sum, 2.45, 250, 4e-3, train.Cosine
		c.Labels, c.Samples = 50, 10_000
	}
	return c
}

// Check implements experiment.Config.
func (c *Config) Check() error {
	if err := c.budget().Check(); err != nil {
		return err
	}
	if err := cmp.Or(
		experiment.Within("latent", c.Latent, 1, 4096),
		experiment.Within("batch", c.Batch, 1, 1_000_000),
		experiment.Within("steps", c.Steps, 1, 100_000_000),
		experiment.Within("projections", c.Projections, 1, 100_000),
		experiment.Within("labels", c.Labels, 0, 100_000_000),
		experiment.Within("law", c.Law, 0, 100_000_000),
		experiment.Within("passes", c.Passes, 0, 100),
		experiment.Within("samples", c.Samples, 100, 10_000_000),
	); err != nil {
		return err
	}
	if err := cmp.Or(
		experiment.Positive("output (M)", c.Output, experiment.Farthest),
		experiment.Positive("jacobian (L)", c.Jacobian, experiment.Farthest),
		experiment.Positive("loss (C)", c.Loss, experiment.Farthest),
		experiment.Positive("gain", c.Gain, 100),
		experiment.Positive("learning_rate", c.LearningRate, experiment.Fastest),
	); err != nil {
		return err
	}
	if !(c.Supervision >= 0 && c.Supervision <= 1e6) { // beyond, pixels are lost in float32
		return fmt.Errorf("supervision is %v; it weighs classes in the loss, from 0, which is 004's, to 1e6", c.Supervision)
	}
	if supervised := c.Supervision > 0; supervised != (c.Labels == 0) {
		return fmt.Errorf("labels is %d and supervision %v; give labels a number of steps from 1 on, or with supervision, where the autoencoder itself learns the classes, labels=0", c.Labels, c.Supervision)
	}
	if c.Law > 0 && (c.Alpha != 0 || c.Latent < 2) {
		return fmt.Errorf("law is %d, alpha %v and latent %d; give law a number of steps, or 0 for a prior, and with it alpha=0, for no prior pulls codes then, and a latent of at least 2", c.Law, c.Alpha, c.Latent)
	}
	if !(c.Alpha >= 0 && c.Alpha <= 1) {
		return fmt.Errorf("alpha is %v; it weighs the distance to the prior from 0 to 1", c.Alpha)
	}
	if !(c.Grain >= 0 && c.Grain <= 1) {
		return fmt.Errorf("grain is %v; it is the part of the way from a pixel's mean to a draw, from 0 to 1", c.Grain)
	}
	if err := cmp.Or(experiment.OneOf("reduction", c.Reduction, Sum, Mean), c.Schedule.Check()); err != nil {
		return err
	}
	if c.Published && !c.budget().Private() {
		return fmt.Errorf("published is true and ε = ∞; without a budget nothing gets noise, leave it out")
	}
	if err := experiment.CheckStart(c.Start, c.StartSteps); err != nil {
		return err
	}
	_, err := dataset.Registry.Lookup(c.Dataset)
	return err
}

// Pin implements experiment.Pinner.
func (c *Config) Pin() (err error) {
	if c.Release != "" {
		if err := c.take(); err != nil {
			return err
		}
	}
	then := c.Inputs
	c.Inputs, err = c.digest(context.Background())
	if err == nil && then != "" && c.Inputs != then {
		return fmt.Errorf("rows are no longer those that inputs = %.12s… names; leave inputs out to take what is there", then)
	}
	return err
}

// digest tells images from others.
func (c *Config) digest(ctx context.Context) (string, error) {
	return experiment.Digest(ctx, c.Dataset, dataset.Options{Seed: experiment.SplitSeed}, (*dataset.Splits).CheckImages)
}

func (c *Config) budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(c.Epsilon), Delta: c.Delta}
}

func (c *Config) clipping() matching.Clipping {
	return matching.Clipping{Output: c.Output, Jacobian: c.Jacobian, Loss: c.Loss, Exact: c.Exact}
}

func (c *Config) optimizer() train.Optimizer { return train.Optimizer{Name: train.Adam} }

// stacks is the number of bases of directions that a step draws.
func (c *Config) stacks() int { return (c.Projections + c.Latent - 1) / c.Latent }

// rate is the learning rate at a step of so many.
func (c *Config) rate(step, steps int) float64 {
	return c.Schedule.Rate(c.LearningRate, step, steps)
}

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return plugin.Meanings(words) }
