package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"molehill/pkg/experiment/fair"
	"molehill/pkg/experiment/sweep"
	"molehill/privacy"
	"molehill/viz"
)

// cell are the runs of a part at an ε and α that differ in their seed alone.
type cell struct {
	config fair.Config // those settings that all experiments have, of the first run
	sweep.Part
}

// budget is how a cell's ε is told.
func (c cell) budget() string { return fmt.Sprintf("ε = %v", c.config.Epsilon) }

// alpha is how its α is told.
func (c cell) alpha() string { return strconv.FormatFloat(c.config.Alpha, 'g', -1, 64) + c.Besides() }

// sheet is a part with what has been measured of it: ε from ∞ down, and within it α
// from 0 up.
type sheet struct {
	part
	cells []cell
}

// sheet sorts the runs that are of a part.
func (p part) sheet(rows []sweep.Row) (s sheet, err error) {
	s.part = p
	type key struct {
		epsilon privacy.Epsilon
		alpha   float64
	}
	groups, err := sweep.Groups(rows, func(row sweep.Row, c fair.Config) (key, bool) {
		return key{c.Epsilon, c.Alpha}, row.Experiment == p.experiment && c.Criterion == p.criterion
	})
	if err != nil {
		return s, err
	}
	for _, g := range groups {
		s.cells = append(s.cells, cell{g.Config, g.Part})
	}
	slices.SortStableFunc(s.cells, func(a, b cell) int {
		return cmp.Or(-cmp.Compare(a.config.Epsilon, b.config.Epsilon), cmp.Compare(a.config.Alpha, b.config.Alpha))
	})
	return s, nil
}

// Report implements sweep.Sweep: a table for each part, what α costs, and of
// runs that are at hand what 004's figures show.
func (g grid) Report(rows []sweep.Row, _ sweep.Samples) (sweep.Report, error) {
	r := sweep.Report{Figures: map[string]viz.Figure{}}
	for _, p := range g.parts {
		s, err := p.sheet(rows)
		if err != nil {
			return r, err
		}
		if len(s.cells) == 0 {
			continue
		}
		t := s.table()
		t.Notes = append(t.Notes, "004 prints such numbers, its losses being those of training, above the graphs of its figures, which were not at hand as pictures.")
		r.Tables = append(r.Tables, t)
		r.Figures[p.name+"-trade.png"] = s.trade()
		if !s.atHand() {
			continue
		}
		if err := g.draw(s, r.Figures); err != nil {
			return r, err
		}
	}
	return r, nil
}

// atHand reports whether all runs are, and not only their rows.
func (s sheet) atHand() bool {
	return !slices.ContainsFunc(s.cells, func(c cell) bool {
		return slices.ContainsFunc(c.Rows, func(row sweep.Row) bool { _, ok := row.Opened(); return !ok })
	})
}

// table has a line for each cell.
func (s sheet) table() viz.Table {
	metrics := append([]string{"noise", "noise norm", "loss", "task loss", "distance"}, s.metrics...)
	t := viz.Table{
		Title:   s.name,
		Header:  append(append([]string{"ε, proved", "as published", "α"}, metrics...), "seeds", "seconds"),
		Caption: "On records that the model has not seen.",
		Notes: []string{
			"Noise is what each number of a gradient gets at each step; its norm is at most the noise norm with probability 0.95 (004, Corollary 4.2).",
			"As published: ε by 004's own accounting for the same noise.",
		},
	}
	for _, c := range s.cells {
		proved, published := sweep.Claims(c.Rows)
		line := []any{proved.String(), published, c.alpha()}
		for _, name := range metrics {
			line = append(line, viz.Spread(c.Over(name)))
		}
		t.Add(append(line, len(c.Rows), strconv.FormatFloat(sweep.MedianSeconds(c.Rows), 'f', 1, 64))...)
	}
	return t
}

// trade is the loss of the task against the distance of groups, a line for each ε
// along α.
func (s sheet) trade() viz.Curves {
	f := viz.Curves{Title: "What fairness costs: " + s.name, Height: 360,
		X:       viz.Axis{Label: "squared sliced W₂ between groups", Log: true},
		Y:       viz.Axis{Label: "loss of the task"},
		Caption: fmt.Sprintf("On records that the model has not seen. α from %v, on the right, to %v.", s.cells[0].config.Alpha, s.cells[len(s.cells)-1].config.Alpha)}
	for _, c := range s.cells {
		name := c.budget() + c.Besides()
		k := slices.IndexFunc(f.Lines, func(l viz.Line) bool { return l.Name == name })
		if k < 0 {
			k, f.Lines = len(f.Lines), append(f.Lines, viz.Line{Name: name})
		}
		x, _ := c.Over("distance")
		y, deviation := c.Over("task loss")
		f.Lines[k].Append(x, y, deviation)
	}
	return f
}
