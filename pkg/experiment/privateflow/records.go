package privateflow

import (
	"fmt"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
)

// records returns the private rows, with labels if the settings have classes.
func (c *Config) records(d *latent.Data) (Records, error) {
	if c.Classes == 0 {
		return Records{Points: d.Private, Public: d.PublicHalf}, nil
	}
	if d.Labels.Private == nil || d.Labels.Test == nil || len(d.Classes) != c.Classes {
		return Records{}, fmt.Errorf("classes is %d, and the rows of %s have labels of %d classes; set classes to that, or take harmonic-flow, which needs none", c.Classes, c.Dataset, len(d.Classes))
	}
	return Records{Points: d.Private, Labels: d.Labels.Private, Public: d.PublicHalf}, nil
}

// notCovered is what the privacy of a release does not cover.
func (e Experiment) notCovered(c *Config, d *latent.Data) []string {
	open := slices.Clone(d.NotCovered)
	if needsPublic(e.Estimator) {
		open = append(open, readBeside(c))
	}
	if c.Classes == 0 {
		return open
	}
	return append(open, experiment.ClassesNotCovered(c.Classes))
}

func readBeside(c *Config) string {
	return fmt.Sprintf("the public half of %s, beside which the release is read", c.Dataset)
}
