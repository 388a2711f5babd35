package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/viz"
)

// List is the table of a list of runs: how each stands, and what it is of.
func List(runs []*run.Run) (viz.Table, error) {
	t := viz.Table{Header: []string{"run", "name", "state", "data set", "ε asked for", "ε as proved", "seed", "begun"}}
	if len(runs) == 0 {
		return viz.Table{Header: []string{"no runs yet"}}, nil
	}
	names, err := namesOf(runs)
	if err != nil {
		return viz.Table{}, err
	}
	states, _ := launch.Standing(context.Background(), runs...)
	now := time.Now()
	for i, r := range runs {
		settings := settingsOf(r)[0]
		data, ok := settings["dataset"]
		if !ok {
			data = ownData(r)
		}
		t.Add(r.ID, strings.Join(names[r.ID], ", "), states[i], data, settings["epsilon"], provedText(r), settings["seed"], ago(r.Created, now))
	}
	return withoutEmpty(t), nil
}

// ownData is how the ledger calls the data of somebody's own that a run has read, "" if it
// has not begun.
func ownData(r *run.Run) string {
	computed, err := r.Provenance()
	if err != nil || len(computed) == 0 {
		return ""
	}
	if data := computed[len(computed)-1].Data; strings.HasPrefix(data, "own/") {
		return data
	}
	return ""
}

// withoutEmpty leaves out columns in which no row says anything.
func withoutEmpty(t viz.Table) viz.Table {
	var kept []int
	for j := range t.Header {
		if slices.ContainsFunc(t.Rows, func(row []any) bool { return j < len(row) && row[j] != nil && row[j] != "" }) {
			kept = append(kept, j)
		}
	}
	out := viz.Table{Title: t.Title, Caption: t.Caption}
	for _, j := range kept {
		out.Header = append(out.Header, t.Header[j])
	}
	for _, row := range t.Rows {
		var cells []any
		for _, j := range kept {
			cells = append(cells, row[j])
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// ago writes when something was, for people.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return t.Format(time.DateOnly)
}
