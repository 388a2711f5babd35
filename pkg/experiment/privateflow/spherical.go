package privateflow

import (
	"context"
	"math"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
)

// spherical is the flow to a density made of noisy means of spherical harmonics.
type spherical struct{}

func (spherical) Describe() plugin.Info {
	return plugin.Info{Name: "harmonic-flow", Version: "1", Source: "Molehill: docs/harmonic-sketch.md",
		Summary: "private flow: means of spherical harmonics, released once, from which every direction's quantiles follow"}
}

func (spherical) Config(preset experiment.Preset) *Config {
	c := base(preset)
	c.Directions, c.StepSize, c.OnSphere = 144, 6, true
	c.Steps = 120
	if preset == experiment.Paper {
		c.Steps = 400
	}
	c.check = unpublished
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
	size := 0
	for l := 1; l <= degree; l++ {
		size += int(harmonic.Count(dim, l))
	}
	s, err := harmonic.Sensitivity(dim, degree, n)
	return once(c, n, size, s, err)
}

func (e spherical) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	degree, err := e.degree(c, records.Len(), records.Dim)
	if err != nil {
		return nil, err
	}
	target, err := flow.NewSpherical(records.Points, degree, directions(c, public), release)
	return flow.Slices{Target: target}, err
}

// Game asks for one bit an execution: which of two points of the sphere, as far
// apart as any for the harmonics, the first record is.
func (e spherical) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	degree, err := e.degree(c, n, dim)
	if err != nil {
		return audit.Game{}, err
	}
	basis, err := flow.SphericalBasis(dim, degree, public)
	if err != nil {
		return audit.Game{}, err
	}
	at := harmonic.Farthest(dim, degree)
	var worlds [2]transport.Points
	var sketches [2]*harmonic.Sketch
	for world := range worlds {
		records := transport.NewPoints(n, dim)
		for i := range n {
			records.Row(i)[0] = 1
		}
		if world == 1 {
			records.Row(0)[0], records.Row(0)[1] = float32(at), float32(math.Sqrt(1-at*at))
		}
		worlds[world] = records
		if sketches[world], err = harmonic.NewSketch(records, basis); err != nil {
			return audit.Game{}, err
		}
	}
	checked := map[bool]bool{}
	return audit.Game{
		Relation: privacy.ReplaceOne, Canaries: 1, Bits: 1, Executions: 4000, Gaussian: true,
		Tested:    "a record that stands where all others do, replaced by one that the harmonics tell from it best, seen through the release of all means; the attacker knows the basis and all other records",
		NotTested: notTested,
		Play: func(_ context.Context, bits []bool, secret noise.Source) ([]float64, error) {
			world := 0
			if bits[0] {
				world = 1
			}
			// The means before noise are the same whenever the records are; only
			// their release is fresh.
			released := *sketches[world]
			released.Means = slices.Clone(released.Means)
			if err := plan.Releaser(secret).Release(released.Means, plan.Sensitivity, 0); err != nil {
				return nil, err
			}
			if !checked[bits[0]] {
				guide, err := e.Guide(c, Records{Points: worlds[world]}, plan.Releaser(secret), public)
				if err != nil {
					return nil, err
				}
				u, seen, err := guide.(flow.Slices).At(0)
				if err != nil {
					return nil, err
				}
				told, err := released.Density(plan.NoiseStd).Quantiles(u, len(seen[0].Values))
				if err != nil {
					return nil, err
				}
				for j, q := range told {
					if !slices.Equal(q.Values, seen[j].Values) {
						return nil, errAnother
					}
				}
				checked[bits[0]] = true
			}
			var score float64
			for i, y := range released.Means {
				zero, one := sketches[0].Means[i], sketches[1].Means[i]
				score += (one - zero) * (y - (one+zero)/2)
			}
			return []float64{score / (plan.NoiseStd * plan.NoiseStd)}, nil
		},
	}, nil
}
