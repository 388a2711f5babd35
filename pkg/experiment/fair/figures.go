package fair

import (
	"fmt"

	"molehill/viz"
)

// Predicted is what a finished run has left in predictions.npy: outputs of n records
// that the model has not seen, with their A and Y beside them.
type Predicted struct {
	Dim   int       // d of the outputs
	Table []float32 // [n, d+2]
}

// NewPredicted reads a table of so many columns.
func NewPredicted(table []float32, columns int) (Predicted, error) {
	if columns < 3 || len(table) == 0 || len(table)%columns != 0 {
		return Predicted{}, fmt.Errorf("fair: %d numbers in %d columns; expected rows of outputs, A and Y", len(table), columns)
	}
	return Predicted{columns - 2, table}, nil
}

// of returns the outputs of a group, [m, d], at most some of the first.
func (p Predicted) of(g group, most int) (outputs []float32) {
	columns := p.Dim + 2
	for first := 0; first < len(p.Table) && len(outputs) < most*p.Dim; first += columns {
		row := p.Table[first : first+columns]
		if int(row[p.Dim]) == g.a && (g.y < 0 || int(row[p.Dim+1]) == g.y) {
			outputs = append(outputs, row[:p.Dim]...)
		}
	}
	return outputs
}

const bins = 25

// Histogram draws the densities of both groups' first outputs between two values; of
// one label, or of all where it is −1. What lies outside is counted in the last bins.
func (p Predicted) Histogram(least, most float64, label int) viz.Curves {
	f := viz.Curves{X: viz.Axis{Label: "output", Min: least, Max: most}, Y: viz.Axis{Label: "density", Min: 0}, Height: 240}
	width := (most - least) / bins
	for a := range 2 {
		outputs := p.of(group{a, label}, len(p.Table))
		var counts [bins]float64
		for i := 0; i < len(outputs); i += p.Dim {
			at := (float64(outputs[i]) - least) / width
			counts[int(min(max(at, 0), bins-1))]++
		}
		l := viz.Line{Name: fmt.Sprintf("A = %d", a)}
		for k, count := range counts {
			density := count * float64(p.Dim) / float64(max(1, len(outputs))) / width
			l.X = append(l.X, least+float64(k)*width, least+float64(k+1)*width)
			l.Y = append(l.Y, density, density)
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// Scatter draws outputs in the plane of at most so many records of each group.
func (p Predicted) Scatter(most int) viz.Plan {
	f := viz.Plan{Names: [2]string{"A = 0", "A = 1"}, LabelX: "first output", LabelY: "second output"}
	if p.Dim == 2 {
		f.X, f.Y = p.of(group{0, -1}, most), p.of(group{1, -1}, most)
	}
	return f
}
