package fair

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/viz"
)

// four are two records of each group, with labels 0 and 1.
var four = &Records{Dim: 2, X: []float32{0, 9, 1, 9, 2, 9, 3, 9}, Group: []int{0, 0, 1, 1}, Label: []int{0, 1, 0, 1}, Core: 1}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 || a == b }

func TestDecisionsByHand(t *testing.T) {
	m := run.Values{}
	// Chosen: the second, and both of group 1.
	if err := measureDecisions(m, four, []float32{0.2, 0.7, 0.6, 0.9}, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"accuracy": 0.75, "disparate impact": 0.5, "parity gap": 0.5, "EO₀": 0, "EO₁": 1, "KS": 0.5} {
		if !near(m[name], want) {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
}

func TestPlaneAndLineByHand(t *testing.T) {
	m := run.Values{}
	// Over y = −x: the first and the fourth, while the second is on it.
	if err := measurePlane(m, four, []float32{1, 0, 1, -1, -1, 0, 0, 0.1}, nil); err != nil || m["OD₀"] != 0.5 || m["OD₁"] != 0.5 {
		t.Errorf("%v, %v", m, err)
	}
	if err := measureLine(m, four, []float32{0, 1, 2, 3}, nil); err != nil || m["KS"] != 1 {
		t.Errorf("%v, %v", m, err)
	}
	// Group by group 0, 1 and 2, 3: two apart, squared. Label by label the same.
	for _, criterion := range []string{Parity, Odds} {
		if d, err := distance(transport.Points{Dim: 1, Data: []float32{0, 1, 2, 3}}, four, groups(criterion)); err != nil || !near(d, 4) {
			t.Errorf("%s: distance %v, %v", criterion, d, err)
		}
	}
	// In the plane half of that: a direction sees ⟨θ, v⟩², ‖v‖²/d on average.
	if d, err := distance(transport.Points{Dim: 2, Data: []float32{0, 0, 1, 0, 2, 0, 3, 0}}, four, groups(Parity)); err != nil || !near(d, 2) {
		t.Errorf("distance in the plane %v, %v", d, err)
	}
}

// Codes that are the label: decisions are right, and each group gets what its labels
// are. The core is off by 1 each.
func TestCodesByHand(t *testing.T) {
	r, inner := &Records{Dim: 2, Core: 1}, []float32{}
	for i := range 100 {
		a, y := i%2, 0
		if i%4 == 1 || i%20 == 0 { // half of group 1, and a tenth of group 0
			y = 1
		}
		r.Group, r.Label, r.X = append(r.Group, a), append(r.Label, y), append(r.X, 1, 5)
		inner = append(inner, float32(y), float32(i%3))
	}
	m, output := run.Values{}, make([]float32, 200)
	if err := measureCodes(m, r, output, inner); err != nil {
		t.Fatal(err)
	}
	if !near(m["core loss"], 1) || m["accuracy"] != 1 || !near(m["disparate impact"], 0.2) {
		t.Errorf("%v", m)
	}
}

func TestResponsesAreCentred(t *testing.T) {
	r := &Records{Response: []float32{0, 1, 0.75, 0.5}}
	y, err := r.responses()
	if err != nil || !slices.Equal(y, []float32{-0.5, 0.5, 0.25, 0}) {
		t.Errorf("%v, %v", y, err)
	}
	if sums, err := r.sums(); err != nil || !slices.Equal(sums, []float32{0, 0.25}) {
		t.Errorf("sums %v, %v", sums, err)
	}
}

func TestPredictedByGroup(t *testing.T) {
	p, err := NewPredicted([]float32{0.1, 0, 0, 0.9, 0, 1, 1.5, 1, 1, 0.31, 1, 0}, 3)
	if err != nil {
		t.Fatal(err)
	}
	f := p.Histogram(0, 1, -1)
	mass := 0.0
	for _, l := range f.Lines {
		for k := 0; k < len(l.Y); k += 2 {
			mass += l.Y[k] * (l.X[k+1] - l.X[k])
		}
	}
	if !near(mass, 2) || f.Lines[0].Y[2*2] != 12.5 || f.Lines[1].Y[2*24] != 12.5 { // half of a group in a bin of 1/25
		t.Errorf("mass %v, lines %v", mass, f.Lines)
	}
	if f := p.Histogram(0, 1, 1); f.Lines[0].Y[2*22] != 25 {
		t.Errorf("of Y = 1: %v", f.Lines[0])
	}
	if _, err := NewPredicted([]float32{1, 2, 3}, 2); err == nil {
		t.Error("a table of two columns")
	}
	plane := Predicted{2, []float32{1, 2, 0, 0, 3, 4, 1, 0, 5, 6, 1, 0}}
	if f := plane.Scatter(1); !slices.Equal(f.X, []float32{1, 2}) || !slices.Equal(f.Y, []float32{3, 4}) {
		t.Errorf("%v, %v; want the first of each group", f.X, f.Y)
	}
}

// Reports are made of rows alone, and with the runs have what the paper's figures show.
func TestReports(t *testing.T) {
	var rows, stored []experiment.Row
	for _, epsilon := range []string{"inf", "3"} {
		for _, alpha := range []string{"0", "0.9"} {
			r := compute(t, "fair-classification", map[string]string{"epsilon": epsilon, "alpha": alpha, "common_noise": "true"}, 0)
			row, err := experiment.Finished(r)
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
			accuracy, _ := experiment.OverSeeds(rows[2:3], experiment.OwnMetric("accuracy"))
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
	rows[1].Config = json.RawMessage(strings.Replace(string(rows[0].Config), `"steps":20`, `"steps":21`, 1))
	if _, err := grids[0].Report(rows, nil); err == nil || !strings.Contains(err.Error(), "different settings") {
		t.Errorf("runs of other settings in one figure: %v", err)
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
			var c Config
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
