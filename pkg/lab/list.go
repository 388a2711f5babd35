package lab

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/viz"
)

// List is runs, newest first.
type List []*Result

// Runs lists the runs that there are, in whatever notebook or terminal they were
// started: all, or those of some experiments.
func Runs(experiments ...string) List {
	store, err := run.DefaultStore()
	if err != nil {
		fail(err)
	}
	entries, err := store.List()
	if err != nil {
		fail(err)
	}
	var list List
	for _, entry := range entries {
		if entry.Err != nil {
			fmt.Fprintf(os.Stderr, "%s cannot be read: %v\n", entry.ID, entry.Err)
		}
		if entry.Err == nil && (len(experiments) == 0 || slices.Contains(experiments, entry.Run.Spec.Experiment)) {
			list = append(list, &Result{entry.Run})
		}
	}
	return list
}

func (l List) plain() []*run.Run {
	runs := make([]*run.Run, len(l))
	for i, r := range l {
		runs[i] = r.Run
	}
	return runs
}

// Table shows how each run stands.
func (l List) Table() viz.Table {
	t, err := ListTable(l.plain())
	if err != nil {
		fail(err)
	}
	return t
}

// ListTable is the table of a list of runs.
func ListTable(runs []*run.Run) (viz.Table, error) {
	t := viz.Table{Header: []string{"run", "name", "state", "data set", "ε asked for", "ε as proved", "seed", "begun"}}
	if len(runs) == 0 {
		return viz.Table{Header: []string{"no runs yet"}}, nil
	}
	names, err := namesOf(runs)
	if err != nil {
		return t, err
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
