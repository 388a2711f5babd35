package privateflow

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Every request of the table is one that can be run, and no two are the same run.
func TestTable1AsksForRunsThatExist(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
		seen := map[string]bool{}
		for _, q := range (table1{}).Requests(preset, 2) {
			if q.Settings["dataset"] == "celeba" { // which may not be here
				q.Settings["dataset"] = "glyphs"
			}
			spec, err := q.Spec()
			if err != nil {
				t.Errorf("%s %v: %v", q.Experiment, q.Settings, err)
				continue
			}
			id, err := spec.ID()
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				t.Errorf("%s %v twice", q.Experiment, q.Settings)
			}
			seen[id] = true
			if !q.Research {
				t.Errorf("%s would draw noise that nobody can repeat", q.Experiment)
			}
		}
		if len(seen) == 0 {
			t.Error("no runs")
		}
	}
}

// Directions of faces stack into bases of 48 dimensions.
func TestFacesHaveWholeBases(t *testing.T) {
	for _, method := range methods {
		e, err := Estimators.Lookup(method)
		if err != nil {
			t.Fatal(err)
		}
		c := e.Config(experiment.Paper)
		if err := experiment.Apply(c, faces(method)); err != nil {
			t.Fatal(err)
		}
		if method == "dp-merf" {
			continue // it has no directions
		}
		if c.Stack && (c.Directions%48 != 0 || (method == "sketch-flow" || method == "dpswflow") && c.PerStep%48 != 0) {
			t.Errorf("%s: %d directions, %d a step", method, c.Directions, c.PerStep)
		}
	}
}

// Seeds are averaged, methods stand in the table's order with the noisiest ε last,
// and what the paper's accounting says and its FID stand beside what is proved.
func TestTable1Report(t *testing.T) {
	row := func(method string, epsilon privacy.Epsilon, sw float64) experiment.Row {
		config, err := json.Marshal(Config{Dataset: "mnist", Epsilon: epsilon})
		if err != nil {
			t.Fatal(err)
		}
		r := experiment.Row{Run: "x", Experiment: method, Config: config, Metrics: run.Values{"sliced W₂": sw, "sliced W₂ floor": 0.01, "sliced W₂ of nothing learned": 0.2}}
		if method == "dpswflow-r" {
			r.Claims = []privacy.Claim{{Label: "as proved", Epsilon: epsilon, Sound: true}, {Label: "paper's way", Epsilon: 51.3}}
		}
		return r
	}
	inf := privacy.Epsilon(math.Inf(1))
	r, err := (table1{}).Report([]experiment.Row{
		row("dpswflow-r", 10, 0.06), row("harmonic-flow", 1, 0.02), row("harmonic-flow", 10, 0.01), row("harmonic-flow", 10, 0.03), row("swflow", inf, 0.015),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Tables[0].Markdown()
	var order []string
	for _, line := range strings.Split(text, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			order = append(order, strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2]))
		}
	}
	if got := strings.Join(order[2:], ", "); got != "swflow ∞, harmonic-flow 10, dpswflow-r 10, harmonic-flow 1" {
		t.Errorf("the rows are %s", got)
	}
	for _, want := range []string{"0.02 ± 0.014", "51.3", "| 70 |", "0.01 in sliced W₂"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(r.Figures) != 1 {
		t.Errorf("figures: %v; want the one of sliced W₂", r.Figures)
	}
	// Pictures, where they are at hand, by method and ε; a FID stands in a column of
	// its network and number of images.
	measured := row("harmonic-flow", 1, 0.02)
	measured.Measured = []experiment.Measured{{Rows: 500, Values: run.Values{"fid-768": 0.25, "fid-768 of reconstructions": 0.125}}}
	r, err = (table1{}).Report([]experiment.Row{row("swflow", inf, 0.015), measured, row("dpswflow-r", 10, 0.06)}, func(q experiment.Row) (viz.Images, bool) {
		return viz.Images{X: make([]float32, 20*4), Height: 2, Width: 2}, q.Experiment != "dpswflow-r"
	})
	if err != nil {
		t.Fatal(err)
	}
	grid, ok := r.Figures["mnist-samples.png"].(viz.Panels)
	if !ok || strings.Join(grid.Rows, " ") != "swflow harmonic-flow" || strings.Join(grid.Cols, " ") != "ε = ∞ ε = 10 ε = 1" {
		t.Fatalf("pictures of %v at %v", grid.Rows, grid.Cols)
	}
	for i, cell := range grid.Cells {
		if there := cell != nil; there != (i == 0 || i == 5) {
			t.Errorf("cell %d: %v", i, cell)
		}
	}
	if text := r.Tables[0].Markdown(); !strings.Contains(text, "fid-768 (500)") || !strings.Contains(text, "| 0.25 |") || !strings.Contains(text, "= 0.125") {
		t.Errorf("no FID in\n%s", text)
	}
	if _, err := (table1{}).Report([]experiment.Row{{Run: "y", Config: json.RawMessage("[]")}}, nil); err == nil {
		t.Error("a row of another experiment was taken")
	}
}
