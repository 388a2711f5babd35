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

// Suit implements experiment.Suited, for CelebA, whose latents have 48 dimensions. Of the
// papers' methods its settings are the paper's (published.FlowOn): δ, 30 epochs of 326
// batches at every ε, 2,000 steps of DPSWflow, and the numbers of directions rounded down
// to whole bases of 48, in all and at each step (300 to 288, 250 to 240, 220 to 192). The
// epochs are those of the paper's 81,385 private records: a smaller copy of CelebA is
// passed as many times more often, which its ε then pays for. The step size 5 is the
// public code's. A flow without privacy has DPSWflow-r's directions, sw-generator
// DPSWflow's release, and ours a step of three quarters of the way, as with 8 dimensions.
// The quick preset keeps its numbers of steps.
func (c *Config) Suit() {
	if c.Dataset != "celeba" {
		return // estimators have those for MNIST, and 003 the same for Fashion-MNIST
	}
	paper, _ := published.FlowOn(c.Dataset)
	c.Delta = paper.Delta
	whole := func(directions int) int { return directions / paper.Dim * paper.Dim }
	steps := c.Steps
	switch source(c.estimator).(type) {
	case open:
		c.Directions, c.StepSize = whole(paper.Resampled), 5
	case resampled:
		c.Directions, c.StepSize = whole(paper.Resampled), 5
		steps = paper.Steps(paper.Noise[0].Epochs)
	case presampled:
		c.Directions, c.PerStep, c.StepSize = whole(paper.Fixed), whole(paper.FixedPerStep), 5
		if c.Learner == Particles {
			steps = paper.FixedSteps
		}
	case spherical, classes, sketched, normal:
		if c.Learner == Particles {
			c.StepSize = 0.75 * float64(paper.Dim)
		}
	}
	if c.preset == experiment.Paper {
		c.Steps = steps
	}
}
