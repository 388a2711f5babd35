package images

import (
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/harmonic"
)

// Game implements experiment.Auditable: DP-Sinkhorn by its steps (package training),
// the harmonic sketch by two neighbours that no others are further apart than. With
// classes these differ in a label, without in a point of the sphere.
func (Experiment) Game(r *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*Config)
	schema, err := data.Left(r)
	if err != nil {
		return audit.Game{}, err
	}
	_, dim, err := r.Table(pointsFile)
	if err != nil {
		return audit.Game{}, err
	}
	if c.Method == Sinkhorn {
		return newBySinkhorn(c, schema.Names(), dim).Game(statement)
	}
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return audit.Game{}, err
	}
	n := drawn.Records
	what, err := c.sketch(n, dim, len(schema.Names()))
	if err != nil {
		return audit.Game{}, err
	}
	var worlds [2]encoded
	for world := range worlds {
		worlds[world] = encoded{points: transport.WithOutlier(n, dim, 1), labels: make([]int, n)}
	}
	tested := "an image whose point is where all others are, and of their class, or of another, seen through the release of all classes' sizes and means; the attacker knows the basis and all other images"
	if what.labelled() {
		worlds[1].labels[0] = 1
	} else {
		tested = "an image whose point is where all others are, replaced by one that the harmonics tell from it best, seen through the release of all means; the attacker knows the basis and all other images"
		worlds[1].points = transport.WithOutlier(n, dim, harmonic.Farthest(dim, what.degree))
	}
	return synth.OneRelease(c.method(schema, dim, noise.Seeded(r.Spec.Seed)), statement, worlds, tested)
}
