package lab

import (
	"fmt"
	"os"
	"slices"

	"molehill/pkg/compare"
	"molehill/pkg/run"
	"molehill/viz"
)

// List is runs, newest first.
type List []*Result

// Runs lists the runs that there are, in whatever notebook or terminal they were
// started: all, or those of some experiments.
func Runs(experiments ...string) List {
	var list List
	for _, entry := range must(must(run.DefaultStore()).List()) {
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
func (l List) Table() viz.Table { return must(compare.List(l.plain())) }
