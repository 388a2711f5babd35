package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/dpsinkhorn"
	"molehill/pkg/experiment/sweep"
	"molehill/privacy"
	"molehill/viz"
)

// measured is a line with the runs of it that are there, one a seed.
type measured struct {
	line
	config dpsinkhorn.Config // of the first
	sweep.Part
}

// found sorts runs by the lines of a table that they are of.
func (t table) found(rows []sweep.Row) (all []measured, err error) {
	found, err := sweep.FindAll(t.lines, rows, "inputs", "weights")
	for _, f := range found {
		f.Line.label += f.Besides()
		all = append(all, measured{f.Line, *f.Config.(*dpsinkhorn.Config), f.Part})
	}
	return all, err
}

func (m measured) dataset() string { return m.config.Dataset }

// proved is the ε that is proved of a line's runs.
func (m measured) proved() privacy.Epsilon {
	proved, _ := sweep.Claims(m.Rows)
	return proved
}

// columns are the metrics that rows have, those of runs first.
func columns(all []measured) []sweep.Metric {
	var rows []sweep.Row
	for _, m := range all {
		rows = append(rows, m.Rows...)
	}
	own := []sweep.Metric{{Name: "logistic accuracy"}, {Name: "logistic accuracy" + dpsinkhorn.Darkened}, {Name: "sliced W₂"}}
	return append(own, sweep.Further(rows, func(_ string, found experiment.Measured) bool {
		_, drawn := found.Values[dpsinkhorn.BiasAt(1)]
		return !drawn && !found.NonPrivate
	})...)
}

// Report implements sweep.Sweep: a table for each data set, the accuracy of
// logistic regression along a setting, and pictures.
func (t table) Report(rows []sweep.Row, samples sweep.Samples) (sweep.Report, error) {
	all, err := t.found(rows)
	if err != nil {
		return sweep.Report{}, err
	}
	r := sweep.Report{Figures: map[string]viz.Figure{}}
	for name, here := range sweep.Split(all, measured.dataset) {
		r.Tables = append(r.Tables, t.of(name, here))
		if f := t.curve(name, here); len(f.Lines) > 0 { // not where all is without privacy
			r.Figures[name+"-accuracy.png"] = f
		}
		if figure, ok := biases(name, here); ok {
			r.Figures[name+"-bias.png"] = figure
		}
		for _, m := range here {
			if grid, ok := samples.First(m.Rows[:1]); ok {
				grid.Title, grid.Cols, grid.Scale = fmt.Sprintf("%s, %s at ε = %v", dataset.Title(name), m.label, m.proved()), dpsinkhorn.PerClass, 1
				if t.along != "epsilon" {
					name, _, _ := strings.Cut(t.axis, ",")
					grid.Title += fmt.Sprintf(", %s = %v", name, m.number(t.along))
				}
				r.Figures[t.file(m)] = grid
			}
		}
	}
	return r, nil
}

// file is the name of a line's pictures, with what the table goes along.
func (t table) file(m measured) string {
	at := "at e " + m.config.Epsilon.String()
	if t.along != "epsilon" {
		at += fmt.Sprintf(" %s %v", t.along, m.number(t.along))
	}
	return sweep.Picture(m.config.Dataset, m.label, at, "samples")
}

