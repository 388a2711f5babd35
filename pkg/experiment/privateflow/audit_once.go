package privateflow

import (
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
func atAngle(n, dim int, inner float64) [2]Records {
	return [2]Records{{Points: transport.WithOutlier(n, dim, 1)}, {Points: transport.WithOutlier(n, dim, inner)}}
}
