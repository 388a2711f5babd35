package privateflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/viz"
)

func init() { experiment.Sweeps.Register(table1{}) }

// table1 is 003's Table 1 with more methods, more ε and metrics that are not FID
// alone. Every ε is one that is proved; what the papers would say of the same
// noise stands beside it.
type table1 struct{}

func (table1) Describe() plugin.Info {
	return plugin.Info{Name: "flows-table1", Version: "1", Source: "000 and 003, Table 1",
		Summary: "private flows and generators at equal proved ε, on images"}
}

// methods in the order of the table: those without privacy, ours, baselines, and
// the papers'.
var methods = []string{
	"swflow", "harmonic-flow", "harmonic-generator", "sketch-flow",
	"private-normal", "dp-merf", "sw-generator", "dpswflow-r", "dpswflow", "dpswgen",
}

// Requests implements experiment.Sweep.
func (table1) Requests(preset experiment.Preset, seeds int) (requests []experiment.Request) {
	datasets, budgets := []string{"mnist", "fashion-mnist"}, []string{"inf", "10", "1", "0.1"}
	if preset == experiment.Paper {
		datasets, budgets = append(datasets, "celeba"), []string{"inf", "10", "5", "1", "0.3", "0.1"}
	}
	for seed := 1; seed <= seeds; seed++ {
		for _, dataset := range datasets {
			for _, epsilon := range budgets {
				for _, method := range methods {
					if method == "swflow" && epsilon != "inf" {
						continue
					}
					settings := map[string]string{"dataset": dataset, "epsilon": epsilon}
					if dataset == "celeba" {
						maps.Copy(settings, faces(method))
					}
					requests = append(requests, experiment.Request{
						Experiment: method, Preset: preset, Seed: uint64(seed), Research: true, Settings: settings,
					})
				}
			}
		}
	}
	return requests
}

// faces are the settings for CelebA, with latents of 48 dimensions: 003's δ and
// step size (C.5), its numbers of directions rounded to whole bases, and for ours
// a step of three quarters of the way, as with 8 dimensions.
func faces(method string) map[string]string {
	settings := map[string]string{"delta": "1e-6"}
	switch method {
	case "swflow", "dpswflow-r", "dpswgen":
		settings["directions"], settings["step_size"] = "240", "5"
	case "dpswflow", "sw-generator":
		settings["directions"], settings["per_step"], settings["step_size"] = "48", "48", "5"
	case "harmonic-flow", "sketch-flow", "private-normal":
		settings["step_size"] = "36"
	}
	return settings
}

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

// metric returns the mean of a metric over seeds and its standard deviation, NaN
// of a single one.
func (c cell) metric(name string) (mean, deviation float64) {
	var values []float64
	for _, row := range c.rows {
		if v, ok := row.Metrics[name]; ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	return stat.MeanStdDev(values, nil)
}

// show is the mean of a metric, and its standard deviation over seeds.
func (c cell) show(name string) string {
	mean, deviation := c.metric(name)
	switch {
	case math.IsNaN(mean):
		return ""
	case math.IsNaN(deviation):
		return strconv.FormatFloat(mean, 'g', 4, 64)
	}
	return fmt.Sprintf("%.4g ± %.2g", mean, deviation)
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

// publishedFID is 003's Table 1 (the published version; 000 differs in places).
var publishedFID = map[string]map[string]map[privacy.Epsilon]float64{
	"mnist": {
		"dpswgen": {10: 124, 5: 198}, "dpswflow-r": {10: 70, 5: 114}, "dpswflow": {10: 118, 5: 171},
	},
	"fashion-mnist": {
		"dpswgen": {10: 170, 5: 199}, "dpswflow-r": {10: 88, 5: 98}, "dpswflow": {10: 98, 5: 129},
	},
	"celeba": {
		"dpswgen": {10: 209, 5: 214}, "dpswflow-r": {10: 132, 5: 197}, "dpswflow": {10: 262, 5: 292},
	},
}

func (c cell) published() string {
	if fid, ok := publishedFID[c.dataset][c.method][c.epsilon]; ok {
		return strconv.FormatFloat(fid, 'f', -1, 64)
	}
	return ""
}

// Report implements experiment.Sweep: a table for each data set, and the curve of
// the sliced distance over ε.
func (table1) Report(rows []experiment.Row) (experiment.Report, error) {
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
	t := viz.Table{
		Title:  dataset,
		Header: []string{"method", "proved ε", "paper's way", "sliced W₂", "1-NN", "fid-768", "FID", "published FID", "seeds", "seconds"},
		Caption: "Lower is better; 1-NN is the accuracy of the nearest neighbour in telling generated from held-out latents, best at 0.5. " +
			"The paper's way is the ε that its own accounting gives for the same noise; a published FID is for a published ε of that size, with other noise, and on another scale than fid-768.",
	}
	for _, c := range cells {
		seconds := 0.
		for _, row := range c.rows {
			seconds += row.Seconds / float64(len(c.rows))
		}
		t.Add(c.method, c.epsilon.String(), c.paperSays(), c.show("sliced W₂"), c.show("1-NN accuracy"), c.show("fid-768"), c.show("fid"), c.published(),
			len(c.rows), strconv.FormatFloat(seconds, 'f', 0, 64))
	}
	if len(cells) > 0 {
		floor, _ := cells[0].metric("sliced W₂ floor")
		nothing, _ := cells[0].metric("sliced W₂ of nothing learned")
		t.Caption += fmt.Sprintf(" As many real public latents are at %.4g in sliced W₂, uniform points of the sphere at %.4g.", floor, nothing)
	}
	return t
}

// curveOf draws a metric over finite ε, and what is reached without privacy.
func curveOf(cells []cell, metric, title string) viz.Curves {
	// No more lines than there are colours to tell them apart; a generator that
	// follows the guide of a flow beside it is in the table.
	left := []string{"harmonic-generator", "dpswgen"}
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
