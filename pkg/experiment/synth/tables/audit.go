package tables

import (
	"slices"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// Game implements experiment.Auditable: DP-Sinkhorn by its steps (package training),
// the other methods by their release of two tables of which one row differs as much as
// rows can.
func (Experiment) Game(r *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*Config)
	if c.Method == Sinkhorn {
		return c.training(nil).Game(statement)
	}
	schema, err := data.Left(r)
	if err != nil {
		return audit.Game{}, err
	}
	columns := schema.Modelled()
	m, err := c.method(columns, schema.TargetIndex())
	if err != nil {
		return audit.Game{}, err
	}
	drawn, err := audit.Sampling(statement)
	if err != nil {
		return audit.Game{}, err
	}
	n := drawn.Records
	// A quantile moves furthest where the row that differs stays in its bin: half a bin
	// of rows is at the other end.
	others := n / (2 * c.Bins)
	if c.Method == Pairs {
		others = 0
	}
	var worlds [2]*table.Table
	for world := range worlds {
		worlds[world] = &table.Table{Schema: schema, Columns: columns}
		for _, column := range columns {
			codes := slices.Repeat([]table.Code{1}, n)
			for i := 1 - world; i <= others && i < n; i++ {
				codes[i] = table.Code(column.Levels())
			}
			worlds[world].Codes = append(worlds[world].Codes, codes)
		}
	}
	return synth.OneRelease(m, statement, worlds, "a row that holds the first value of every column, as the others do, replaced by one that holds the last, seen through the whole release; the attacker knows all other rows")
}
