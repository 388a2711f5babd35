package synth

import (
	"context"

	"molehill/privacy"
	"molehill/privacy/audit"
)

// OneRelease is the game of a method that releases once, in which of two worlds the
// records are. The plan is made anew and must be that of the statement.
func OneRelease[Private, Made any](m Method[Private, Made], statement privacy.Statement, worlds [2]Private, tested string) (audit.Game, error) {
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return audit.Game{}, err
	}
	plan, err := m.Plan(drawn.Records)
	if err != nil {
		return audit.Game{}, err
	}
	if err := audit.Same(plan, statement); err != nil {
		return audit.Game{}, err
	}
	neighbours, err := audit.Once(plan, func(world int, release *privacy.Releaser) error {
		return m.Learn(context.Background(), nil, worlds[world], release, 1)
	})
	return neighbours.Game(audit.OnceExecutions, tested,
		audit.NotTestedOfRelease("what makes numbers of a record, and whether they depend on it alone")...), err
}
