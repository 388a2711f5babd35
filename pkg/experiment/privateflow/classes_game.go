package privateflow

import (
	"context"
	"slices"

	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
)

// Game asks for one bit an execution: which class the first record is of. No
// neighbours are further apart than those that differ in a label.
func (e classes) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	degree, err := e.degree(c, n, dim)
	if err != nil {
		return audit.Game{}, err
	}
	basis, err := flow.SphericalBasis(dim, degree, public)
	if err != nil {
		return audit.Game{}, err
	}
	records := transport.NewPoints(n, dim)
	for i := range n {
		records.Row(i)[0] = 1
	}
	var worlds [2]Records
	var sketches [2]*harmonic.Labelled
	for world := range worlds {
		worlds[world] = Records{Points: records, Labels: make([]int, n)}
		worlds[world].Labels[0] = world
		if sketches[world], err = harmonic.NewLabelled(records, worlds[world].Labels, c.Classes, basis); err != nil {
			return audit.Game{}, err
		}
	}
	checked := map[bool]bool{}
	return audit.Game{
		Relation: privacy.ReplaceOne, Canaries: 1, Bits: 1, Executions: 4000, Gaussian: true,
		Tested:    "a record that stands where all others do and is of their class, or of another, seen through the release of all classes' sizes and means; the attacker knows the basis and all other records",
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
				guide, err := e.Guide(c, worlds[world], plan.Releaser(secret), public)
				if err != nil {
					return nil, err
				}
				if err := sameClasses(guide.(*flow.Labelled), &released, plan.NoiseStd); err != nil {
					return nil, err
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

// sameClasses returns an error unless a guide was made of a release.
func sameClasses(guide *flow.Labelled, released *harmonic.Labelled, noiseStd float64) error {
	frequencies, densities := released.Densities(noiseStd)
	if !slices.Equal(frequencies, guide.Frequencies) {
		return errAnother
	}
	u, err := guide.Directions.Draw(released.Basis.Dim, 0)
	if err != nil {
		return err
	}
	const knots = 16
	told, err := harmonic.Quantiles(densities, u, knots)
	if err != nil {
		return err
	}
	seen, err := harmonic.Quantiles(guide.Densities, u, knots)
	if err != nil {
		return err
	}
	for class := range told {
		for j, q := range told[class] {
			if !slices.Equal(q.Values, seen[class][j].Values) {
				return errAnother
			}
		}
	}
	return nil
}
