package runs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"molehill/pkg/experiment"
)

// others are rows of a table that were made elsewhere, as results.json holds them.
type others []experiment.Row

// readOthers reads results.json of other folders, or machines.
func readOthers(paths []string) (all others, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--with: %w; give the results.json that a sweep has written", err)
		}
		var rows []experiment.Row
		if err := json.Unmarshal(text, &rows); err != nil {
			return nil, fmt.Errorf("--with %s: expected the results.json that a sweep has written: %w", path, err)
		}
		for i, row := range rows {
			if row.Run == "" || row.Experiment == "" {
				return nil, fmt.Errorf("--with %s: row %d names no run; expected the results.json that a sweep has written", path, i+1)
			}
		}
		all = append(all, rows...)
	}
	return all, nil
}

// join returns the rows of the runs at hand with the others, in the order of requests and
// behind them those that no request is for. Of a run that is at hand its own row counts, of
// several others the last; what has been measured of either is kept.
func (o others) join(own []experiment.Row, requests []experiment.Request) ([]experiment.Row, error) {
	var order []string
	for _, q := range requests {
		spec, err := q.Spec()
		if err != nil {
			return nil, err
		}
		id, err := spec.ID()
		if err != nil {
			return nil, err
		}
		order = append(order, id)
	}
	var rows []experiment.Row
	for _, row := range slices.Concat(o, own) {
		same := slices.IndexFunc(rows, func(r experiment.Row) bool { return r.Run == row.Run })
		if same < 0 {
			rows = append(rows, row)
			continue
		}
		row.Measured = slices.Clone(row.Measured)
		for _, m := range rows[same].Measured {
			if !slices.ContainsFunc(row.Measured, func(own experiment.Measured) bool { // of the same names
				return own.Rows == m.Rows && maps.EqualFunc(own.Values, m.Values, func(_, _ float64) bool { return true })
			}) {
				row.Measured = append(row.Measured, m)
			}
		}
		rows[same] = row
	}
	place := func(row experiment.Row) int {
		if at := slices.Index(order, row.Run); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortStableFunc(rows, func(a, b experiment.Row) int { return place(a) - place(b) })
	return rows, nil
}