// of is the table of a data set's lines.
func (t table) of(name string, all []measured) viz.Table {
	measures := columns(all)
	table := viz.Table{Title: dataset.Title(name), Header: []string{"method", t.axis, privacy.PapersWay}, Caption: "Accuracy on real held-out images of classifiers that have learned from generated ones alone, in brackets from how many." + sweep.AboutData(all[0].Rows, name),
		Notes: []string{
			"Below zero cut: of images whose pixels below the middle grey were made black, as the public code of 001 does before it scores.",
			"Sliced W₂ is between generated and held-out rows in the space of the loss.",
			"The paper's way is the ε that its own accounting gives for the same noise.",
		}}
	note := func(text string) { table.Notes = append(table.Notes, text) }
	if t.along != "epsilon" {
		table.Header = slices.Insert(table.Header, 2, "ε, proved")
	}
	if t.note != "" {
		note(t.note)
	}
	for _, c := range measures {
		table.Header = append(table.Header, c.String())
	}
	if slices.ContainsFunc(table.Header, func(name string) bool { return strings.HasPrefix(name, "fid") }) {
		note("Our FID is beside as many held-out images, the first of the file, or all that there are; fid-768 is of another network than published FIDs, on another scale.")
	}
	if slices.ContainsFunc(all, func(m measured) bool { return len(m.Rows) > 1 }) {
		note("± is the standard deviation over seeds, and what is without it was measured for one.")
	}
	table.Header = append(table.Header, "published FID", "published logistic, MLP, CNN %", "steps made", "seeds", "seconds")
	for _, m := range all {
		theirs := ""
		if k := slices.IndexFunc(m.Rows[0].Claims, func(c privacy.Claim) bool { return c.Label == privacy.PapersWay }); k >= 0 {
			theirs = m.Rows[0].Claims[k].Epsilon.String()
		}
		line := []any{m.label}
		if t.along != "epsilon" {
			line = append(line, strconv.FormatFloat(m.number(t.along), 'g', -1, 64))
		}
		line = append(line, m.proved().String(), theirs)
		for _, c := range measures {
			line = append(line, viz.Spread(sweep.OverSeeds(m.Rows, c)))
		}
		steps, _ := m.Over("steps")
		table.Add(append(line, m.published.fid, m.published.accuracies(), strconv.FormatFloat(steps, 'f', 0, 64), len(m.Rows), strconv.FormatFloat(sweep.MedianSeconds(m.Rows), 'f', 0, 64))...)
	}
	for _, o := range t.others[name] {
		line := make([]any, len(table.Header))
		line[0] = o.method + ", as published"
		at := slices.Index(table.Header, "published FID")
		line[at], line[at+1] = o.fid, o.accuracies()
		table.Add(line...)
	}
	if slices.ContainsFunc(all, func(m measured) bool { return m.published != quoted{} }) {
		note("Published numbers are after the papers' own trainings, 160,000 steps of digits and clothes and 1.7 million of faces, at an ε that they claim: beside trainings as short as these they say where the way leads, not which method is better.")
	}
	return table
}

// accuracies are those of the three classifiers, "" if none is printed.
func (q quoted) accuracies() string {
	if q.logistic+q.mlp+q.cnn == "" {
		return ""
	}
	return fmt.Sprintf("%s, %s, %s", cmp.Or(q.logistic, "–"), cmp.Or(q.mlp, "–"), cmp.Or(q.cnn, "–"))
}

// number is what a line has for the setting that a table goes along.
func (m measured) number(name string) float64 {
	switch name {
	case "epsilon":
		return float64(m.proved())
	case "learning_rate":
		return m.config.LearningRate
	case "noise":
		return m.config.Noise
	case "steps":
		return float64(m.config.Steps)
	case "debiasing":
		return m.config.Debiasing
	}
	panic("tables: no table goes along " + name)
}

// curve is the accuracy of logistic regression along the table's setting; if that is ε, with
// what 001 has of its own.
func (t table) curve(name string, all []measured) viz.Curves {
	const metric = "logistic accuracy"
	const caption = "Accuracy on real held-out images of a logistic regression that has learned from generated ones. Means over seeds; bands, where each point of a line has several, are a standard deviation to both sides."
	f := viz.Curves{Title: "What generated images teach, " + dataset.Title(name), Caption: caption,
		X: viz.Axis{Label: t.axis, Log: t.log}, Y: viz.Axis{Label: metric, Min: 0, Max: 1}, Height: 440}
	single := map[string]bool{} // a band that begins or ends at one seed would tell of none
	for _, m := range all {
		single[m.label] = single[m.label] || len(m.Rows) == 1
	}
	for _, m := range all {
		mean, deviation := m.Over(metric)
		if single[m.label] {
			deviation = 0
		}
		if x := m.number(t.along); math.IsInf(x, 1) {
			f.References = append(f.References, viz.Reference{Name: m.label + ", no privacy", Value: mean})
		} else {
			f.Add(m.label, x, mean, deviation)
		}
	}
	for _, m := range all {
		percent, err := strconv.ParseFloat(m.published.logistic, 64)
		if err == nil && t.along == "epsilon" && m.experiment == "dp-sinkhorn" {
			f.Add("001, published", float64(m.config.Epsilon), percent/100, 0)
			f.Caption = caption + " What 001 published is for a claimed ε, after 160,000 steps."
		}
	}
	return f
}
