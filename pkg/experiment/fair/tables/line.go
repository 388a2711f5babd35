package tables

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/plugin"
	"molehill/viz"
)

func init() { sweep.Registry.Register(lineSweep{}) }

// lineSweep is 004's Figure 5: what fairness of a predicted number costs in accuracy,
// by training for it and by transport afterwards, at the same ε.
type lineSweep struct{}

// lineAlphas are ours: 004 does not print its own. The loss being about a twentieth,
// and the squared distance of groups as much, little happens below ½.
var lineAlphas = []string{"0", "0.3", "0.5", "0.7", "0.8", "0.9", "0.95"}

// Describe implements plugin.Plugin.
func (lineSweep) Describe() plugin.Info {
	return plugin.Info{Name: "fair-regression-1d", Version: "1", Source: "004 Figure 5, Remark C.4",
		Summary: "private and fair regression of a number at ε = 2: trained to be fair, and made fair afterwards"}
}

// lineDelta is 004's δ = 1/n.
var lineDelta = strconv.FormatFloat(1./30_000, 'g', -1, 64)

// Requests implements sweep.Sweep.
func (s lineSweep) Requests(preset experiment.Preset, seeds int) []experiment.Request {
	return sweep.Requests(s.lines(), preset, seeds)
}

func (lineSweep) lines() []sweep.Line {
	lines := []sweep.Line{{Experiment: fair.PostProcessed{}.Describe().Name, Settings: map[string]string{"delta": lineDelta}}}
	for _, alpha := range lineAlphas {
		lines = append(lines, sweep.Line{Experiment: "fair-regression-1d", Settings: map[string]string{"alpha": alpha, "delta": lineDelta}})
	}
	return lines
}

// trade is a way to be fair: its measures over seeds at one setting.
type trade struct {
	method, setting string
	sweep.Part
	called func(metric string) string // in the rows
}

func (t trade) over(name string) (mean, deviation float64) { return t.Over(t.called(name)) }

const (
	inProcessing = "trained to be fair"
	afterwards   = "transported afterwards"
	neither      = "without fairness"
)

// trades sorts runs by method and setting.
func (s lineSweep) trades(rows []sweep.Row) (all []trade, err error) {
	seen := map[string]bool{}
	for _, preset := range []experiment.Preset{experiment.Paper, experiment.Quick} {
		for _, l := range s.lines() {
			_, parts, err := l.Find(preset, rows)
			if err != nil {
				return nil, err
			}
			for _, part := range parts {
				if seen[part.Rows[0].Run] { // presets may be the same
					continue
				}
				seen[part.Rows[0].Run] = true
				of, err := tradesOf(l, preset, part)
				if err != nil {
					return nil, err
				}
				all = append(all, of...)
			}
		}
	}
	return all, nil
}

// tradesOf are those of runs that differ in their seed alone: one of a training, one for
// each radius of what is transported.
func tradesOf(l sweep.Line, preset experiment.Preset, part sweep.Part) (all []trade, err error) {
	if alpha, trained := l.Settings["alpha"]; trained {
		t := trade{method: inProcessing + part.Besides(), setting: "α = " + alpha, Part: part, called: func(metric string) string { return metric }}
		if alpha == "0" {
			t.method, t.setting = neither+part.Besides(), ""
		}
		return []trade{t}, nil
	}
	radii, err := fair.PostProcessed{}.Config(preset).(*fair.PostConfig).AllRadii()
	if err != nil {
		return nil, err
	}
	for _, radius := range radii {
		all = append(all, trade{method: afterwards + part.Besides(), setting: "β = " + strconv.FormatFloat(radius, 'g', -1, 64), Part: part,
			called: func(metric string) string { return fair.AtRadius(metric, radius) }})
	}
	return all, nil
}

