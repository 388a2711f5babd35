// Package tables lays out 004's Appendix C: which runs of package fair make each of its
// figures, and the tables and figures that are drawn of them.
package tables

import (
	"strconv"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/plugin"
	"molehill/viz"
)

// grid is a sweep of tasks over α and ε.
type grid struct {
	plugin.Info
	parts []part
	draw  func(s sheet, f map[string]viz.Figure) error // figures that take the runs themselves
}

// part is a task of a grid.
type part struct {
	name                  string // of its tables and figures
	experiment, criterion string
	metrics               []string
	above                 []string // those of them that stand above panels
}

// The grid. 004 prints its figures without the values of α, of which Figure 12 has
// four; these are ours, as little happens below ½.
var (
	alphas  = []float64{0, 0.5, 0.75, 0.9}
	budgets = []string{"inf", "3", "1"}
)

var (
	parity = part{"parity", "fair-classification", fair.Parity, []string{"accuracy", "disparate impact", "parity gap", "KS"}, []string{"accuracy", "disparate impact"}}
	odds   = part{"odds", "fair-classification", fair.Odds, []string{"accuracy", "EO₀", "EO₁", "disparate impact"}, []string{"accuracy", "EO₀", "EO₁"}}
)

var grids = []grid{
	{plugin.Info{Name: "fair-classification", Version: "1", Source: "004, Figures 12 to 15",
		Summary: "private classification that treats two groups alike, by parity and by odds"}, []part{parity, odds}, sheet.classification},
	{plugin.Info{Name: "fair-regression", Version: "1", Source: "004, Figures 17 and 18",
		Summary: "private regression of two numbers that treats two groups alike"},
		[]part{{"regression", "fair-regression", fair.Parity, []string{"OD₀", "OD₁"}, []string{"OD₀", "OD₁"}}}, sheet.plane},
	{plugin.Info{Name: "fair-representation", Version: "1", Source: "004, Figures 19 and 20",
		Summary: "private codes in the plane that do not tell a group"},
		[]part{{"representation", "fair-representation", fair.Parity, []string{"core loss", "accuracy", "disparate impact"}, []string{"core loss", "accuracy", "disparate impact"}}}, sheet.plane},
	{plugin.Info{Name: "fair-randomness", Version: "1", Source: "004, Figure 21",
		Summary: "what noise changes in a training whose other chances are held: losses over seeds (take --seeds 10), and their differences within a seed"},
		[]part{parity}, sheet.randomness},
}

func init() {
	for _, g := range grids {
		sweep.Registry.Register(g)
	}
}

// Describe implements plugin.Plugin.
func (g grid) Describe() plugin.Info { return g.Info }

// Requests implements sweep.Sweep. Runs of a seed have all chances in common
// (004 C.6), and those without privacy are not clipped.
func (g grid) Requests(preset experiment.Preset, seeds int) []experiment.Request {
	var lines []sweep.Line
	for _, p := range g.parts {
		for _, budget := range budgets {
			for _, alpha := range alphas {
				settings := map[string]string{"alpha": strconv.FormatFloat(alpha, 'g', -1, 64), "epsilon": budget, "criterion": p.criterion, "common_noise": "true"}
				if budget == "inf" {
					settings["unclipped"] = "true"
				}
				lines = append(lines, sweep.Line{Experiment: p.experiment, Settings: settings})
			}
		}
	}
	return sweep.Requests(lines, preset, seeds)
}
