// Package privateflow holds the experiments of 000 and 003 on images: encode
// the private half of a data set into the latent sphere of an autoencoder that
// has seen only the public half, move particles to the latents through a
// private estimator, decode, and measure against held-out images.
package privateflow

import (
	"cmp"
	"embed"
	"fmt"
	"slices"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
)

// Config are the settings of a private flow on images. The papers' symbols
// stand beside each.
type Config struct {
	Dataset string          `json:"dataset"` // of images: `molehill data list`; glyphs needs no files, and with celeba come 003's settings for it
	Weights string          `json:"weights"` // file of the autoencoder's weights, or a registered model; "" for the weights that ship, or else the last that were trained
	Inputs  string          `json:"inputs"`  // filled in by itself: digests of rows and weights that no version fixes; see Pin
	Epsilon privacy.Epsilon `json:"epsilon"` // ε to be proved; inf for none
	Delta   float64         `json:"delta"`   // δ, below 1/n

	Particles  int     `json:"particles"`  // N, particles
	Steps      int     `json:"steps"`      // K, steps
	StepSize   float64 `json:"step_size"`  // h, size of a step; the papers' is 3
	Diffusion  float64 `json:"diffusion"`  // λ, weight of the entropy, by which particles diffuse; 0 for none
	Directions int     `json:"directions"` // N_θ, directions on which the guide is known
	PerStep    int     `json:"per_step"`   // M_θ, how many of these a step follows, of a target that is released once
	Stack      bool    `json:"stack"`      // orthonormal bases in place of independent directions

	Learner      string  `json:"learner"`       // what follows the guide: particles or a generator
	Generated    int     `json:"generated"`     // points that a generator makes at each step
	LearningRate float64 `json:"learning_rate"` // of a generator, at its first step

	Batch int `json:"batch"` // records a step, of a target that is released at each step
	Bins  int `json:"bins"`  // of the quantile sketch, on each direction

	// Degree is the highest of the spherical harmonics whose means are released;
	// 0 for the one that suits the number of records, their dimension and the noise.
	Degree int `json:"degree"`

	Classes int    `json:"classes,omitempty"` // how many the labels name, public; 0 without labels
	Label   string `json:"label,omitempty"`   // of faces: the attribute that is the class, in which results are counted, too

	Features int     `json:"features"` // pairs of random Fourier features of a mean embedding
	Scale    float64 `json:"scale"`    // length scale of its kernel, public

	// Published takes the paper's directions and noise for its claim of ε in
	// place of noise calibrated to prove it; the statement then says what can be
	// proved.
	Published bool `json:"published"`

	// Release is the run whose release is used again, at no further cost; "" to
	// look at the records. What determines a release is then as it was there.
	Release string `json:"release"`

	// SmoothParticles adds the target's noise to the particles' own projections
	// too (Eq. 21); it costs nothing, and what is smoothed alike is compared.
	SmoothParticles bool `json:"smooth_particles"`

	// NoisyEvaluation takes ψ′ at those noisy projections, as the public code does: then the
	// drift's mean is the gradient of the smoothed distance. Without it ψ′ is taken at the
	// clean ones, as 003's text has it (docs/diffusion.md, the drift of Theorem 1).
	NoisyEvaluation bool `json:"noisy_evaluation"`

	// OnSphere moves each particle to the nearest point of the latent sphere
	// before it is decoded and scored: post-processing that knows where latents
	// live. The papers do not.
	OnSphere bool `json:"on_sphere"`

	estimator Estimator
	preset    experiment.Preset // whose settings were changed
}

// farthest is the largest step size and diffusion: latents have norm 1, steps of the
// papers 3 to 6.
const farthest = 1e4

