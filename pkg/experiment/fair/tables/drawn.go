package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/viz"
)

// opened returns the run of a row.
func opened(row sweep.Row) (*run.Run, error) {
	r, ok := row.Opened()
	if !ok {
		return nil, fmt.Errorf("fair: %s is not at hand, and its curves are not in its row; report it where its run is", row.Run)
	}
	return r, nil
}

// predicted is what the first run of a cell has left.
func (c cell) predicted() (fair.Predicted, error) {
	r, err := opened(c.Rows[0])
	if err != nil {
		return fair.Predicted{}, err
	}
	table, columns, err := r.Table(fair.Predictions)
	if err != nil {
		return fair.Predicted{}, err
	}
	return fair.NewPredicted(table, columns)
}

// panels sets cells out, ε by α, with what was measured of each above it, as 004's
// figures have it.
func (s sheet) panels(draw func(cell) (viz.Figure, error)) (f viz.Panels, err error) {
	for _, c := range s.cells {
		if label := c.budget(); !slices.Contains(f.Rows, label) {
			f.Rows = append(f.Rows, label)
		}
		if label := "α = " + c.alpha(); !slices.Contains(f.Cols, label) {
			f.Cols = append(f.Cols, label)
		}
	}
	f.Cells = make([]viz.Figure, len(f.Rows)*len(f.Cols))
	f.Above = make([]string, len(f.Cells))
	for _, c := range s.cells {
		at := slices.Index(f.Rows, c.budget())*len(f.Cols) + slices.Index(f.Cols, "α = "+c.alpha())
		if f.Cells[at], err = draw(c); err != nil {
			return f, err
		}
		f.Above[at] = s.words(c)
	}
	f.Caption = "Above each: what noise a step gets; the loss, of the task and of the distance between groups; and measures of the result. All are of records that the model has not seen, means over seeds; what is drawn is of the first seed."
	return f, nil
}

// short names measures above panels.
var short = strings.NewReplacer("accuracy", "ACC", "disparate impact", "DI", "core loss", "core")

// words are those above a cell.
func (s sheet) words(c cell) string {
	value := func(name string) float64 {
		mean, _ := c.Over(name)
		return mean
	}
	text := fmt.Sprintf("noise %.3g, loss %.3g\ntask %.3g, SW₂² %.3g\n", value("noise"), value("loss"), value("task loss"), value("distance"))
	for i, name := range s.above {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %.2f", short.Replace(name), value(name))
	}
	return text
}

// classification draws Figures 12 and 13, or 14 and 15: histograms of scores by group
// (and label), and losses along the training.
func (s sheet) classification(figures map[string]viz.Figure) error {
	labels := map[string]int{"": -1}
	if s.criterion == fair.Odds {
		labels = map[string]int{"-y0": 0, "-y1": 1}
	}
	for suffix, label := range labels {
		f, err := s.panels(func(c cell) (viz.Figure, error) {
			p, err := c.predicted()
			return p.Histogram(0, 1, label), err
		})
		if err != nil {
			return err
		}
		f.Title = "Scores of two groups: " + s.name
		if label >= 0 {
			f.Title += fmt.Sprintf(", of records with Y = %d", label)
		}
		figures[s.name+"-scores"+suffix+".png"] = f
	}
	return s.losses(figures)
}

// shown is how many records of a group are drawn.
const shown = 250

// plane draws Figures 17 and 18, or 19 and 20.
func (s sheet) plane(figures map[string]viz.Figure) error {
	f, err := s.panels(func(c cell) (viz.Figure, error) {
		p, err := c.predicted()
		return p.Scatter(shown), err
	})
	if err != nil {
		return err
	}
	f.Title = fmt.Sprintf("Outputs of two groups: %s, %d records of each", s.name, shown)
	figures[s.name+"-outputs.png"] = f
	return s.losses(figures)
}

// losses draws the loss of each batch, a panel for each α, as a share of the first one:
// that falls with α, and is the same for every ε.
func (s sheet) losses(figures map[string]viz.Figure) error {
	f, err := s.byAlpha(func(c cell) (viz.Line, error) {
		l := viz.Line{Name: c.budget()}
		curves, err := c.curves()
		if err != nil {
			return l, err
		}
		for _, loss := range curves[0] {
			l.Y = append(l.Y, loss/curves[0][0])
		}
		return l, nil
	}, viz.Axis{Label: "loss, 1 at the first step"})
	f.Title = "Along the training: " + s.name
	figures[s.name+"-losses.png"] = f
	return err
}

