package tables

import (
	"fmt"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/plugin"
	"molehill/viz"
)

func init() { sweep.Registry.Register(appendix{}) }

// appendix is the whole of 004's Appendix C: the other sweeps of this package in one,
// with figures that are called as in the paper.
type appendix struct{}

// chapters are its sweeps, and what the paper calls their figures.
var chapters = []struct {
	sweep.Sweep
	seeds   int // at least
	figures map[string]string
}{
	{lineSweep{}, 1, map[string]string{"mse-w2.png": "figure-05-w2.png", "mse-ks.png": "figure-05-ks.png"}},
	{grids[0], 1, map[string]string{"parity-scores.png": "figure-12.png", "parity-losses.png": "figure-13.png",
		"odds-scores-y0.png": "figure-14-y0.png", "odds-scores-y1.png": "figure-14-y1.png", "odds-losses.png": "figure-15.png"}},
	{adultSweep{}, 1, map[string]string{"error-gap.png": "figure-16.png"}},
	{grids[1], 1, map[string]string{"regression-outputs.png": "figure-17.png", "regression-losses.png": "figure-18.png"}},
	{grids[2], 1, map[string]string{"representation-outputs.png": "figure-19.png", "representation-losses.png": "figure-20.png"}},
	{grids[3], 10, map[string]string{"parity-losses.png": "figure-21-losses.png", "parity-differences.png": "figure-21-differences.png"}},
}

// Describe implements plugin.Plugin.
func (appendix) Describe() plugin.Info {
	return plugin.Info{Name: "fair-all", Version: "1", Source: "004 Appendix C, Figures 5 and 12 to 21",
		Summary: "all of fair and private learning: every other fair-… in one, with the paper's figures"}
}

// Requests implements sweep.Sweep: of Figure 21 at least ten seeds, as it is about
// them. What two figures show is made once.
func (appendix) Requests(preset experiment.Preset, seeds int) (requests []experiment.Request) {
	seen := map[string]bool{}
	for _, chapter := range chapters {
		for _, q := range chapter.Requests(preset, max(seeds, chapter.seeds)) {
			if key := fmt.Sprint(q); !seen[key] {
				seen[key] = true
				requests = append(requests, q)
			}
		}
	}
	slices.SortStableFunc(requests, func(a, b experiment.Request) int { return int(a.Seed) - int(b.Seed) })
	return requests
}

// Report implements sweep.Sweep.
func (appendix) Report(rows []sweep.Row, samples sweep.Samples) (r sweep.Report, err error) {
	r.Figures = map[string]viz.Figure{}
	for _, chapter := range chapters {
		part, err := chapter.Report(rows, samples)
		if err != nil {
			return r, err
		}
		if !slices.ContainsFunc(part.Tables, func(t viz.Table) bool { return len(t.Rows) > 0 }) {
			continue // and figures without anything in them
		}
		for _, table := range part.Tables {
			if !slices.ContainsFunc(r.Tables, func(t viz.Table) bool { return t.Title == table.Title }) {
				r.Tables = append(r.Tables, table)
			}
		}
		for name, figure := range part.Figures {
			if called, ok := chapter.figures[name]; ok {
				name = called
			}
			r.Figures[name] = figure
		}
	}
	return r, nil
}