// Check implements experiment.Config.
func (c *Config) Check() error {
	if err := c.budget().Check(); err != nil {
		return err
	}
	if err := cmp.Or(
		experiment.Within("particles", c.Particles, 2, 5_000_000), // of 576 bytes in flow.Drift
		experiment.Within("steps", c.Steps, 1, 100_000_000),
		experiment.Within("directions", c.Directions, 1, 10_000_000),
		experiment.Within("per_step", c.PerStep, 0, 10_000_000),
		experiment.Within("batch", c.Batch, c.least("batch"), 10_000_000),
		experiment.Within("bins", c.Bins, c.least("bins"), 1_000_000),
		experiment.Within("degree", c.Degree, 0, 100),
		experiment.Within("classes", c.Classes, 0, 10_000),
		experiment.Within("features", c.Features, 0, 10_000_000),
		experiment.Within("generated", c.Generated, 0, 5_000_000),
		experiment.OneOf("learner", c.Learner, Particles, Generator),
	); err != nil {
		return err
	}
	if !(c.StepSize > 0 && c.StepSize <= farthest) || !(c.Diffusion >= 0 && c.Diffusion <= farthest) {
		return fmt.Errorf("step_size is %v and diffusion %v; the first must be above 0, the other at least 0, and both at most %g, for latents have norm 1", c.StepSize, c.Diffusion, float64(farthest))
	}
	if c.Learner == Generator {
		if c.Generated < 2 {
			return fmt.Errorf("generated is %d; a generator takes at least 2 points a step", c.Generated)
		}
		if err := experiment.Positive("learning_rate", c.LearningRate, experiment.Fastest); err != nil {
			return err
		}
		if c.Diffusion > 0 {
			return fmt.Errorf("diffusion is %v; it moves particles, and a generator has none, so set it to 0", c.Diffusion)
		}
	}
	source, err := dataset.Registry.Lookup(c.Dataset)
	if err != nil {
		return err
	}
	switch _, chooses := source.(dataset.Labelled); {
	case c.Classes > 0 && c.estimator != nil && c.usual().Classes == 0:
		return fmt.Errorf("classes is %d, and this method has no classes; leave it out, or take harmonic-classes", c.Classes)
	case c.Label != "" && !chooses:
		return fmt.Errorf("label is %q; rows of %s have labels of their own or none, leave it out", c.Label, c.Dataset)
	case c.Label == "" && chooses && c.Classes > 0:
		return fmt.Errorf("label is not set; rows of %s get their classes from an attribute, such as --set label=Male --set classes=2", c.Dataset)
	}
	if _, ok := as[Claimed](c.estimator); c.Published && c.estimator != nil && !ok {
		return fmt.Errorf("003 has no noise for this method; leave published=false")
	}
	if checker, ok := as[Checker](c.estimator); ok {
		return checker.Check(c)
	}
	return nil
}

// least is the least that a setting can be: 1 where the estimator reads it. Elsewhere
// older runs may have 0.
func (c *Config) least(name string) int {
	if r, tells := as[Reader](c.estimator); tells && slices.Contains(r.Reads(), name) {
		return 1
	}
	return 0
}

// Pin implements experiment.Pinner.
func (c *Config) Pin() error {
	if claimed, ok := as[Claimed](c.estimator); ok && c.Published {
		if err := claimed.CheckClaimed(c); err != nil {
			return err
		}
	}
	if c.Release != "" {
		store, err := run.DefaultStore()
		if err != nil {
			return err
		}
		from, err := openEarlier(store, c.Release, c.estimator)
		if err != nil {
			return err
		}
		c.Release = from.ID
		for _, weights := range []*string{&c.Weights, &from.config.Weights} { // which may be one file
			if *weights, err = latent.Name(*weights); err != nil {
				return err
			}
		}
		if err := c.take(from.config); err != nil {
			return err
		}
	}
	then := c.Inputs
	if err := c.pinInputs(); err != nil {
		return err
	}
	if c.Release != "" && c.Inputs != then {
		return fmt.Errorf("the rows of %s or the weights of its autoencoder have changed since %s; release anew", c.Dataset, c.Release)
	}
	return nil
}

func (c *Config) pinInputs() (err error) {
	c.Weights, c.Inputs, err = latent.Pin(c.Dataset, c.Label, c.Weights)
	return err
}

func (c *Config) budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(c.Epsilon), Delta: c.Delta}
}

// theirs labels what a paper's own accounting says of the noise, which is its own too
// where Published.
func (c *Config) theirs() string {
	if c.Published {
		return privacy.AsPublished
	}
	return privacy.PapersWay
}

// latentDiameter bounds how far two records are apart: latents lie on the unit
// sphere.
const latentDiameter = 2

// Estimators holds the ways to learn where the records are.
var Estimators = plugin.Registry[Estimator]{Kind: "estimator", Defaults: func(e Estimator) (map[string]any, error) {
	all := map[string]any{}
	for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
		all[string(preset)] = e.Config(preset)
	}
	return all, nil
}}

// Register makes an estimator known, and the experiment that is its private flow.
func Register(e Estimator) {
	Estimators.Register(e)
	experiment.Registry.Register(Experiment{e})
}

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return plugin.Meanings(words) }
