package tables

import (
	"math"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/plugin"
	"molehill/viz"
)

func init() { sweep.Registry.Register(adultSweep{}) }

// adultSweep is 004's Figure 16: errors of private classifiers against the gap between
// women and men, and those of the two methods that 004 sets its own beside.
type adultSweep struct{}

// adultMethod is a line of Figure 16.
type adultMethod struct {
	part
	label  string
	alphas []string
}

const parityGap = "parity gap"

// The grid: ε as in Figure 16, α ours.
var (
	adultBudgets = []string{"9", "3", "1", "0.5"}
	adultMetrics = []string{"accuracy", parityGap, "disparate impact", "KS"}
	adultMethods = []adultMethod{
		{part{"adult", "fair-adult", fair.Parity, adultMetrics, nil}, "sliced W₂ (004)", []string{"0", "0.2", "0.4", "0.6", "0.8"}},
		{part{"adult-ermi", "fair-adult-ermi", "", adultMetrics, nil}, "mutual information (Lowy et al.)", []string{"0.3", "0.6", "0.8", "0.9"}},
		{part{"adult-lagrangian", "fair-adult-lagrangian", "", adultMetrics, nil}, "Lagrangian (Tran et al.)", []string{"0.2", "0.3", "0.4", "0.5"}},
	}
)

// Describe implements plugin.Plugin.
func (adultSweep) Describe() plugin.Info {
	return plugin.Info{Name: "fair-adult", Version: "1", Source: "004 Figure 16, Remark C.3",
		Summary: "private logistic regression on Adult: errors against the gap in decisions between women and men, by three methods"}
}

// Requests implements sweep.Sweep.
func (adultSweep) Requests(preset experiment.Preset, seeds int) []experiment.Request {
	var lines []sweep.Line
	for _, method := range adultMethods {
		for _, budget := range adultBudgets {
			for _, alpha := range method.alphas {
				lines = append(lines, sweep.Line{Experiment: method.experiment, Settings: map[string]string{"epsilon": budget, "alpha": alpha}})
			}
		}
	}
	return sweep.Requests(lines, preset, seeds)
}

// Report implements sweep.Sweep: a table for each method, and Figure 16.
func (adultSweep) Report(rows []sweep.Row, _ sweep.Samples) (r sweep.Report, err error) {
	lowest, highest, widest := math.Inf(1), math.Inf(-1), 0.
	f := viz.Panels{Title: "What fairness costs on Adult", Columns: 2,
		Caption: "On the 16,281 records for testing, means over seeds with a standard deviation of the error to both sides. Along each line α grows from the right to the left; deciding against everybody is wrong for 0.236 of them, without any gap. All three protect all that a record says but its sex, at ε as proved; Lowy et al. and Tran et al. protect the sex, and nothing else, in their papers, so that their ε are of another promise, and 004 does not print the numbers of its curves."}
	panels := map[string]*viz.Curves{}
	for _, budget := range slices.Backward(adultBudgets) { // as 004 has it
		panels["ε = "+budget] = &viz.Curves{Title: "ε = " + budget, X: viz.Axis{Label: "gap between women and men"}, Y: viz.Axis{Label: "share of wrong decisions"}}
	}
	for _, method := range adultMethods {
		s, err := method.sheet(rows)
		if err != nil {
			return r, err
		}
		if len(s.cells) == 0 {
			continue
		}
		r.Tables = append(r.Tables, s.table())
		for _, c := range s.cells {
			panel, ok := panels[c.budget()]
			if !ok { // of another grid
				continue
			}
			name := method.label + c.Besides()
			k := slices.IndexFunc(panel.Lines, func(l viz.Line) bool { return l.Name == name })
			if k < 0 {
				k, panel.Lines = len(panel.Lines), append(panel.Lines, viz.Line{Name: name})
			}
			x, _ := c.Over(parityGap)
			accuracy, deviation := c.Over("accuracy")
			if math.IsNaN(deviation) {
				deviation = 0 // of one seed
			}
			lowest, highest, widest = min(lowest, 1-accuracy-deviation), max(highest, 1-accuracy+deviation), max(widest, x)
			panel.Lines[k].Append(x, 1-accuracy, deviation)
		}
	}
	for _, budget := range slices.Backward(adultBudgets) {
		if panel := panels["ε = "+budget]; len(panel.Lines) > 0 {
			panel.X.Max = math.Ceil(50*widest) / 50                                       // from no gap
			panel.Y.Min, panel.Y.Max = math.Floor(50*lowest)/50, math.Ceil(50*highest)/50 // with a mark at either end
			f.Cells, f.Above = append(f.Cells, *panel), append(f.Above, panel.Title)
		}
	}
	if len(f.Cells) > 0 {
		r.Figures = map[string]viz.Figure{"error-gap.png": f}
	}
	return r, nil
}
