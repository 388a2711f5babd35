package privateflow

import (
	"context"
	"math"
	"slices"

	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
)

// apart is the game of an estimator that releases once: it asks for one bit an
// execution, in which of two worlds the records are. The attacker takes the
// likelihood ratio of what was released, the best there is against Gaussian noise.
func apart(e Estimator, c *Config, plan privacy.Plan, public noise.Source, worlds [2]Records, tested string) (audit.Game, error) {
	// Before noise the worlds are always the same; only their release is fresh.
	var tables [2][]float64
	for world, records := range worlds {
		open := plan
		open.Budget.Epsilon, open.NoiseStd = math.Inf(1), 0
		var err error
		if tables[world], err = releasedOf(e, c, records, open.Releaser(noise.Seeded(0)), public); err != nil {
			return audit.Game{}, err
		}
	}
	checked := map[bool]bool{}
	return audit.Game{
		Relation: privacy.ReplaceOne, Canaries: 1, Bits: 1, Executions: 4000, Gaussian: true,
		Tested: tested, NotTested: notTested,
		Play: func(_ context.Context, bits []bool, secret noise.Source) ([]float64, error) {
			world := 0
			if bits[0] {
				world = 1
			}
			released := slices.Clone(tables[world])
			if err := plan.Releaser(secret).Release(released, plan.Sensitivity, 0); err != nil {
				return nil, err
			}
			if !checked[bits[0]] {
				own, err := releasedOf(e, c, worlds[world], plan.Releaser(secret), public)
				if err != nil {
					return nil, err
				}
				if !slices.Equal(own, released) {
					return nil, errAnother
				}
				checked[bits[0]] = true
			}
			var score float64
			for i, y := range released {
				zero, one := tables[0][i], tables[1][i]
				score += (one - zero) * (y - (one+zero)/2)
			}
			return []float64{score / (plan.NoiseStd * plan.NoiseStd)}, nil
		},
	}, nil
}

// atAngle are two worlds of n records that stand at one point of the sphere, and
// one that does so too, or stands elsewhere at the given inner product to them.
func atAngle(n, dim int, inner float64) (worlds [2]Records) {
	for world := range worlds {
		records := transport.NewPoints(n, dim)
		for i := range n {
			records.Row(i)[0] = 1
		}
		if world == 1 {
			records.Row(0)[0], records.Row(0)[1] = float32(inner), float32(math.Sqrt(1-inner*inner))
		}
		worlds[world] = Records{Points: records}
	}
	return worlds
}

// releasedOf returns what an estimator releases of records.
func releasedOf(e Estimator, c *Config, records Records, release *privacy.Releaser, public noise.Source) (released []float64, err error) {
	release.Keep(func(_ int, values []float64) error {
		released = slices.Clone(values)
		return nil
	})
	_, err = e.Guide(c, records, release, public)
	return released, err
}