// Report implements sweep.Sweep: a table, and the two charts of Figure 5.
func (s lineSweep) Report(rows []sweep.Row, _ sweep.Samples) (sweep.Report, error) {
	all, err := s.trades(rows)
	if err != nil {
		return sweep.Report{}, err
	}
	table := viz.Table{Title: "Fair and private regression of a number", Header: []string{"method", "setting", "ε, proved", "as published", "mean squared error", "W₂²", "KS", "noise norm", "seeds"},
		Caption: "Means over seeds and standard deviations, on records that no model has seen; W₂² and KS are between predictions for both groups. As published: ε by 004's own accounting for the same noise, whose norm at each step is at most the noise norm with probability 0.95 (004, Corollary 4.2). Transported afterwards: Xian, Li, Kamath and Zhao 2024, half of ε for the training and half for histograms; it is told everybody's group, the others are not. 004 prints Figure 5 without numbers."}
	for _, t := range all {
		proved, published := sweep.Claims(t.Rows)
		line := []any{t.method, t.setting, proved.String(), published}
		for _, name := range []string{"task loss", "distance", "KS"} {
			line = append(line, viz.Spread(t.over(name)))
		}
		table.Add(append(line, viz.Spread(t.Over("noise norm")), len(t.Rows))...)
	}
	return sweep.Report{Tables: []viz.Table{table}, Figures: map[string]viz.Figure{
		"mse-w2.png": tradeoff(all, "distance", "W₂² between groups"),
		"mse-ks.png": tradeoff(all, "KS", "KS distance between groups"),
	}}, nil
}

// tradeoff draws the squared error along a measure of unfairness.
func tradeoff(all []trade, unfairness, label string) viz.Annotated {
	f := viz.Annotated{Curves: viz.Curves{Title: "What fairness costs, at ε = 2", X: viz.Axis{Label: label}, Y: viz.Axis{Label: "mean squared error"}, Height: 440,
		Caption: "Means over seeds, with a standard deviation of the error to both sides. To the left is fair, below is accurate. Numbers beside points are α of those that are trained to be fair, and the radius β of what is transported."}}
	for _, method := range []string{inProcessing, afterwards, neither} {
		l := viz.Line{Name: method}
		for _, t := range all {
			if t.method != method && !(method == inProcessing && t.method == neither) { // α = 0 is where its line begins
				continue
			}
			x, _ := t.over(unfairness)
			y, deviation := t.over("task loss")
			if math.IsNaN(x+y) || math.IsInf(x+y, 0) { // undefined for one of the seeds
				continue
			}
			l.Append(x, y, deviation)
			if _, number, ok := strings.Cut(t.setting, "= "); ok && t.method == method { // as in the paper
				f.Notes = append(f.Notes, viz.Note{X: x, Y: y, Text: number, Line: len(f.Lines) + 1})
			}
		}
		if len(l.X) > 0 {
			f.Lines = append(f.Lines, l)
			f.X.Min, f.X.Max = min(f.X.Min, slices.Min(l.X)), max(f.X.Max, slices.Max(l.X))
		}
	}
	for i, n := range f.Notes { // away from the other line
		if other := 2 - n.Line; len(f.Lines) > 1 && under(f.Lines[other], n.X, n.Y) {
			f.Notes[i].Left, f.Notes[i].Below = true, true
		}
	}
	const room = 0.1 // for notes at both ends
	width := f.X.Max - f.X.Min
	f.X.Min, f.X.Max = f.X.Min-room*width, f.X.Max+room*width
	return f
}

// under reports whether a point lies below a line, or its nearest end.
func under(l viz.Line, x, y float64) bool {
	left, right := -1, -1
	for i, at := range l.X {
		if at <= x && (left < 0 || at > l.X[left]) {
			left = i
		}
		if at >= x && (right < 0 || at < l.X[right]) {
			right = i
		}
	}
	switch {
	case left < 0:
		return y < l.Y[right]
	case right < 0 || l.X[left] == l.X[right]:
		return y < l.Y[left]
	}
	share := (x - l.X[left]) / (l.X[right] - l.X[left])
	return y < l.Y[left]+share*(l.Y[right]-l.Y[left])
}
