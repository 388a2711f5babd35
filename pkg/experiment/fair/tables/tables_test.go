package tables

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"
	"molehill/viz"
)

// Reports are made of rows alone, and with the runs have what the paper's figures show.
func TestReports(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
	var rows, stored []sweep.Row
	for _, epsilon := range []string{"inf", "3"} {
		for _, alpha := range []string{"0", "0.9"} {
			r := experimenttest.Acquired(t, experiment.Request{Experiment: "fair-classification", Seed: 1, Research: true, Settings: map[string]string{
				"epsilon": epsilon, "alpha": alpha, "common_noise": "true", "records": "2000", "held": "500", "steps": "20", "delta": "1e-4"}})
			row, err := sweep.Finished(experimenttest.Computed(t, r, 0))
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
	}
	if text, err := json.Marshal(rows); err != nil || json.Unmarshal(text, &stored) != nil {
		t.Fatal(err)
	}
	for _, g := range grids[:1] {
		report, err := g.Report(stored, nil)
		if err != nil || len(report.Tables) != 1 || len(report.Tables[0].Rows) != 4 || len(report.Figures) != 1 {
			t.Fatalf("%s: %d tables, %d figures, %v", g.Name, len(report.Tables), len(report.Figures), err)
		}
		if first := report.Tables[0].Rows[0]; first[0] != "∞" || first[2] != "0" || report.Tables[0].Rows[3][2] != "0.9" {
			t.Errorf("%v; want ε from ∞ down and α from 0 up", report.Tables[0].Rows)
		}
	}
	for _, g := range []grid{grids[0], grids[3]} {
		report, err := g.Report(rows, nil)
		if err != nil || len(report.Figures) != 3 {
			t.Fatalf("%s: %v, %v", g.Name, slices.Collect(maps.Keys(report.Figures)), err)
		}
		if f, ok := report.Figures["parity-scores.png"].(viz.Panels); ok {
			accuracy, _ := sweep.OverSeeds(rows[2:3], sweep.Metric{Name: "accuracy"})
			if want := fmt.Sprintf("ACC %.2f, DI ", accuracy); len(f.Above) != 4 || !strings.Contains(f.Above[2], want) || !strings.Contains(f.Above[0], "noise 0, loss") {
				t.Errorf("above panels stands %q; want %q of ε = 3, α = 0", f.Above, want)
			}
		}
		if f, ok := report.Figures["parity-differences.png"].(viz.Panels); ok {
			l := f.Cells[0].(viz.Curves).Lines[0] // all runs of a seed start alike
			if len(l.Y) != 20 || l.Y[0] != 0 || l.Y[19] == 0 {
				t.Errorf("differences along the training: %v", l.Y)
			}
		}
		for name, f := range report.Figures {
			if err := f.Save(t.TempDir() + "/" + name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// A run of another version is not averaged with those of this one, nor drawn among them.
	rows[1].Config, rows[1].Version = rows[0].Config, "of before"
	report, err := grids[0].Report(rows, nil)
	if err != nil || report.Tables[0].Rows[1][2] != "0 (version of before and "+rows[0].Version+")" {
		t.Fatalf("%v, %v; want a line for the other version", err, report.Tables)
	}
	if f := report.Figures["parity-trade.png"].(viz.Curves); len(f.Lines) != 3 {
		t.Errorf("%d lines; want another one for the other version", len(f.Lines))
	}
}

// Runs of a sweep share what 004 C.6 shares; of other seeds they are others.
func TestRequestsAreSpecs(t *testing.T) {
	for _, g := range grids {
		seen := map[string]bool{}
		for _, q := range g.Requests(experiment.Quick, 2) {
			spec, err := q.Spec()
			if err != nil {
				t.Fatalf("%s: %v", g.Name, err)
			}
			var c fair.Config
			if err := json.Unmarshal(spec.Config, &c); err != nil || !c.CommonNoise || !q.Research || c.Unclipped != math.IsInf(float64(c.Epsilon), 1) {
				t.Errorf("%s: %+v, %v; want what 004 C.6 asks for", g.Name, c, err)
			}
			id, err := spec.ID()
			if err != nil || seen[id] {
				t.Errorf("%s: %s twice, %v", g.Name, id, err)
			}
			seen[id] = true
		}
		if want := 2 * 12 * len(g.parts); len(seen) != want {
			t.Errorf("%s: %d runs, want %d", g.Name, len(seen), want)
		}
	}
}
