package audit

import (
	"context"
	"math"
	"slices"

	"molehill/privacy"
	"molehill/privacy/noise"
)

// Neighbours are two worlds of records that differ in the first of them, seen
// through every release of a plan.
type Neighbours struct {
	Plan privacy.Plan
	// Rate is the probability with which a release looks at the record that differs:
	// 1 for a plan that looks at all records.
	Rate float64
	// Worlds are what a release that looks at that record is before its noise, in
	// either world. One that does not is Worlds[0] in both.
	Worlds [2][]float64
	// Release makes release step of a world by the mechanism itself.
	Release func(world int, release *privacy.Releaser, step int) ([]float64, error)
}

// Game asks for one bit an execution: which of the two worlds it is. The attacker
// knows both and takes the likelihood ratio of all releases, the best there is
// against Gaussian noise; which releases looked at the record is not told.
func (n Neighbours) Game(executions int, tested string, notTested ...string) Game {
	return Game{
		Relation: n.Plan.Sensitivity.Relation, Canaries: 1, Bits: 1, Executions: executions, Gaussian: n.Rate == 1,
		Tested: tested, NotTested: slices.Clone(notTested),
		Play: func(ctx context.Context, bits []bool, secret noise.Source) ([]float64, error) {
			world, variance := 0, n.Plan.NoiseStd*n.Plan.NoiseStd
			if bits[0] {
				world = 1
			}
			release := n.Plan.Releaser(secret)
			var score float64
			for step := range n.Plan.Steps {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				released, err := n.Release(world, release, step)
				if err != nil {
					return nil, err
				}
				var ratio float64
				for i, y := range released {
					zero, one := n.Worlds[0][i], n.Worlds[1][i]
					ratio += (one - zero) * (y - (one+zero)/2)
				}
				ratio /= variance
				if n.Rate < 1 {
					ratio = math.Log1p(n.Rate * math.Expm1(ratio))
				}
				score += ratio
			}
			return []float64{score}, nil
		},
	}
}
