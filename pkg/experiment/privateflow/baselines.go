package privateflow

import (
	"fmt"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport/flow"
)

// once completes a plan for a single release of all records.
func once(c *Config, n, coordinates int, s privacy.Sensitivity, err error) (privacy.Plan, []privacy.Claim, error) {
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: n, Steps: 1, Budget: c.budget(), Coordinates: coordinates})
	return plan, nil, err
}

// normal is the baseline of two moments.
type normal struct{}

func (normal) Describe() plugin.Info {
	return plugin.Info{Name: "private-normal", Version: "1", Source: "Molehill: a baseline",
		Summary: "private baseline: mean and second moments, released once; particles flow to the normal distribution that has them"}
}

func (normal) Config(preset experiment.Preset) *Config {
	c := ofAverages(preset, 144)
	c.Steps = 60
	return &c
}

func (normal) Plan(c *Config, n, dim int, _ noise.Source) (privacy.Plan, []privacy.Claim, error) {
	s, err := flow.MomentsSensitivity(n, latentDiameter/2)
	return once(c, n, flow.MomentsCount(dim), s, err)
}

func (normal) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	target, err := flow.NewNormal(records.Points, latentDiameter/2, directions(c, public), release)
	return flow.Slices{Target: target}, err
}

// Game asks for one bit an execution: which of two points of the sphere, as far
// apart as any for the two moments, the first record is.
func (e normal) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	return apart(e, c, plan, public, atAngle(n, dim, -0.5),
		"a record that stands where all others do, replaced by one at 120° to it, which moves mean and second moments together the most; the attacker knows all other records")
}

// embedded is the mean embedding of DP-MERF in latent space.
type embedded struct{}

func (embedded) Describe() plugin.Info {
	return plugin.Info{Name: "embedding-flow", Version: "1", Source: "Harder et al. 2021; Arbel et al. 2019",
		Summary: "private baseline: particles that descend the maximum mean discrepancy to a mean embedding, released once"}
}

func (embedded) Config(preset experiment.Preset) *Config {
	c := base(preset)
	// On the unit sphere most points are √2 apart. A length scale of that order is
	// the usual choice, and it is public.
	c.Features, c.Scale, c.OnSphere, c.StepSize, c.Steps = 400, 0.7, true, 1, 150
	return &c
}

// Check implements Checker.
func (embedded) Check(c *Config) error {
	if c.Features < 1 || !(c.Scale > 0 && c.Scale <= experiment.Farthest) {
		return fmt.Errorf("features is %d and scale %v; take at least 1 feature, and a scale above 0 and at most %g", c.Features, c.Scale, experiment.Farthest)
	}
	return nil
}

func (embedded) Plan(c *Config, n, _ int, _ noise.Source) (privacy.Plan, []privacy.Claim, error) {
	s, err := flow.EmbeddingSensitivity(n)
	return once(c, n, 2*c.Features, s, err)
}

func (embedded) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	return flow.NewEmbedding(records.Points, c.Features, c.Scale, public, release)
}

// Game asks for one bit an execution: which end of a diameter the first record is.
func (e embedded) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	return apart(e, c, plan, public, atAngle(n, dim, -1),
		"a record that stands where all others do, replaced by its antipode, seen through the release of all features; the attacker knows the features and all other records")
}
