package privateflow

import (
	"context"
	"fmt"
	"slices"

	"molehill/models"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/run"
)

// records returns the private rows, with labels if the settings have classes.
func (c *Config) records(d *latent.Data) (Records, error) {
	if c.Classes == 0 {
		return Records{Points: d.Private}, nil
	}
	if d.Labels.Private == nil || d.Labels.Test == nil || len(d.Classes) != c.Classes {
		return Records{}, fmt.Errorf("classes is %d, and the rows of %s have labels of %d classes; set classes to that, or take harmonic-flow, which needs none", c.Classes, c.Dataset, len(d.Classes))
	}
	return Records{Points: d.Private, Labels: d.Labels.Private}, nil
}

// withPublic adds the public half, which the autoencoder has learned from, if the
// estimator asks for it.
func (e Experiment) withPublic(ctx context.Context, r *run.Run, c *Config, records Records) (Records, error) {
	if !needsPublic(e.Estimator) {
		return records, nil
	}
	var err error
	records.Public, err = latent.PublicHalf(ctx, c.Dataset, c.Weights, telling(r))
	return records, err
}

// telling emits progress, which is no reason to stop where it cannot be told.
func telling(r *run.Run) func(run.Event) {
	return func(e run.Event) { _ = r.Emit(e) }
}

// notCovered is what the privacy of a release leaves out.
func (e Experiment) notCovered(c *Config, d *latent.Data) []string {
	open := slices.Clone(d.NotCovered)
	if needsPublic(e.Estimator) {
		open = append(open, fmt.Sprintf("the public half of %s, beside which the release is read", c.Dataset))
	}
	if model, err := models.Registry.Lookup(c.Weights); c.Weights != "" && err == nil {
		open = append(open, fmt.Sprintf("that the code which %s gives an image depends on that image alone, as the model's author promises", model.Describe().Name))
	}
	if c.Classes == 0 {
		return open
	}
	return append(open, experiment.ClassesLeftOut(c.Classes))
}
