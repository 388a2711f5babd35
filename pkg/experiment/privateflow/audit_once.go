package privateflow

import (
	"math"

	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
)

// apart is the game of an estimator that releases once: it asks for one bit an
// execution, in which of two worlds the records are. The attacker takes the
// likelihood ratio of what was released, the best there is against Gaussian noise.
func apart(e Estimator, c *Config, plan privacy.Plan, public noise.Source, worlds [2]Records, tested string) (audit.Game, error) {
	neighbours, err := audit.Once(plan, func(world int, release *privacy.Releaser) error {
		_, err := e.Guide(c, worlds[world], release, public)
		return err
	})
	return neighbours.Game(audit.OnceExecutions, tested, notTested...), err
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
