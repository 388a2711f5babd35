package fair

import (
	"math"
	"slices"
	"testing"

	"molehill/pkg/run"
	"molehill/transport"
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
	// Over y = −x: the fourth alone, while the second is on it.
	if err := measurePlane(m, four, []float32{-1, 0, 1, -1, -1, 0, 0, 0.1}, nil); err != nil || m["OD₀"] != 0 || m["OD₁"] != 0.5 {
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
