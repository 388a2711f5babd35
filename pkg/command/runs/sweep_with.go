package runs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
)

// others are rows of a table that were made elsewhere, as results.json holds them.
type others []sweep.Row

// readOthers reads results.json of other folders, or machines.
func readOthers(paths []string) (all others, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--with: %w; give the results.json that a sweep has written", err)
		}
		var rows []sweep.Row
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

// check refuses rows of experiments that a table has no runs of.
func (o others) check(table string, requests []experiment.Request) error {
	for _, row := range o {
		if !slices.ContainsFunc(requests, func(q experiment.Request) bool { return q.Experiment == row.Experiment }) {
			return fmt.Errorf("--with: %s is a run of %s, which %s has no runs of; give results of the same table", row.Run, row.Experiment, table)
		}
	}
	return nil
}

// join returns the rows of the runs at hand with the others, in the order of requests and
// behind them those that no request is for. Of rows with the same settings and seed one
// stays, so that no seed counts twice: the one at hand, or that of a request, or else the
// last. What has been measured of it is kept where the other row is of the same computation:
// made again, a run may have other points. What is to be known of that is said.
func (o others) join(own []sweep.Row, requests []experiment.Request) (rows []sweep.Row, said []string) {
	var order []string
	for _, q := range requests {
		if id, err := idsOf([]experiment.Request{q}); err == nil { // its data may not be here
			order = append(order, id...)
		}
	}
	place := func(row sweep.Row) int {
		if at := slices.Index(order, row.Run); at >= 0 {
			return at
		}
		return len(order)
	}
	rest, asked := others{}, others{}
	for _, row := range o {
		if place(row) < len(order) {
			asked = append(asked, row)
		} else {
			rest = append(rest, row)
		}
	}
	for _, row := range slices.Concat(rest, asked, own) {
		same := slices.IndexFunc(rows, func(r sweep.Row) bool { return r.Run == row.Run || again(r, row) })
		if same < 0 {
			rows = append(rows, row)
			continue
		}
		switch before := rows[same]; {
		case before.Run != row.Run:
			said = append(said, fmt.Sprintf("%s is left out: %s has the same settings and seed", before.Run, row.Run))
		case before.Computed.Started.Equal(row.Computed.Started):
			row.Measured = measuredOf(row, before)
		case len(measuredOf(row, before)) > len(row.Measured):
			said = append(said, fmt.Sprintf("%s was made again: what was measured before is left out, as it is of other points; measure it again", row.Run))
		}
		rows[same] = row
	}
	slices.SortStableFunc(rows, func(a, b sweep.Row) int { return place(a) - place(b) })
	return rows, append(said, versions(rows)...)
}

// again says whether two rows are of the same settings, data and seed, in two versions
// perhaps.
func again(a, b sweep.Row) bool {
	unlike, err := sweep.Unlike(a, b)
	return err == nil && len(unlike) == 0 && a.Experiment == b.Experiment && a.Seed == b.Seed && a.Research == b.Research
}

// measuredOf is what has been measured of a run, as its row says, and what only another row
// of it says.
func measuredOf(row, other sweep.Row) []experiment.Measured {
	all := slices.Clone(row.Measured)
	for _, m := range other.Measured {
		if !slices.ContainsFunc(all, func(own experiment.Measured) bool { // of the same names
			return own.Rows == m.Rows && maps.EqualFunc(own.Values, m.Values, func(_, _ float64) bool { return true })
		}) {
			all = append(all, m)
		}
	}
	return all
}

// versions says which experiments a table has in several versions.
func versions(rows []sweep.Row) (said []string) {
	found := map[string][]string{}
	for _, row := range rows {
		version := row.Version
		if version == "" {
			version = "not told"
		}
		if !slices.Contains(found[row.Experiment], version) {
			found[row.Experiment] = append(found[row.Experiment], version)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if of := found[name]; len(of) > 1 {
			slices.Sort(of)
			said = append(said, fmt.Sprintf("versions of %s in one table: %s", name, strings.Join(of, ", ")))
		}
	}
	return said
}
