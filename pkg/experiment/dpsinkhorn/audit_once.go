package dpsinkhorn

import (
	"fmt"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/pkg/experiment/dpsinkhorn/merf"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
)

// domain is where the records of a run are from, as far as that is public.
type domain struct {
	records, dim, classes int
	public                noise.Source // the run's
}

// domainOf tells the domain by a run's pictures, its settings and its statement.
func domainOf(r *run.Run, c *Config, statement privacy.Statement) (of domain, err error) {
	of.public = noise.Seeded(r.Spec.Seed)
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return of, err
	}
	of.records = drawn.Records
	images, pixels, err := r.Table("samples.npy")
	if err != nil {
		return of, err
	}
	if of.classes = len(images) / pixels / PerClass; of.classes < 2 {
		return of, fmt.Errorf("its samples.npy has %d images, expected %d of each class: were they too few (samples)?", len(images)/pixels, PerClass)
	}
	if of.dim = pixels; c.Space == Latents {
		of.dim, err = latent.Dim(c.Dataset, c.Weights)
	}
	return of, err
}

// againstSketch is the game of the release that sinkhorn-sketch follows.
func againstSketch(c *Config, of domain, statement privacy.Statement) (audit.Game, error) {
	estimator, its, err := c.sketched(of.dim, of.classes)
	if err != nil {
		return audit.Game{}, err
	}
	plan, _, err := estimator.Plan(its, of.records, of.dim, of.public)
	if err == nil {
		err = audit.Same(plan, statement)
	}
	if err != nil {
		return audit.Game{}, err
	}
	return estimator.(privateflow.Auditable).Game(its, of.records, of.dim, plan, of.public)
}

// againstEmbedding asks for one bit an execution: which class the first record is of. No
// neighbours are further apart: each adds a vector of norm √2 to the row of its class.
func againstEmbedding(c *Config, of domain, statement privacy.Statement) (audit.Game, error) {
	plan, err := c.embedded(of.records, of.classes)
	if err == nil {
		err = audit.Same(plan, statement)
	}
	if err != nil {
		return audit.Game{}, err
	}
	b, err := backend.Open()
	if err != nil {
		return audit.Game{}, err
	}
	scale := c.Scale
	if scale == 0 {
		scale = 1 // that of the held-out rows, which says nothing of records in the origin
	}
	neighbours, err := audit.Once(plan, func(world int, release *privacy.Releaser) error {
		records := semidebiased.Batch{Points: transport.NewPoints(of.records, of.dim), Labels: make([]int, of.records)}
		records.Labels[0] = world
		embedding, err := merf.New(b, records, of.classes, c.Features, scale, of.public, release)
		if err == nil {
			embedding.Close()
		}
		return err
	})
	if err != nil {
		return audit.Game{}, err
	}
	return neighbours.Game(audit.OnceExecutions,
		"a record that is as all others are and of their class, or of another, seen through the release of all classes' mean embeddings and shares; the attacker knows the frequencies and all other records",
		append([]string{"what a generator learns from the release"}, audit.NotTested(1, 1)...)...), nil
}
