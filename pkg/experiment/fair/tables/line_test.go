package tables

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"
	"molehill/privacy"
	"molehill/viz"
)

// Every run of the sweep is one that can be made, and rows of them come back in the
// table: one of each training and one of each radius.
func TestLineSweep(t *testing.T) {
	of, err := sweep.Registry.Lookup("fair-regression-1d")
	if err != nil {
		t.Fatal(err)
	}
	var rows []sweep.Row
	requests := of.Requests(experiment.Quick, 2)
	for i, q := range requests {
		spec, err := q.Spec()
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]float64{"task loss": 1, "distance": 2, "KS": 3}
		for _, radius := range []float64{0, 0.02, 0.05, 0.1, 0.15, 0.2} {
			m[fair.AtRadius("task loss", radius)], m[fair.AtRadius("distance", radius)], m[fair.AtRadius("KS", radius)] = 10+float64(q.Seed), 5, 6
		}
		rows = append(rows, sweep.Row{Run: fmt.Sprint(i), Experiment: q.Experiment, Seed: q.Seed, Config: spec.Config, Metrics: m,
			Claims: []privacy.Claim{{Epsilon: 2, Sound: true}}})
	}
	report, err := of.Report(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := report.Tables[0]
	if want := len(lineAlphas) + 6; len(table.Rows) != want {
		t.Errorf("%d lines, want %d:\n%v", len(table.Rows), want, table)
	}
	if text := table.String(); !strings.Contains(text, "11.5 ± 0.71") || !strings.Contains(text, "β = 0.15") || !strings.Contains(text, "α = 0.95") {
		t.Errorf("the table is\n%s", text)
	}
	for name, f := range report.Figures {
		if err := f.PNG(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if empty, err := of.Report(nil, nil); err != nil || len(empty.Tables[0].Rows) != 0 {
		t.Errorf("of no runs: %v", err)
	}
}

// Notes stand on the side of a line where the other one is not.
func TestUnderALine(t *testing.T) {
	l := viz.Line{X: []float64{3, 1, 2}, Y: []float64{0, 4, 2}}
	for _, c := range []struct {
		x, y float64
		want bool
	}{{1.5, 2.9, true}, {1.5, 3.1, false}, {2, 1.9, true}, {2, 2.1, false}, {0, 3.9, true}, {0, 4.1, false}, {9, -0.1, true}, {9, 0.1, false}} {
		if under(l, c.x, c.y) != c.want {
			t.Errorf("(%v, %v) is under the line: %v, want %v", c.x, c.y, !c.want, c.want)
		}
	}
}
