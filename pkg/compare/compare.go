// Package compare puts runs side by side, finished or not: what they differ in, how they
// stand and what they measured, in tables and pictures.
//
//	c, err := compare.Runs(runs)
//	table, err := c.Summary("sliced W₂")
//	figure, err := c.Against("epsilon", "sliced W₂")
//
// [List] is the table of runs that nobody compares.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// Comparison is several runs side by side, as [Runs] makes it: one label and state for each.
type Comparison struct {
	Runs   []*run.Run
	Labels []string // what tells them apart, for legends and columns
	States []string // how each stood when they were last looked at, as launch.Standing says it
}

// Runs puts runs side by side, each once. An error says that their names cannot be read.
func Runs(runs []*run.Run) (Comparison, error) {
	runs = once(runs)
	names, err := namesOf(runs)
	if err != nil {
		return Comparison{}, err
	}
	states, _ := launch.Standing(context.Background(), runs...)
	return Comparison{Runs: runs, Labels: labels(runs, names), States: states}, nil
}

// once leaves out runs that are there already: a run is one seed, however often it is named.
func once(runs []*run.Run) (all []*run.Run) {
	seen := map[string]bool{}
	for _, r := range runs {
		if !seen[r.Dir] {
			seen[r.Dir] = true
			all = append(all, r)
		}
	}
	return all
}

// Metrics returns the names of all numbers that the runs have measured, sorted,
// those that only say how sure others are last.
func (c Comparison) Metrics() []string {
	all := map[string]bool{}
	for _, r := range c.Runs {
		if result, err := r.Result(); err == nil {
			for name := range result.Metrics {
				all[name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int { return rankOf(a) - rankOf(b) })
	return names
}

func rankOf(metric string) int {
	if strings.HasSuffix(metric, " error") || strings.HasSuffix(metric, " floor") || strings.Contains(metric, " of nothing ") {
		return 1
	}
	return 0
}

// namesOf returns the names of runs by their IDs, whatever stores they lie in.
func namesOf(runs []*run.Run) (map[string][]string, error) {
	names, seen := map[string][]string{}, map[run.Store]bool{}
	for _, r := range runs {
		store := r.Store()
		if seen[store] {
			continue
		}
		seen[store] = true
		in, err := store.Names()
		if err != nil {
			return nil, err
		}
		maps.Copy(names, in)
	}
	return names, nil
}

// measured says which of the metrics no run has measured. A run that is not finished may
// still measure anything.
func (c Comparison) measured(metrics ...string) error {
	for _, r := range c.Runs {
		if !r.Is(run.Finished) {
			return nil
		}
	}
	known := c.Metrics()
	for _, name := range metrics {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no run measured %s; there is %s", name, cmp.Or(strings.Join(known, ", "), "none yet"))
		}
	}
	return nil
}