// byAlpha draws a panel for each α, with a line for each ε.
func (s sheet) byAlpha(draw func(cell) (viz.Line, error), y viz.Axis) (f viz.Panels, err error) {
	f.Rows = []string{""}
	for _, c := range s.cells {
		label := "α = " + c.alpha()
		k := slices.Index(f.Cols, label)
		if k < 0 {
			k, f.Cols = len(f.Cols), append(f.Cols, label)
			f.Cells = append(f.Cells, viz.Curves{X: viz.Axis{Label: "step"}, Y: y, Height: 260})
		}
		line, err := draw(c)
		if err != nil {
			return f, err
		}
		if line.Y == nil {
			continue
		}
		panel := f.Cells[k].(viz.Curves)
		panel.Lines = append(panel.Lines, line)
		f.Cells[k] = panel
	}
	return f, nil
}

// curves are the losses along the training of each of a cell's runs.
func (c cell) curves() (all [][]float64, err error) {
	for _, row := range c.Rows {
		r, err := opened(row)
		if err != nil {
			return nil, err
		}
		_, losses, err := r.Curve("loss")
		if err != nil {
			return nil, err
		}
		if len(losses) != c.config.Steps {
			return nil, fmt.Errorf("fair: %s has told %d losses of %d steps", row.Run, len(losses), c.config.Steps)
		}
		all = append(all, losses)
	}
	return all, nil
}

// spread is the mean over runs and two standard deviations about it, by step.
func spread(name string, curves [][]float64) viz.Line {
	l := viz.Line{Name: name}
	values := make([]float64, len(curves))
	for step := range curves[0] {
		for k, curve := range curves {
			values[k] = curve[step]
		}
		mean, deviation := stat.MeanStdDev(values, nil)
		l.Append(float64(step+1), mean, 2*deviation)
	}
	return l
}

// randomness draws Figure 21: losses over seeds, and how far those with privacy are
// from those without, seed by seed.
func (s sheet) randomness(figures map[string]viz.Figure) error {
	open := map[float64]map[uint64][]float64{} // losses without privacy by α and seed
	top, err := s.byAlpha(func(c cell) (viz.Line, error) {
		curves, err := c.curves()
		if err != nil {
			return viz.Line{}, err
		}
		if math.IsInf(float64(c.config.Epsilon), 1) { // they come first
			open[c.config.Alpha] = map[uint64][]float64{}
			for k, row := range c.Rows {
				open[c.config.Alpha][row.Seed] = curves[k]
			}
		}
		return spread(c.budget(), curves), nil
	}, viz.Axis{Label: "loss of the batch", Log: true})
	if err != nil {
		return err
	}
	top.Title = fmt.Sprintf("Losses over %d seeds: mean and ± 2 standard deviations", len(s.cells[0].Rows))
	figures[s.name+"-losses.png"] = top
	bottom, err := s.byAlpha(func(c cell) (viz.Line, error) {
		curves, err := c.curves()
		if err != nil || math.IsInf(float64(c.config.Epsilon), 1) {
			return viz.Line{}, err
		}
		var differences [][]float64
		for k, row := range c.Rows {
			if without, ok := open[c.config.Alpha][row.Seed]; ok {
				differences = append(differences, slices.Clone(curves[k]))
				for step := range without {
					differences[len(differences)-1][step] -= without[step]
				}
			}
		}
		if differences == nil {
			return viz.Line{}, nil
		}
		return spread(c.budget(), differences), nil
	}, viz.Axis{Label: "loss minus that at ε = ∞"})
	if err != nil {
		return err
	}
	symmetric(bottom)
	bottom.Title = "What privacy changes within a seed: mean and ± 2 standard deviations"
	figures[s.name+"-differences.png"] = bottom
	return nil
}

// symmetric sets 0 in the middle of all panels, with a round number to both sides that
// is beyond the data and far enough from the border to have its mark.
func symmetric(f viz.Panels) {
	farthest := 0.
	for _, c := range f.Cells {
		for _, l := range c.(viz.Curves).Lines {
			for i := range l.Y {
				farthest = max(farthest, math.Abs(l.Low[i]), math.Abs(l.High[i]))
			}
		}
	}
	if farthest == 0 {
		return
	}
	round := math.Pow(10, math.Floor(math.Log10(farthest)))
	for k := 0; round < farthest; k++ {
		round *= []float64{2, 2.5, 2}[k%3] // 1, 2, 5, 10
	}
	for i, c := range f.Cells {
		panel := c.(viz.Curves)
		panel.Y.Min, panel.Y.Max = -1.15*round, 1.15*round
		f.Cells[i] = panel
	}
}
