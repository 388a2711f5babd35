package viz

import (
	"fmt"
	"slices"

	"molehill/viz/internal/sheet"
)

// share gives all charts the same axes and collects their legend.
func (t *table) share() error {
	var first *sheet.Chart
	for _, p := range t.cells {
		if p == nil || p.chart == nil {
			continue
		}
		t.merge(p.chart.Legend)
		if first == nil {
			first = p.chart
			continue
		}
		x, y := &p.chart.X, &p.chart.Y
		if x.Log != first.X.Log || y.Log != first.Y.Log {
			return fmt.Errorf("viz: charts of Panels have different kinds of axes: make all of them linear or all logarithmic")
		}
		if !slices.Equal(y.Categories, first.Y.Categories) {
			return fmt.Errorf("viz: charts of Panels have different rows, from below %q and %q: give all of them the same rows in the same order", first.Y.Categories, y.Categories)
		}
		first.X.Min, first.X.Max = min(first.X.Min, x.Min), max(first.X.Max, x.Max)
		first.Y.Min, first.Y.Max = min(first.Y.Min, y.Min), max(first.Y.Max, y.Max)
	}
	for _, p := range t.cells {
		if p != nil && p.chart != nil {
			p.chart.X.Min, p.chart.X.Max = first.X.Min, first.X.Max
			p.chart.Y.Min, p.chart.Y.Max = first.Y.Min, first.Y.Max
		}
	}
	return nil
}

// merge adds a chart's legend to that of all. What has a name that is there looks as it does there, and
// what is new like nothing that is there. Of several with one name in a chart each is its own.
func (t *table) merge(legend []sheet.Entry) {
	free := slices.Clone(t.legend) // what nothing in this chart has taken yet
	for _, e := range legend {
		known := slices.IndexFunc(free, func(other sheet.Entry) bool {
			return other.Name == e.Name && other.Grey == e.Grey && (other.Style == nil) == (e.Style == nil)
		})
		if known >= 0 {
			if e.Style != nil {
				*e.Style = *free[known].Style
			}
			free = slices.Delete(free, known, known+1)
			continue
		}
		for _, other := range t.legend {
			if e.Style != nil && other.Style != nil && other.Grey == e.Grey {
				e.Style.Index = max(e.Style.Index, other.Style.Index+1)
			}
		}
		t.legend = append(t.legend, e)
	}
}
