package privateflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"molehill/pkg/experiment"
	"molehill/pkg/metric"
	"molehill/privacy"
	"molehill/viz"
)

// cell is what runs of one method, data set and ε have in common.
type cell struct {
	method, dataset string
	epsilon         privacy.Epsilon
	rows            []experiment.Row
}

func cells(rows []experiment.Row) ([]cell, error) {
	var all []cell
	for _, row := range rows {
		var c Config
		if err := json.Unmarshal(row.Config, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", row.Run, err)
		}
		same := func(o cell) bool {
			return o.method == row.Experiment && o.dataset == c.Dataset && o.epsilon == c.Epsilon
		}
		k := slices.IndexFunc(all, same)
		if k < 0 {
			k, all = len(all), append(all, cell{method: row.Experiment, dataset: c.Dataset, epsilon: c.Epsilon})
		}
		all[k].rows = append(all[k].rows, row)
	}
	return all, nil
}

// metric returns the mean of a metric over seeds and its standard deviation.
func (c cell) metric(name string) (mean, deviation float64) {
	return c.over(experiment.OwnMetric(name))
}

func (c cell) over(metric experiment.Metric) (mean, deviation float64) {
	return experiment.OverSeeds(c.rows, metric)
}

// seconds is the median over seeds, for a machine may sleep.
func (c cell) seconds() float64 {
	all := make([]float64, len(c.rows))
	for i, row := range c.rows {
		all[i] = row.Seconds
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// frechet is a Fréchet distance by the network that computed it and by the number of
// images: neither compares with another.
type frechet struct {
	name string
	rows int
}

func (f frechet) String() string { return fmt.Sprintf("%s (%d)", f.name, f.rows) }

func (f frechet) of() experiment.Metric { return experiment.FurtherMetric(f.name, f.rows) }

// fids returns those that any of the runs was measured by, in order.
func fids(cells []cell) []frechet {
	found := map[frechet]bool{}
	for _, c := range cells {
		for _, row := range c.rows {
			for _, m := range row.Measured {
				for _, name := range []string{metric.FID.Describe().Name, metric.FID768.Describe().Name} {
					if _, ok := m.Values[name]; ok {
						found[frechet{name, m.Rows}] = true
					}
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b frechet) int {
		return cmp.Or(cmp.Compare(a.name, b.name), -cmp.Compare(a.rows, b.rows))
	})
}

// paperSays is the ε of the paper's own accounting for the noise of the runs.
func (c cell) paperSays() string {
	for _, claim := range c.rows[0].Claims {
		if !claim.Sound {
			return fmt.Sprintf("%.3g", float64(claim.Epsilon))
		}
	}
	return ""
}

func (c cell) published() string {
	if fid, ok := publishedFID[c.dataset][c.method][c.epsilon]; ok {
		return strconv.FormatFloat(fid, 'f', -1, 64)
	}
	return ""
}

// Report implements experiment.Sweep: a table for each data set, and the curve of
// the sliced distance over ε.
func (table1) Report(rows []experiment.Row, samples experiment.Samples) (experiment.Report, error) {
	all, err := cells(rows)
	if err != nil {
		return experiment.Report{}, err
	}
	r := experiment.Report{Figures: map[string]viz.Figure{}}
	var datasets []string
	for _, c := range all {
		if !slices.Contains(datasets, c.dataset) {
			datasets = append(datasets, c.dataset)
		}
	}
	for _, dataset := range datasets {
		var here []cell
		for _, c := range all {
			if c.dataset == dataset {
				here = append(here, c)
			}
		}
		slices.SortStableFunc(here, func(a, b cell) int {
			return cmp.Or(-cmp.Compare(float64(a.epsilon), float64(b.epsilon)), cmp.Compare(slices.Index(methods, a.method), slices.Index(methods, b.method)))
		})
		r.Tables = append(r.Tables, tableOf(dataset, here))
		if figure, ok := picturesOf(dataset, here, samples); ok {
			r.Figures[dataset+"-samples.png"] = figure
		}
		for _, m := range []struct{ file, title, metric string }{
			{"sliced", "Sliced W₂ to held-out latents", "sliced W₂"}, {"neighbour", "How often the nearest neighbour knows", "1-NN accuracy"},
		} {
			if figure := curveOf(here, m.metric, m.title+", "+dataset); len(figure.Lines) > 0 {
				r.Figures[dataset+"-"+m.file+".png"] = figure
			}
		}
	}
	return r, nil
}

func tableOf(dataset string, cells []cell) viz.Table {
	distances := fids(cells)
	t := viz.Table{
		Title:  dataset,
		Header: []string{"method", "proved ε", "paper's way", "sliced W₂", "1-NN", "classes"},
		Caption: "Lower is better; 1-NN is the accuracy of the nearest neighbour in telling generated from held-out latents, best at 0.5; classes is the total variation between the classes of generated and held-out latents. " +
			"The paper's way is the ε that its own accounting gives for the same noise; a published FID is for a published ε of that size, with other noise, and on another scale than fid-768. Seconds are the median.",
	}
	for _, f := range distances {
		t.Header = append(t.Header, f.String())
	}
	t.Header = append(t.Header, "published FID", "seeds", "seconds")
	for _, c := range cells {
		line := []any{c.method, c.epsilon.String(), c.paperSays(), experiment.ShowSpread(c.metric("sliced W₂")), experiment.ShowSpread(c.metric("1-NN accuracy")), experiment.ShowSpread(c.metric("class total variation"))}
		for _, f := range distances {
			line = append(line, experiment.ShowSpread(c.over(f.of())))
		}
		t.Add(append(line, c.published(), len(c.rows), strconv.FormatFloat(c.seconds(), 'f', 0, 64))...)
	}
	if len(cells) == 0 {
		return t
	}
	if origin := cells[0].rows[0].Computed.Data; origin != "" && origin != dataset {
		t.Caption += " The data: " + origin + "."
	}
	floor, _ := cells[0].metric("sliced W₂ floor")
	nothing, _ := cells[0].metric("sliced W₂ of nothing learned")
	t.Caption += fmt.Sprintf(" As many real public latents are at %.4g in sliced W₂, uniform points of the sphere at %.4g.", floor, nothing)
	for _, f := range distances {
		rebuilt := frechet{f.name + " of reconstructions", f.rows}
		for _, c := range cells {
			if mean, _ := c.over(rebuilt.of()); !math.IsNaN(mean) {
				t.Caption += fmt.Sprintf(" The autoencoder's reconstructions of the held-out images themselves have %v = %.4g, in brackets the number of images.", f, mean)
				break
			}
		}
	}
	return t
}

// some takes eight of the images, evenly, for those of one class lie together.
func some(grid viz.Images) viz.Images {
	const lines, each = 2, 4
	size := grid.Height * grid.Width * max(1, grid.Channels)
	all := len(grid.X) / size
	var x []float32
	for i := range min(lines*each, all) {
		k := i * all / min(lines*each, all)
		x = append(x, grid.X[k*size:(k+1)*size]...)
	}
	grid.X, grid.Cols, grid.Scale = x, each, 1
	return grid
}

// picturesOf is 003's Figures 2 to 4 in one: methods by proved ε, and what the
// autoencoder makes of held-out images.
func picturesOf(dataset string, cells []cell, samples experiment.Samples) (viz.Panels, bool) {
	f := viz.Panels{Title: "Decoded, " + dataset}
	if samples == nil {
		return f, false
	}
	var budgets []privacy.Epsilon
	for _, c := range cells { // in falling order
		if !slices.Contains(budgets, c.epsilon) {
			budgets = append(budgets, c.epsilon)
			f.Cols = append(f.Cols, "ε = "+c.epsilon.String())
		}
	}
	found := false
	for _, method := range methods {
		row := make([]viz.Figure, len(budgets))
		any := false
		for _, c := range cells {
			if c.method != method {
				continue
			}
			if grid, ok := samples(c.rows[0]); ok {
				row[slices.Index(budgets, c.epsilon)], any = some(grid), true
			}
		}
		if any {
			f.Rows, f.Cells, found = append(f.Rows, method), append(f.Cells, row...), true
		}
	}
	return f, found
}

// curveOf draws a metric over finite ε, and what is reached without privacy.
func curveOf(cells []cell, metric, title string) viz.Curves {
	// No more lines than there are colours to tell them apart; a generator that
	// follows the guide of a flow beside it is in the table.
	left := []string{"harmonic-generator", "harmonic-classes", "dpswgen"}
	f := viz.Curves{Title: title, X: viz.Axis{Label: "ε, proved", Log: true}, Y: viz.Axis{Label: metric, Log: true}, Height: 440}
	for _, method := range methods {
		if slices.Contains(left, method) {
			continue
		}
		line := viz.Line{Name: method}
		for _, c := range cells {
			mean, deviation := c.metric(metric)
			switch {
			case c.method != method || math.IsNaN(mean):
			case !math.IsInf(float64(c.epsilon), 1):
				if math.IsNaN(deviation) {
					deviation = 0
				}
				line.X, line.Y = append(line.X, float64(c.epsilon)), append(line.Y, mean)
				line.Low, line.High = append(line.Low, mean-deviation), append(line.High, mean+deviation)
			case method == "swflow":
				f.References = append(f.References, viz.Reference{Name: method + ", no privacy", Value: mean})
			}
		}
		if len(line.X) > 0 {
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}
