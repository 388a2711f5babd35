package tables

import (
	"fmt"
	"slices"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/dpsinkhorn"
	"molehill/viz"
)

// biases draws what was measured of the bias of lines, if anything: 001's Figure 4c.
func biases(name string, all []measured) (viz.Curves, bool) {
	f := viz.Curves{Title: "Bias and variance of gradients, " + dataset.Title(name), Caption: "A line for each generator, trained with its p; along it the p of the gradient: 0, 0.2, … 1, the last at no bias.",
		X: viz.Axis{Label: "bias: how far the mean gradient is from that at p = 1"}, Y: viz.Axis{Label: "variance / that at p = 1"}, Height: 440}
	for _, m := range all {
		first := m.Rows[0]
		k := slices.IndexFunc(first.Measured, func(x experiment.Measured) bool { _, ok := x.Values[dpsinkhorn.BiasAt(1)]; return ok })
		if k < 0 {
			continue
		}
		l := viz.Line{Name: fmt.Sprintf("%s, p = %g", m.label, m.config.Debiasing)}
		for _, p := range dpsinkhorn.Mixtures {
			l.X, l.Y = append(l.X, first.Measured[k].Values[dpsinkhorn.BiasAt(p)]), append(l.Y, first.Measured[k].Values[dpsinkhorn.VarianceAt(p)])
		}
		f.Lines = append(f.Lines, l)
	}
	return f, len(f.Lines) > 0
}
