package privateflow

import (
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
)

// Game asks for one bit an execution: which class the first record is of. No
// neighbours are further apart than those that differ in a label.
func (e classes) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	worlds := atAngle(n, dim, 1)
	for world := range worlds {
		worlds[world].Labels = make([]int, n)
		worlds[world].Labels[0] = world
	}
	return apart(e, c, plan, public, worlds,
		"a record that stands where all others do and is of their class, or of another, seen through the release of all classes' sizes and means; the attacker knows the basis and all other records")
}
