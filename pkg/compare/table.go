package compare

import (
	"math"
	"strings"

	"molehill/pkg/run"
	"molehill/viz"
)

// column is what a table says of each run.
type column struct {
	name  string
	cells []any
}

// columns returns all that is known of the runs: state, the settings that differ,
// ε, metrics (all if none is named), time.
func (c Comparison) columns(metrics []string) ([]column, error) {
	if err := c.measured(metrics...); err != nil {
		return nil, err
	}
	if len(metrics) == 0 {
		metrics = c.Metrics()
	}
	n := len(c.Runs)
	var all []column
	add := func(name string, cell func(i int) any) {
		cells := make([]any, n)
		for i := range cells {
			cells[i] = cell(i)
		}
		all = append(all, column{name, cells})
	}
	add("run", func(i int) any { return run.Short(c.Runs[i].ID) })
	settings := settingsOf(c.Runs...)
	for _, name := range varied(c.Runs) {
		add(strings.Replace(strings.ReplaceAll(name, "_", " "), "epsilon", "ε asked for", 1), func(i int) any { return settings[i][name] })
	}
	add("state", func(i int) any { return c.States[i] })
	shown := make([]any, n)
	private := false
	results := make([]run.Result, n)
	for i, r := range c.Runs {
		results[i], _ = r.Result() // not finished: no metrics
		if text := provedText(r); text != "" {
			shown[i], private = text, true
		}
	}
	if private {
		all = append(all, column{"ε as proved", shown})
	}
	for _, name := range metrics {
		add(name, func(i int) any {
			if value, ok := results[i].Metrics[name]; ok {
				return value
			}
			return nil
		})
	}
	add("seconds", func(i int) any {
		lives, err := c.Runs[i].Provenance()
		if err != nil || len(lives) == 0 || results[i].Finished.IsZero() {
			return nil
		}
		return math.Round(10*run.Took(lives, results[i].Finished).Seconds()) / 10
	})
	return all, nil
}

// few runs are the columns of a table, more of them its rows.
const few = 4

// Table shows what the runs differ in, how they stand and what they measured:
// the metrics that are named, or all.
func (c Comparison) Table(metrics ...string) (viz.Table, error) {
	if len(c.Runs) > few {
		return c.Rows(metrics...)
	}
	columns, err := c.columns(metrics)
	if err != nil {
		return viz.Table{}, err
	}
	t := viz.Table{Header: append([]string{""}, c.Labels...)}
	for _, column := range columns {
		t.Rows = append(t.Rows, append([]any{column.name}, column.cells...))
	}
	return t, nil
}

// Rows is the table with a row for each run, however few there are.
func (c Comparison) Rows(metrics ...string) (viz.Table, error) {
	all, err := c.columns(metrics)
	if err != nil {
		return viz.Table{}, err
	}
	var t viz.Table
	for _, column := range all {
		t.Header = append(t.Header, column.name)
	}
	for i := range c.Runs {
		row := make([]any, len(all))
		for j, column := range all {
			row[j] = column.cells[i]
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}
