package fair

import (
	"math"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/viz"
)

func init() { experiment.Sweeps.Register(adultSweep{}) }

// adultSweep is 004's Figure 16: errors of private classifiers against the gap between
// women and men.
type adultSweep struct{}

// The grid: ε as in Figure 16, α ours.
var (
	adultAlphas  = []string{"0", "0.2", "0.4", "0.6", "0.8"}
	adultBudgets = []string{"9", "3", "1", "0.5"}
	adultPart    = part{"adult", "fair-adult", Parity, []string{"accuracy", parityGap, "disparate impact", "KS"}}
)

const parityGap = "parity gap"

// Describe implements plugin.Plugin.
func (adultSweep) Describe() plugin.Info {
	return plugin.Info{Name: "fair-adult", Version: "1", Source: "004 Figure 16, Remark C.3",
		Summary: "private logistic regression on Adult: errors against the gap in decisions between women and men"}
}

// Requests implements experiment.Sweep.
func (adultSweep) Requests(preset experiment.Preset, seeds int) (requests []experiment.Request) {
	for seed := 1; seed <= seeds; seed++ {
		for _, budget := range adultBudgets {
			for _, alpha := range adultAlphas {
				requests = append(requests, experiment.Request{Experiment: adultKind.Name, Preset: preset, Seed: uint64(seed), Research: true,
					Settings: map[string]string{"epsilon": budget, "alpha": alpha}})
			}
		}
	}
	return requests
}

// Report implements experiment.Sweep: a table, and Figure 16 without the curves of
// others, whose numbers 004 does not print.
func (adultSweep) Report(rows []experiment.Row, _ experiment.Samples) (experiment.Report, error) {
	s, err := adultPart.sheet(rows)
	if err != nil || len(s.cells) == 0 {
		return experiment.Report{}, err
	}
	f := viz.Curves{Title: "What fairness costs on Adult", X: viz.Axis{Label: "gap between women and men in the share of decisions for > 50,000 $"},
		Y: viz.Axis{Label: "share of wrong decisions"}, Height: 440,
		Caption: "On the 16,281 records for testing. Along each line α grows from the right to the left; deciding against everybody is wrong for 0.236 of them, without any gap."}
	for _, c := range s.cells {
		k := slices.IndexFunc(f.Lines, func(l viz.Line) bool { return l.Name == c.budget() })
		if k < 0 {
			k, f.Lines = len(f.Lines), append(f.Lines, viz.Line{Name: c.budget()})
		}
		x, _ := c.over(parityGap)
		accuracy, deviation := c.over("accuracy")
		if math.IsNaN(deviation) {
			deviation = 0
		}
		l := &f.Lines[k]
		l.X, l.Y = append(l.X, x), append(l.Y, 1-accuracy)
		l.Low, l.High = append(l.Low, 1-accuracy-deviation), append(l.High, 1-accuracy+deviation)
	}
	return experiment.Report{Tables: []viz.Table{s.table()}, Figures: map[string]viz.Figure{"error-gap.png": f}}, nil
}
