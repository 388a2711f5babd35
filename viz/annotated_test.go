package viz

import (
	"math"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestAnnotatedPicture(t *testing.T) {
	var x, falling, flat, low []float64
	for v := 0.0; v <= 4; v += 0.05 {
		x, falling, flat, low = append(x, v), append(falling, math.Exp(-v*v)), append(flat, 0.3), append(low, 1e-3)
	}
	golden(t, "annotated", Annotated{
		Curves: Curves{
			Title: "Words beside the data", X: Axis{Label: "ε"}, Y: Axis{Label: "δ", Log: true, Min: 1e-6, Max: 2}, Width: 480, Height: 300,
			Lines: []Line{{X: x, Y: falling}, {X: x, Y: flat, Low: low, High: flat}},
		},
		Verticals: []float64{2},
		Notes: []Note{
			{X: 2, Y: math.Exp(-4), Text: "here it is 0.018", Line: 1, Dot: true},
			{X: 3.9, Y: 0.3, Text: "turned round at the edge", Line: 2, Below: true},
			{X: 1, Y: 1e-4, Text: "to the left", Left: true},
			{X: 9, Y: 1, Text: "outside"}, {X: math.NaN(), Y: 1, Text: "nowhere"}, {X: 1, Y: -1, Text: "below a logarithm"},
		},
	})
}

// Words stand on the side that they ask for, on the other one where they do not fit
// there, and on the chart in any case.
func TestNotesStayOnTheChart(t *testing.T) {
	for _, c := range []struct {
		at, length vg.Length
		before     bool
		want       vg.Length
	}{
		{50, 20, false, 55}, {50, 20, true, 25},
		{90, 20, false, 65}, {0, 20, true, 5}, // turned round
		{50, 60, false, 40}, {50, 60, true, 40}, // nowhere
		{50, 200, false, 0}, // longer than the chart
	} {
		if got := beside(c.at, 5, c.length, 0, 100, c.before); got != c.want {
			t.Errorf("%v long at %v, before it %v: they start at %v, want %v", c.length, c.at, c.before, got, c.want)
		}
	}
}
