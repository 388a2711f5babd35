package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/swae"
	"molehill/pkg/experiment/sweep"
	"molehill/viz"
)

// measured is a line with the runs of it that are there, one a seed.
type measured struct {
	line
	config swae.Config // of the first
	sweep.Part
}

// found sorts runs by the lines of a table that they are of.
func (t table) found(rows []sweep.Row) (all []measured, err error) {
	found, err := sweep.FindAll(t.lines, rows, "inputs", "release") // of networks trained alike
	for _, f := range found {
		f.Line.label += f.Besides()
		all = append(all, measured{f.Line, *f.Config.(*swae.Config), f.Part})
	}
	return all, err
}

func (m measured) dataset() string { return m.config.Dataset }

// own are the metrics that every run has.
var own = []sweep.Metric{
	{Name: "mlp accuracy"}, {Name: "mlp accuracy" + swae.ThroughAutoencoder}, {Name: swae.LabelAccuracy}, {Name: swae.Reconstruction}, {Name: swae.ToPrior}, {Name: "noise"}, {Name: "noise norm"},
}

// columnsIn are the metrics that rows have, those of the runs themselves first. What looks
// at records is for their keeper, but for accuracies with 004's own labels.
func columnsIn(all []measured) []sweep.Metric {
	var rows []sweep.Row
	for _, m := range all {
		rows = append(rows, m.Rows...)
	}
	return append(slices.Clone(own), sweep.Further(rows, func(name string, found experiment.Measured) bool {
		return !found.NonPrivate || strings.Contains(name, swae.ByNeighbours)
	})...)
}

// head is what stands above a metric's column.
func head(m sweep.Metric) string {
	if strings.Contains(m.Name, swae.ByNeighbours) {
		return m.String() + ", non-private"
	}
	return m.String()
}

