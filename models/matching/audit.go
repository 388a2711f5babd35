package matching

import (
	"fmt"

	"molehill/models/backend"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// Training is what an attack needs to know of one that follows noisy gradients. The
// records that it draws have a category for each sample of its pairs that is private, A
// before B, pair after pair; every record of a batch is in a sample.
type Training struct {
	Clipping Clipping
	Query    Query // what is known of a batch
	Outputs  int   // d
	// Sensitivity is that of its settings, which its statement must have too.
	Sensitivity privacy.Sensitivity
	Steps       int // that follow such gradients, the first of the plan
	// Points says that the record that is looked for is one of the first pair's Fixed
	// points.
	Points bool
}

// Game attacks the first steps of a training that a statement is of: the worst
// neighbours that are known, through this package's own clipping on a backend, and the
// plan's samples and noise. In one dimension they are as far apart as Sensitivity says.
// The attacker chose all records and sees every release.
func (t Training) Game(on *backend.Backend, statement privacy.Statement) (audit.Game, error) {
	plan, rate, err := audit.Stated(statement, t.Sensitivity, min(t.Steps, audit.Steps), t.category(t.differs()))
	if err != nil {
		return audit.Game{}, err
	}
	worlds, err := t.gradients(on, t.neighbours())
	if err != nil {
		return audit.Game{}, err
	}
	n := audit.Sampled(plan, rate, worlds)
	return n.Game(audit.Executions,
		fmt.Sprintf("one of two records whose outputs, Jacobians and losses clipping leaves as far apart as we know how to, %.0f %% of the sensitivity, seen through the releases of the first %d steps; the attacker knows both gradients, and not which steps drew the record", 100*n.Apart()/t.Sensitivity.Value, plan.Steps),
		append([]string{"the network itself: one of two parameters, which has whatever outputs and Jacobians the attacker wants, stands in its place"}, audit.NotTested(plan.Steps, statement.Steps)...)...), nil
}
