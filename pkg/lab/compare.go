package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/pkg/run/draw"
	"molehill/viz"
)

// Comparison is several runs side by side, finished or not.
type Comparison struct {
	Runs   []*Result
	Labels []string // what tells them apart, for legends and columns
	states []string // how each stood when they were last looked at
}

// Compare puts runs side by side:
//
//	c := lab.Compare(lab.Open("baseline"), r)
//	viz.Show(c.Figure(), c.Table())
func Compare(runs ...*Result) Comparison {
	if len(runs) == 0 {
		fail(errors.New("nothing to compare; give runs, such as lab.Compare(lab.Open(\"first\"), lab.Open(\"second\"))"))
	}
	c, err := CompareRuns(List(runs).plain())
	if err != nil {
		fail(err)
	}
	return c
}

// CompareRuns is Compare for those who can return an error.
func CompareRuns(runs []*run.Run) (Comparison, error) {
	var c Comparison
	runs = once(runs)
	c.states, _ = launch.Standing(context.Background(), runs...)
	names, err := namesOf(runs)
	if err != nil {
		return c, err
	}
	c.Labels = labels(runs, names)
	for _, r := range runs {
		c.Runs = append(c.Runs, &Result{r})
	}
	return c, nil
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

func (c Comparison) plain() []*run.Run { return List(c.Runs).plain() }

// Metrics returns the names of all numbers that the runs have measured, sorted,
// those that only say how sure others are last.
func (c Comparison) Metrics() []string {
	all := map[string]bool{}
	for _, r := range c.Runs {
		if result, err := r.Run.Result(); err == nil {
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

// column is what a table says of each run.
type column struct {
	name  string
	cells []any
}

// measured says which of the metrics no run has measured. A run that is not finished may
// still measure anything.
func (c Comparison) measured(metrics ...string) error {
	for _, r := range c.Runs {
		if state, err := r.State(); err != nil || state != run.Finished {
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

// columns returns all that is known of the runs: state, the settings that differ,
// ε, metrics (all if none is named), time.
func (c Comparison) columns(metrics []string) []column {
	if err := c.measured(metrics...); err != nil {
		fail(err)
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
	settings := settingsOf(c.plain()...)
	for _, name := range varied(c.plain()) {
		add(strings.Replace(strings.ReplaceAll(name, "_", " "), "epsilon", "ε asked for", 1), func(i int) any { return settings[i][name] })
	}
	add("state", func(i int) any { return c.states[i] })
	shown := make([]any, n)
	private := false
	results := make([]run.Result, n)
	for i, r := range c.Runs {
		results[i], _ = r.Run.Result() // not finished: no metrics
		if text := provedText(r.Run); text != "" {
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
		return math.Round(10*results[i].Finished.Sub(lives[len(lives)-1].Started).Seconds()) / 10
	})
	return all
}

// few runs are the columns of a table, more of them its rows.
const few = 4

// Table shows what the runs differ in, how they stand and what they measured:
// the metrics that are named, or all.
func (c Comparison) Table(metrics ...string) viz.Table {
	if len(c.Runs) > few {
		return c.Rows(metrics...)
	}
	var t viz.Table
	t.Header = append([]string{""}, c.Labels...)
	for _, column := range c.columns(metrics) {
		t.Rows = append(t.Rows, append([]any{column.name}, column.cells...))
	}
	return t
}

// Curve draws a curve that runs told of on their way, "sliced W₂" for example,
// in one figure; runs that have none of that name are left out. Where none has,
// the figure is empty and its title says which curves there are.
func (c Comparison) Curve(name string) viz.Curves {
	figure := viz.Curves{Title: name, X: viz.Axis{Label: "step"}, Y: viz.Axis{Label: name, Log: true}}
	for i, r := range c.Runs {
		drawn, err := draw.Curve(r.Run, name)
		if err != nil {
			continue
		}
		line := drawn.Lines[0]
		line.Name = c.Labels[i]
		figure.Y.Log = figure.Y.Log && drawn.Y.Log
		figure.Lines = append(figure.Lines, line)
	}
	if len(figure.Lines) == 0 {
		figure.Title = fmt.Sprintf("none of the runs told of %s; there is %s", name, cmp.Or(strings.Join(c.Curves(), ", "), "none yet"))
	}
	return figure
}

// Curves returns the names of all curves that the runs told of, those of most runs
// first.
func (c Comparison) Curves() []string {
	count := map[string]int{}
	for _, r := range c.Runs {
		names, _ := r.Run.Curves() // those that can be read
		for _, name := range names {
			count[name]++
		}
	}
	names := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	return names
}

// Figure draws the curve that most of the runs have, with a line for each run.
// Curve draws another, which the caption names.
func (c Comparison) Figure() viz.Curves {
	names := c.Curves()
	if len(names) == 0 {
		return viz.Curves{Title: "none of the runs has told of a curve yet"}
	}
	figure := c.Curve(names[0])
	if len(names) > 1 {
		figure.Caption = "There are also " + strings.Join(names[1:], ", ") + "."
	}
	return figure
}

// Samples shows up to n images of each run that made some, beside each other.
func (c Comparison) Samples(n int) viz.Figure {
	var panels viz.Panels
	panels.Columns = min(3, len(c.Runs))
	for i, r := range c.Runs {
		grid, err := draw.Images(r.Run, "samples.npy", n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			fail(err)
		}
		grid.Title = c.Labels[i]
		panels.Cells = append(panels.Cells, grid)
		panels.Cols = append(panels.Cols, c.Labels[i])
	}
	if len(panels.Cells) == 0 {
		fail(errors.New("none of the runs has made images yet"))
	}
	if len(panels.Cells) > panels.Columns {
		panels.Cols, panels.Above = nil, panels.Cols // those of columns would stand above the first row alone
	}
	return panels
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
