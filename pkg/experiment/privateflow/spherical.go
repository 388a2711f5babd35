package privateflow

import (
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
)

// spherical is the flow to a density made of noisy means of spherical harmonics.
type spherical struct{}

func (spherical) Describe() plugin.Info {
	return plugin.Info{Name: "harmonic-flow", Version: "5", Source: "Molehill: docs/harmonic-sketch.md",
		Summary: "private flow: means of spherical harmonics, released once, from which every direction's quantiles follow"}
}

func (spherical) Config(preset experiment.Preset) *Config {
	c := ofAverages(preset, 144)
	return &c
}

// degree returns the highest degree to release. The noise's multiplier of a single
// release is that of any sensitivity, so it can choose what to release.
func (spherical) degree(c *Config, n, dim int) (int, error) {
	if c.Degree > 0 {
		return c.Degree, nil
	}
	multiplier, err := multiplier(c, n)
	if err != nil {
		return 0, err
	}
	return harmonic.Degree(dim, n, multiplier)
}

// multiplier is that of a single release's noise.
func multiplier(c *Config, n int) (float64, error) {
	plan, err := privacy.Calibrate(privacy.Plan{Records: n, Steps: 1, Budget: c.budget(), Coordinates: 1,
		Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne}})
	return plan.NoiseStd, err
}

func (e spherical) Plan(c *Config, n, dim int, _ noise.Source) (privacy.Plan, []privacy.Claim, error) {
	degree, err := e.degree(c, n, dim)
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	s, err := harmonic.Sensitivity(dim, degree, n)
	return once(c, n, harmonic.Size(dim, degree), s, err)
}

func (e spherical) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	degree, err := e.degree(c, records.Len(), records.Dim)
	if err != nil {
		return nil, err
	}
	newTarget := flow.NewSpherical
	if c.Learner == Generator {
		newTarget = flow.NewSphericalForNetwork
	}
	target, err := newTarget(records.Points, degree, densityDirections(c, public), release)
	return flow.Slices{Target: target}, err
}

// Game asks for one bit an execution: which of two points of the sphere, as far
// apart as any for the harmonics, the first record is.
func (e spherical) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	degree, err := e.degree(c, n, dim)
	if err != nil {
		return audit.Game{}, err
	}
	return apart(e, c, plan, public, atAngle(n, dim, harmonic.Farthest(dim, degree)),
		"a record that stands where all others do, replaced by one that the harmonics tell from it best, seen through the release of all means; the attacker knows the basis and all other records")
}
