package privateflow

import (
	"molehill/pkg/experiment"
	"molehill/pkg/published"
)

// usual are the settings that the preset has for the data set.
func (c *Config) usual() *Config {
	u := Experiment{c.estimator}.Config(c.preset).(*Config)
	u.Dataset = c.Dataset
	u.Suit()
	return u
}

// Suit implements experiment.Suited. Estimators have settings for MNIST, and 003 the same
// for Fashion-MNIST; ours have others for CelebA, whose δ is the paper's.
func (c *Config) Suit() {
	if c.ofFaces() {
		c.Delta = faces.Delta
	}
	if s, ok := as[Suited](c.estimator); ok {
		s.Suit(c)
	}
}

// faces is the paper's CelebA. Its latents have 48 dimensions, and numbers of directions
// are rounded down to whole bases of these, in all and at each step (300 to 288, 250 to
// 240, 220 to 192). The quick preset keeps its numbers of steps.
var faces, _ = published.FlowOn("celeba")

func (c *Config) ofFaces() bool { return c.Dataset == "celeba" }

func wholeBases(directions int) int { return directions / faces.Dim * faces.Dim }

// facesStep is the step size of the public code.
const facesStep = 5

// Suit implements Suited: the directions are those of DPSWflow-r.
func (open) Suit(c *Config) {
	if c.ofFaces() {
		c.Directions, c.StepSize = wholeBases(faces.Resampled), facesStep
	}
}

// Suit implements Suited: 30 epochs of 326 batches at every ε. They are those of the paper's
// 81,385 private records: a smaller copy of CelebA is passed as many times more often, which
// its ε then pays for.
func (resampled) Suit(c *Config) {
	if !c.ofFaces() {
		return
	}
	c.Directions, c.StepSize = wholeBases(faces.Resampled), facesStep
	if c.preset == experiment.Paper {
		c.Steps = faces.Steps(faces.Noise[0].Epochs)
	}
}

// Suit implements Suited; a generator has steps of its own.
func (presampled) Suit(c *Config) {
	if !c.ofFaces() {
		return
	}
	c.Directions, c.PerStep, c.StepSize = wholeBases(faces.Fixed), wholeBases(faces.FixedPerStep), facesStep
	if c.preset == experiment.Paper && c.Learner == Particles {
		c.Steps = faces.FixedSteps
	}
}

// threeQuarters makes a step of particles on faces three quarters of the way, as with 8
// dimensions.
func threeQuarters(c *Config) {
	if c.ofFaces() && c.Learner == Particles {
		c.StepSize = 0.75 * float64(faces.Dim)
	}
}

// Suit implements Suited.
func (sketched) Suit(c *Config) { threeQuarters(c) }

// Suit implements Suited.
func (spherical) Suit(c *Config) { threeQuarters(c) }

// Suit implements Suited.
func (classes) Suit(c *Config) { threeQuarters(c) }

// Suit implements Suited.
func (normal) Suit(c *Config) { threeQuarters(c) }
