// Package circle trains a generator of points on a circle by a sliced Wasserstein
// distance, privately in two ways: Learning with Differentially Private Sliced
// Wasserstein Gradients (004), Appendix D.
//
//	circle              the clipped gradient gets the noise (D.2, Figure 22)
//	circle-projections  projections of the records get it, once (Figure 23)
//
// Both are private for the records Z that are to be looked like; the first is so for
// the sample X that is transformed too. D.1 is why the second cannot be: Distinguish.
package circle

import (
	"cmp"
	"embed"
	"fmt"
	"math"

	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
)

// Config are the settings of a training. 004's symbols stand beside each.
type Config struct {
	Records int             `json:"records"` // n of Z, and of X
	Epsilon privacy.Epsilon `json:"epsilon"` // ε to be proved for Z, or for X too; inf for none
	Delta   float64         `json:"delta"`   // δ, below 1/n
	// Both has ε proved for X too, as far as a method can. What holds for X otherwise is
	// told all the same.
	Both bool `json:"both"`

	Batch        int     `json:"batch"`         // records of each side in a step
	Steps        int     `json:"steps"`         // of the generator
	LearningRate float64 `json:"learning_rate"` // of the optimiser
	Optimizer    string  `json:"optimizer"`     // adam or sgd
	Projections  int     `json:"projections"`   // k, directions of the sliced distance, at least
	Limit        float64 `json:"output_limit"`  // M, to which outputs are clipped
	Jacobian     float64 `json:"jacobian"`      // L, to which their Jacobians are clipped
	// Shorten cuts noisy gradients to norm 4ML, which none without noise exceeds; that
	// is post-processing. 004 clips again "with the same clipping constants".
	Shorten bool `json:"shorten"`
	Frames  int  `json:"frames"` // pictures on the way, the first and the last included

	kind *kind
}

// Check implements experiment.Config.
func (c *Config) Check() error {
	if err := c.budget().Check(); err != nil {
		return err
	}
	if err := cmp.Or(
		experiment.Within("records", c.Records, 2, 1_000_000),
		experiment.Within("batch", c.Batch, 1, c.Records),
		experiment.Within("steps", c.Steps, 1, 1_000_000),
		experiment.Within("projections", c.Projections, 1, 10_000),
		experiment.Within("frames", c.Frames, 2, 100),
	); err != nil {
		return err
	}
	if c.Frames > c.Steps+1 {
		return fmt.Errorf("frames is %d and steps %d; there is one before the first step and at most one after each", c.Frames, c.Steps)
	}
	if err := cmp.Or(
		experiment.Positive("learning_rate", c.LearningRate, experiment.Fastest),
		experiment.Positive("output_limit", c.Limit, experiment.Farthest),
		experiment.Positive("jacobian", c.Jacobian, experiment.Farthest),
	); err != nil {
		return err
	}
	if err := (train.Optimizer{Name: c.Optimizer}).Check(); err != nil {
		return err
	}
	if c.kind.check != nil {
		return c.kind.check(c)
	}
	return nil
}

func (c *Config) budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(c.Epsilon), Delta: c.Delta}
}

func (c *Config) clipping() matching.Clipping {
	// No gradient of a loss takes part, whose limit only has to be one.
	return matching.Clipping{Output: c.Limit, Jacobian: c.Jacobian, Loss: 1}
}

// frame is the picture that is made once so many steps are done: its number, false if
// none is.
func (c *Config) frame(done int) (int, bool) {
	for i := range c.Frames {
		if done == c.frameStep(i) {
			return i, true
		}
	}
	return 0, false
}

// frameStep is after how many steps a picture is made.
func (c *Config) frameStep(i int) int { return i * c.Steps / (c.Frames - 1) }

// published are the settings of 004 D.2 but for the steps and ε, which it has in its
// figures alone, and the optimiser. The quick ones have a fifth of the records and
// batches.
func published(preset experiment.Preset) Config {
	c := Config{
		Records: 100_000, Epsilon: 1, Batch: 10_000, Steps: 1000, LearningRate: 0.0075, Optimizer: train.Adam,
		Projections: 50, Limit: 1, Jacobian: 2 * math.Sqrt2, Shorten: true, Frames: 5,
	}
	if preset == experiment.Quick {
		c.Records, c.Batch, c.Steps = 20_000, 2000, 300
	}
	c.Delta = 0.1 / float64(c.Records)
	return c
}

// projected are those of the baseline, which has fewer projections in 004.
func projected(preset experiment.Preset) Config {
	c := published(preset)
	c.Projections = 15
	return c
}

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return plugin.Meanings(words) }
