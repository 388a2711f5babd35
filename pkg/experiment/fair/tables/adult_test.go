package tables

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

func TestAdultSweep(t *testing.T) {
	s := adultSweep{}
	var rows []experiment.Row
	for i, q := range s.Requests(experiment.Quick, 2) {
		spec, err := q.Spec()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, experiment.Row{Run: fmt.Sprint(i), Experiment: q.Experiment, Seed: q.Seed, Config: spec.Config,
			Metrics: run.Values{"accuracy": 0.8 + float64(q.Seed)/100, parityGap: 0.1}, Claims: []privacy.Claim{{Epsilon: 3, Sound: true}}})
	}
	report, err := s.Report(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Tables) != len(adultMethods) {
		t.Fatalf("%d tables, want one for each method", len(report.Tables))
	}
	for k, table := range report.Tables {
		if len(table.Rows) != len(adultMethods[k].alphas)*len(adultBudgets) || !strings.Contains(table.String(), "0.815 ± 0.0071") {
			t.Errorf("the table is\n%v", table)
		}
	}
	panels := report.Figures["error-gap.png"].(viz.Panels)
	if len(panels.Cells) != len(adultBudgets) || panels.Above[0] != "ε = 0.5" || len(panels.Cells[0].(viz.Curves).Lines) != len(adultMethods) {
		t.Errorf("Figure 16 is %+v", panels)
	}
	for name, f := range report.Figures {
		if err := f.PNG(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A run whose other settings differ is not averaged with them, whoever's they are.
	for i, row := range rows {
		if row.Experiment != "fair-adult-ermi" {
			continue
		}
		other := strings.Replace(string(row.Config), `"dual_rate":0.5`, `"dual_rate":5`, 1)
		if other == string(row.Config) {
			t.Fatalf("no dual_rate in %s", other)
		}
		rows[i].Config = json.RawMessage(other)
		if report, err = s.Report(rows, nil); err != nil {
			t.Fatal(err)
		}
		for k, table := range report.Tables {
			if got, want := len(table.Rows), len(adultMethods[k].alphas)*len(adultBudgets); got > want != (adultMethods[k].experiment == row.Experiment) {
				t.Errorf("%s: %d lines beside %d settings", adultMethods[k].experiment, got, want)
			}
		}
		break
	}
	if empty, err := s.Report(nil, nil); err != nil || len(empty.Tables) != 0 {
		t.Errorf("of no runs: %v", err)
	}
}