// Report implements sweep.Sweep: for each data set a table, a figure, and pictures
// of each line.
func (t table) Report(rows []sweep.Row, samples sweep.Samples) (sweep.Report, error) {
	all, err := t.found(rows)
	if err != nil {
		return sweep.Report{}, err
	}
	r := sweep.Report{Figures: map[string]viz.Figure{}}
	for name, here := range sweep.Split(all, measured.dataset) {
		r.Tables = append(r.Tables, t.of(name, here))
		figure := t.figure(name, here)
		if curves, ok := figure.(viz.Curves); !ok || len(curves.Lines) > 0 { // not where all is without privacy
			r.Figures[sweep.Picture(name, t.metric)] = figure
		}
		for _, m := range here {
			if grid, ok := samples.First(m.Rows); ok {
				grid.Title, grid.Cols, grid.Scale = fmt.Sprintf("%s, %s", dataset.Title(name), t.name(m)), swae.Columns, 1
				grid.Caption = "Held-out images, the same reconstructed, and generated ones."
				r.Figures[sweep.Picture(name, t.name(m), "samples")] = grid
			}
			if err := t.looks(r.Figures, m); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// looks adds what the first of a line's runs that is at hand has left of its codes: where
// they lie, and images between them.
func (t table) looks(figures map[string]viz.Figure, m measured) error {
	at := slices.IndexFunc(m.Rows, func(row sweep.Row) bool { _, ok := row.Opened(); return ok })
	if at < 0 {
		return nil
	}
	one, _ := m.Rows[at].Opened()
	title := fmt.Sprintf("%s, %s", dataset.Title(m.config.Dataset), t.name(m))
	codes, err := swae.CodesOf(one)
	if err != nil {
		return err
	}
	if f, ok := codes.Figure(); ok {
		f.Caption = f.Title + ". 004's Figures 3 and 9 show such codes."
		f.Title = title + ": codes"
		figures[sweep.Picture(m.config.Dataset, t.name(m), swae.CodesName)] = f
	}
	f, err := swae.Interpolations(one)
	if err != nil {
		return err
	}
	f.Caption = f.Title + ", along the line between their codes (004, Figures 7 and 11)."
	f.Title = title + ": interpolations"
	figures[sweep.Picture(m.config.Dataset, t.name(m), swae.InterpolationsName)] = f
	return nil
}

// name tells a line from others of the table.
func (t table) name(m measured) string {
	name := fmt.Sprintf("%s at ε = %v", m.label, m.config.Epsilon)
	if t.axis == ablation.axis {
		name = fmt.Sprintf("%s × %g, ε = %v", m.label, m.x, m.config.Epsilon)
	}
	return name
}

// of is the table of a data set's lines.
func (t table) of(name string, all []measured) viz.Table {
	measures := columnsIn(all)
	table := viz.Table{Title: dataset.Title(name), Header: []string{"method"}, Caption: "Accuracy on real held-out images of a classifier that has learned from generated ones alone; through the autoencoder: on those images as it reconstructs them." + learned(all) + sweep.AboutData(all[0].Rows, name),
		Notes: []string{
			"Reconstruction loss in nats a pixel; sliced W₂ between codes of held-out images and the prior, or what else images are generated from.",
			"Noise is the standard deviation of that on each number of a gradient; its norm at a step is at most the noise norm with probability 0.95 (004, Corollary 4.2). At ε = ∞ gradients have no noise and are clipped as the others.",
			"As published: the ε that 004's accounting gives for the same noise.",
			t.note,
		}}
	if t.axis == ablation.axis {
		table.Header = append(table.Header, t.axis)
	}
	table.Header = append(table.Header, "ε, proved", "ε, as published")
	for _, c := range measures {
		table.Header = append(table.Header, head(c))
	}
	table.Header = append(table.Header, "published FID", "published accuracy (through) %", "steps", "seeds", "seconds")
	for _, m := range all {
		proved, theirs := sweep.Claims(m.Rows)
		cells := []any{m.label}
		if t.axis == ablation.axis {
			cells = append(cells, strconv.FormatFloat(m.x, 'g', -1, 64))
		}
		cells = append(cells, proved.String(), theirs)
		for _, c := range measures {
			cells = append(cells, viz.Spread(sweep.OverSeeds(m.Rows, c)))
		}
		table.Add(append(cells, m.published.fid, m.published.accuracies(), m.config.Steps, len(m.Rows), strconv.FormatFloat(sweep.MedianSeconds(m.Rows), 'f', 0, 64))...)
	}
	if t.others {
		t.quote(&table, name, all)
	}
	if slices.ContainsFunc(measures, func(c sweep.Metric) bool { return strings.HasPrefix(c.Name, "fid-768") }) {
		table.Notes = append(table.Notes, "fid-768 is of another network than published FIDs, on another scale, and beside as many held-out images, the first of the file.")
	}
	return table
}

// learned says of how many generated images the classifiers of lines learn.
func learned(all []measured) string {
	base, text := all[0].config.Samples, ""
	for _, m := range all {
		if m.config.Samples != base {
			text += fmt.Sprintf(", of %s from %d", m.label, m.config.Samples)
		}
	}
	return fmt.Sprintf(" Classifiers learn from %d generated images%s.", base, text)
}

// quote adds 004's numbers of other methods at the budgets that lines have.
func (t table) quote(table *viz.Table, name string, all []measured) {
	fid := slices.Index(table.Header, "published FID")
	for _, m := range all {
		epsilon := m.settings["epsilon"]
		for _, q := range quotes[name+" "+epsilon] {
			cells := make([]any, len(table.Header))
			cells[0], cells[2], cells[fid], cells[fid+1] = q.method+" (quoted)", epsilon, q.fid, q.accuracies()
			table.Rows = append(table.Rows, cells)
		}
	}
}

func (q quoted) accuracies() string {
	if q.through == "" {
		return q.accuracy
	}
	return fmt.Sprintf("%s (%s)", q.accuracy, q.through)
}

// figure is the table's metric along its axis, or dots where it has none.
func (t table) figure(name string, all []measured) viz.Figure {
	title := map[string]string{swae.Reconstruction: "How near reconstructions come, "}[t.metric]
	if title == "" {
		title = "What generated images teach, "
	}
	if t.axis == "" {
		return t.dots(title+dataset.Title(name), all)
	}
	f := viz.Curves{Title: title + dataset.Title(name), X: viz.Axis{Label: t.axis, Log: t.log}, Y: viz.Axis{Label: t.metric}, Height: 420}
	names := []string{t.metric}
	if t.metric != swae.Reconstruction {
		names, f.Y.Max = append(names, t.metric+swae.ThroughAutoencoder), 1
	}
	for _, m := range all {
		for _, name := range names {
			mean, deviation := m.Over(name)
			label := m.label
			if len(names) > 1 {
				label = name
			}
			if math.IsInf(m.x, 1) {
				f.References = append(f.References, viz.Reference{Name: label + ", no privacy", Value: mean})
				continue
			}
			if m.label == "as they are" {
				f.References = append(f.References, viz.Reference{Name: m.label, Value: mean})
				continue
			}
			f.Add(label, m.x, mean, deviation)
		}
		if len(names) > 1 && m.published.accuracy != "" {
			f.Caption = claimed
			f.Add(printed, m.x, parse(m.published.accuracy)/100, 0)
			f.Add(printed+swae.ThroughAutoencoder, m.x, parse(m.published.through)/100, 0)
		}
	}
	return f
}

// printed names what 004 prints, in figures of accuracies, and claimed what is said of it there.
const (
	printed = "004, published"
	claimed = "What 004 published is for a claimed ε."
)

// dots compare lines under each ε, with what 004 prints below.
func (t table) dots(title string, all []measured) viz.Figure {
	f := viz.Dots{Title: title, X: viz.Axis{Label: t.metric}, Caption: claimed}
	place := func(names *[]string, name string) int {
		k := slices.Index(*names, name)
		if k < 0 {
			k, *names = len(*names), append(*names, name)
		}
		return k
	}
	for _, m := range all {
		place(&f.Rows, m.label)
		place(&f.Conditions, "ε = "+m.settings["epsilon"])
	}
	place(&f.Rows, printed)
	for range f.Rows {
		f.Values = append(f.Values, slices.Repeat([]float64{math.NaN()}, len(f.Conditions)))
	}
	for _, m := range all {
		mean, _ := m.Over(t.metric)
		condition := place(&f.Conditions, "ε = "+m.settings["epsilon"])
		f.Values[place(&f.Rows, m.label)][condition] = mean
		f.Values[place(&f.Rows, printed)][condition] = parse(m.published.accuracy) / 100
	}
	return f
}
