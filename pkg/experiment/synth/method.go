package synth

import (
	"context"

	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// Sinkhorn is the method that both tables and images have: a generator that learns by the
// noisy gradient of a Sinkhorn loss (package training).
const Sinkhorn = "dp-sinkhorn"

// Method is a way to make synthetic records of private ones: rows of tables, or images.
// It is for one run.
type Method[Private, Made any] interface {
	// Plan is what is promised to n records, with the noise that keeps it.
	Plan(n int) (privacy.Plan, error)
	// Learn is the only part that sees records. It makes as many releases as are
	// planned, and keeps what it has learned of them.
	Learn(ctx context.Context, r *run.Run, private Private, release *privacy.Releaser, releases int) error
	// Make makes so many records of what was learned of n.
	Make(ctx context.Context, r *run.Run, n, count int) (Made, error)
	// Tell tells of the release and of what was made of it. It looks at nothing else.
	Tell(statement privacy.Statement, made Made) (report.Section, run.Values, error)
	// Close releases what the method holds.
	Close()
}

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
