package tables

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

func TestAdultSweep(t *testing.T) {
	s := adultSweep{}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	gap := func(alpha, epsilon string) float64 { return 0.1 + number(alpha)/100 + number(epsilon)/1000 } // of each cell another
	var rows []sweep.Row
	for i, q := range s.Requests(experiment.Quick, 2) {
		spec, err := q.Spec()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, sweep.Row{Run: fmt.Sprint(i), Experiment: q.Experiment, Seed: q.Seed, Config: spec.Config,
			Metrics: run.Values{"accuracy": 0.8 + float64(q.Seed)/100, parityGap: gap(q.Settings["alpha"], q.Settings["epsilon"])}, Claims: []privacy.Claim{{Epsilon: 3, Sound: true}}})
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
			continue
		}
		for i, line := range table.Rows { // ε from 9 down, and within it α from 0 up
			alphas := adultMethods[k].alphas
			alpha, want := alphas[i%len(alphas)], gap(alphas[i%len(alphas)], adultBudgets[i/len(alphas)])
			text := strings.Split(line[slices.Index(table.Header, parityGap)].(string), " ")[0]
			if line[2] != alpha || !(math.Abs(number(text)-want) <= 0.0005) {
				t.Errorf("line %d of %s has α = %v and the gap %v, want %s and %v", i, table.Title, line[2], text, alpha, want)
			}
		}
	}
	panels := report.Figures["error-gap.png"].(viz.Panels)
	if len(panels.Cells) != len(adultBudgets) || panels.Above[0] != "ε = 0.5" || len(panels.Cells[0].(viz.Curves).Lines) != len(adultMethods) {
		t.Fatalf("Figure 16 is %+v", panels)
	}
	for i, cell := range panels.Cells { // errors, not accuracies, over the gaps of their cells
		budget := adultBudgets[len(adultBudgets)-1-i]
		curves := cell.(viz.Curves)
		for k, line := range curves.Lines {
			for j, alpha := range adultMethods[k].alphas {
				if line.Name != adultMethods[k].label || !(math.Abs(line.X[j]-gap(alpha, budget)) <= 1e-9 && math.Abs(line.Y[j]-0.185) <= 1e-9 && math.Abs(line.High[j]-0.185-0.01/math.Sqrt2) <= 1e-9) {
					t.Errorf("ε = %s, %s at α = %s: (%v, %v up to %v)", budget, line.Name, alpha, line.X[j], line.Y[j], line.High[j])
				}
			}
		}
		if curves.Title != "ε = "+budget || curves.Y.Min != 0.16 || curves.Y.Max != 0.2 || curves.X.Max != 0.12 {
			t.Errorf("panel %d is %q from %v to %v, with gaps up to %v", i, curves.Title, curves.Y.Min, curves.Y.Max, curves.X.Max)
		}
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
