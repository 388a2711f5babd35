package tables

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
)

// The whole of Appendix C has the runs of every other sweep of this package, each once,
// those of the first seed first; and ten seeds of what Figure 21 shows.
func TestAppendixHasAll(t *testing.T) {
	s, err := sweep.Registry.Lookup("fair-all")
	if err != nil {
		t.Fatal(err)
	}
	id := func(q experiment.Request) string { return experimenttest.ID(t, q) }
	has, last := map[string]bool{}, uint64(0)
	for _, q := range s.Requests(experiment.Quick, 1) {
		if has[id(q)] || q.Seed < last {
			t.Errorf("%s with seed %d comes after seed %d, or twice", q.Experiment, q.Seed, last)
		}
		has[id(q)], last = true, q.Seed
	}
	for _, other := range sweep.Registry.All() {
		name := other.Describe().Name
		if !strings.HasPrefix(name, "fair-") {
			continue
		}
		seeds := 1
		if name == "fair-randomness" {
			seeds = 10
		}
		for _, q := range other.Requests(experiment.Quick, seeds) {
			if !has[id(q)] {
				t.Errorf("%s of %s is missing: %v", q.Experiment, name, q.Settings)
			}
		}
	}
}

// Rows alone give every table once, and the figures that they suffice for under the
// paper's numbers.
func TestAppendixReport(t *testing.T) {
	var rows []sweep.Row
	for i, q := range (appendix{}).Requests(experiment.Quick, 1) {
		spec, err := q.Spec()
		if err != nil {
			t.Fatal(err)
		}
		m := run.Values{"accuracy": 0.8, parityGap: 0.1, "task loss": 1, "distance": 2, "KS": 0.3}
		for _, radius := range []float64{0, 0.02, 0.05, 0.1, 0.15, 0.2} {
			m[fair.AtRadius("task loss", radius)], m[fair.AtRadius("distance", radius)], m[fair.AtRadius("KS", radius)] = 10, 5, 6
		}
		rows = append(rows, sweep.Row{Run: fmt.Sprint(i), Experiment: q.Experiment, Seed: q.Seed, Config: spec.Config, Metrics: m,
			Claims: []privacy.Claim{{Epsilon: 2, Sound: true}}})
	}
	report, err := appendix{}.Report(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]bool{}
	for _, table := range report.Tables {
		if titles[table.Title] {
			t.Errorf("the table %q twice", table.Title)
		}
		titles[table.Title] = true
	}
	if len(titles) != 8 { // 1-D, parity, odds, three of Adult, regression, representation
		t.Errorf("tables %v", titles)
	}
	for _, name := range []string{"figure-05-w2.png", "figure-05-ks.png", "figure-16.png", "parity-trade.png"} {
		f, ok := report.Figures[name]
		if !ok {
			t.Errorf("no %s", name)
			continue
		}
		if err := f.PNG(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Some of the runs give some of the figures, all of which can be drawn.
	some := slices.DeleteFunc(rows, func(r sweep.Row) bool { return r.Experiment != "fair-regression" })
	if report, err = (appendix{}).Report(some, nil); err != nil || len(report.Tables) != 1 || len(report.Figures) != 1 {
		t.Errorf("of fair-regression alone: %d tables, %v, %v", len(report.Tables), report.Figures, err)
	}
}
