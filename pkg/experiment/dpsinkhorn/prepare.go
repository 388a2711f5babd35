package dpsinkhorn

import (
	"context"
	"fmt"
	"math"

	"molehill/models/semidebiased"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/dpsinkhorn/merf"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/transport/flow"
)

// opener makes a guide that looks at records through the releaser alone. say
// tells of work that takes time.
type opener func(ctx context.Context, release *privacy.Releaser, say func(run.Event)) (guide, error)

// loss is the training's, for rows that can be as far apart as in their space.
func (t *training) loss() (semidebiased.Loss, error) {
	dim := float64(t.rows.Private.Dim)
	l, apart := t.config.loss(len(t.rows.Classes)), 2*math.Sqrt(dim) // pixels are within 2
	if t.config.Space == Latents {
		apart = 2 // on the unit sphere
	}
	largest := l.Largest(apart, apart*math.Sqrt(dim))
	if t.config.kind.exact && t.config.StartSteps == 0 { // which makes none, but for public rows
		return l, l.CheckCosts(largest)
	}
	return l, l.CheckIterations(largest)
}

// onRecords plans noisy gradients, step by step.
func onRecords(t *training) (privacy.Plan, []privacy.Claim, opener, error) {
	c, rows := t.config, t.rows
	coordinates := c.Generated * rows.Private.Dim
	if c.Perturbed == ByParameters {
		coordinates = t.generator.Parameters()
	}
	loss, err := t.loss()
	if err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	plan, claims, err := c.Plan(rows.Private.Len(), coordinates)
	if err != nil {
		return plan, nil, nil, err
	}
	return plan, claims, func(_ context.Context, release *privacy.Releaser, _ func(run.Event)) (guide, error) {
		var solver semidebiased.Solver
		if c.kind.exact {
			solver, err = loss.Exact(c.Generated, room(c.Batch)*c.Multiplicity, rows.Private.Dim)
		} else {
			solver, err = loss.Compile(rows.Backend, c.Generated, room(c.Batch)*c.Multiplicity, rows.Private.Dim)
		}
		g := byImages{config: c, solver: solver, rows: rows, public: t.public, release: release}
		if c.Perturbed == ByParameters {
			return &byParameters{g}, err
		}
		return &g, err
	}, nil
}

// onSketch plans the one release of harmonic-classes, and learns from particles
// that have followed it.
func onSketch(t *training) (privacy.Plan, []privacy.Claim, opener, error) {
	c, rows := t.config, t.rows
	if classes := len(rows.Classes); min(c.Generated, c.Batch) < classes {
		return privacy.Plan{}, nil, nil, fmt.Errorf("generated is %d and batch %d; a step has rows of each of the %d classes, take at least as many of both", c.Generated, c.Batch, classes)
	}
	loss, err := t.loss()
	if err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	estimator, its, err := c.sketched(rows.Private.Dim, len(rows.Classes))
	if err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	if err := privateflow.Rehearse(estimator, its, rows.Private.Len(), rows.Private.Dim, t.public); err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	plan, claims, err := estimator.Plan(its, rows.Private.Len(), rows.Private.Dim, t.public)
	if err != nil {
		return plan, nil, nil, err
	}
	return plan, claims, func(ctx context.Context, release *privacy.Releaser, say func(run.Event)) (guide, error) {
		say(run.Event{Message: fmt.Sprintf("%d particles flow to one release", its.Particles)})
		field, err := estimator.Guide(its, privateflow.Records{Points: rows.Private.Points, Labels: rows.Private.Labels}, release, t.public)
		if err != nil {
			return nil, err
		}
		points, labels, err := privateflow.Follow(ctx, its, field, rows.Private.Dim, t.public)
		if err != nil {
			return nil, err
		}
		particles := semidebiased.Batch{Points: points, Labels: labels}
		members, err := clearest(particles, len(rows.Classes), field.(*flow.Labelled))
		if err != nil {
			return nil, err
		}
		program, err := loss.Compile(rows.Backend, c.Generated, c.Batch, rows.Private.Dim)
		return newByClasses(byParticles{program, particles, c.Batch, t.public}, c.Generated, members), err
	}, nil
}

// sketched is what makes the release of harmonic-classes, of latents of so many dimensions
// and classes, and its settings.
func (c *Config) sketched(dim, classes int) (privateflow.Estimator, *privateflow.Config, error) {
	estimator, err := privateflow.Estimators.Lookup("harmonic-classes")
	if err != nil {
		return nil, nil, err
	}
	its := estimator.Config(experiment.Quick)
	its.Dataset, its.Epsilon, its.Delta, its.Classes = c.Dataset, c.Epsilon, c.Delta, classes
	its.Particles = 10_000
	its.Directions = max(1, its.Directions/dim) * dim // whole bases
	return estimator, its, nil
}

// onEmbedding plans the one release of DP-MERF.
func onEmbedding(t *training) (privacy.Plan, []privacy.Claim, opener, error) {
	c, rows := t.config, t.rows
	scale := c.Scale
	if scale == 0 {
		scale = merf.Scale(rows.Test)
	}
	if err := merf.Check(rows.Private.Dim, len(rows.Classes), c.Features, scale); err != nil { // before anything is paid
		return privacy.Plan{}, nil, nil, err
	}
	n := rows.Private.Len()
	plan, err := c.embedded(n, len(rows.Classes))
	if err != nil {
		return plan, nil, nil, err
	}
	return plan, nil, func(_ context.Context, release *privacy.Releaser, say func(run.Event)) (guide, error) {
		say(run.Event{Message: fmt.Sprintf("mean embedding of %d rows", n)})
		embedding, err := merf.New(rows.Backend, rows.Private, len(rows.Classes), c.Features, scale, t.public, release)
		return byEmbedding{embedding}, err
	}, nil
}

// embedded is the promise of the embedding of n records of so many classes.
func (c *Config) embedded(n, classes int) (privacy.Plan, error) {
	sensitivity, err := merf.Sensitivity(n)
	if err != nil {
		return privacy.Plan{}, err
	}
	return privacy.Calibrate(privacy.Plan{Sensitivity: sensitivity, Records: n, Steps: 1, Budget: c.budget(), Coordinates: merf.Size(classes, c.Features)})
}

// byEmbedding learns from a mean embedding.
type byEmbedding struct{ *merf.Embedding }

func (g byEmbedding) gradient(_ int, x semidebiased.Batch) ([]float32, error) { return g.Gradient(x) }
func (g byEmbedding) close()                                                  { g.Close() }
