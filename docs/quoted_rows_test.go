package docs_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"molehill/docs/results"
	"molehill/pkg/experiment/sweep"
)

// settings are what runs have, by the names of their configuration. The experiment's name
// and the seed may be among them.
type settings map[string]any

// measure is a metric of runs, or of generated rows that were looked at afterwards.
type measure struct {
	name string
	of   int
}

// table is one of a page whose rows are means over the seeds of stored runs.
type table struct {
	page, header string
	results      string
	columns      []settings // what the runs of a column have; nil for one that is not of these runs
	percent      bool
	rows         []row
}

// row is one of a table that begins with a label. A cell has a number for each of measures,
// in their order, or "–".
type row struct {
	label    string
	of       settings
	measures []measure
}

var (
	logistic  = measure{"logistic accuracy", 0}
	mlp       = measure{"mlp accuracy", 10_000}
	cnn       = measure{"cnn accuracy", 5_000}
	inception = []measure{{"fid-768", 1_000}, {"fid-768 below zero cut", 1_000}}

	accuracy = measure{"accuracy", 0}
	impact   = measure{"disparate impact", 0}
	gap      = measure{"parity gap", 0}
	wrong    = measure{"1 − accuracy", 0}

	reconstructed = []measure{{"reconstruction loss", 0}, {"sliced W₂", 0}}

	neighbours = []measure{{"mlp accuracy, labels by private neighbours", 20_000}, {"mlp accuracy through the autoencoder, labels by private neighbours", 20_000}}

	generated = measure{"mlp accuracy", 0}
	through   = measure{"mlp accuracy through the autoencoder", 0}
)

// at are the columns of some ε.
func at(budgets ...any) (columns []settings) {
	for _, epsilon := range budgets {
		columns = append(columns, settings{"epsilon": epsilon})
	}
	return columns
}

// scaled are the columns of some values of one setting.
func scaled(setting string, values ...any) (columns []settings) {
	for _, value := range values {
		columns = append(columns, settings{setting: value})
	}
	return columns
}

// of are settings of an experiment on a data set.
func of(experiment, dataset string, more settings) settings {
	s := settings{"experiment": experiment, "dataset": dataset}
	for name, value := range more {
		s[name] = value
	}
	return s
}

var (
	wide     = settings{"features": 1000}
	narrow   = settings{"features": 3000}
	itself   = settings{"start": ""}
	afterOwn = settings{"start": "glyphs"}
	both     = []measure{logistic, mlp}
	digits   = []measure{generated, through}
)

var tables = []table{
	{page: "numbers.md", header: "| method | ε = ∞ | 10", results: "sinkhorn-table1-quick", columns: at("inf", 10, 5, 1, 0.1), percent: true, rows: []row{
		{"`sinkhorn-sketch`", of("sinkhorn-sketch", "mnist", nil), []measure{logistic}},
		{"`dp-sinkhorn-latent`", of("dp-sinkhorn-latent", "mnist", itself), []measure{logistic}},
		{"the same after 3,000 steps", of("dp-sinkhorn-latent", "mnist", afterOwn), []measure{logistic}},
		{"`dp-merf-images`", of("dp-merf-images", "mnist", wide), []measure{logistic}},
		{"the same with 3,000 features", of("dp-merf-images", "mnist", narrow), []measure{logistic}},
		{"the same after 1,000 steps", of("dp-sinkhorn", "mnist", afterOwn), []measure{logistic}},
	}},
	{page: "numbers.md", header: "| | ε = 10 | ε = 1 |", results: "sinkhorn-table1-quick", columns: at(10, 1), percent: true, rows: []row{
		{"MNIST, `sinkhorn-sketch`: CNN", of("sinkhorn-sketch", "mnist", nil), []measure{cnn}},
		{"MLP from 10,000", of("sinkhorn-sketch", "mnist", nil), []measure{mlp}},
		{"MNIST, DP-MERF with the narrower kernel", of("dp-merf-images", "mnist", narrow), []measure{cnn, mlp}},
		{"Fashion-MNIST, `sinkhorn-sketch`", of("sinkhorn-sketch", "fashion-mnist", nil), both},
		{"DP-MERF: logistic", of("dp-merf-images", "fashion-mnist", wide), both},
		{"DP-MERF with the narrower kernel", of("dp-merf-images", "fashion-mnist", narrow), both},
		{"`dp-sinkhorn-latent`", of("dp-sinkhorn-latent", "fashion-mnist", nil), []measure{logistic}},
	}},
	{page: "dp-sinkhorn.md", header: "| trained on images of", results: "sinkhorn-table1-quick", columns: append([]settings{nil}, at(10, 1, 0.1)...), percent: true, rows: []row{
		{"`sinkhorn-sketch` | CNN", of("sinkhorn-sketch", "mnist", nil), []measure{cnn}},
		{"`sinkhorn-sketch` | logistic", of("sinkhorn-sketch", "mnist", nil), both},
		{"`dp-merf-images` | CNN", of("dp-merf-images", "mnist", wide), []measure{cnn}},
		{"`dp-merf-images` | logistic", of("dp-merf-images", "mnist", wide), both},
		{"the same with 3,000 features", of("dp-merf-images", "mnist", narrow), []measure{cnn, logistic, mlp}},
		{"`dp-sinkhorn-latent`", of("dp-sinkhorn-latent", "mnist", itself), both},
		{"the same after 3,000 public steps", of("dp-sinkhorn-latent", "mnist", afterOwn), both},
		{"the same after 1,000 public steps", of("dp-sinkhorn", "mnist", afterOwn), both},
		{"`dp-sinkhorn-code`", of("dp-sinkhorn-code", "mnist", nil), both},
		{"`dp-sinkhorn-text`", of("dp-sinkhorn-text", "mnist", nil), []measure{cnn, logistic, mlp}},
	}},
	{page: "dp-sinkhorn.md", header: "| trained on images of", results: "sinkhorn-steps-paper", columns: append([]settings{nil}, at(10)...), percent: true, rows: []row{
		{"the text's training clipped as a whole", of("dp-sinkhorn", "mnist", settings{"steps": 160_000}), []measure{cnn, logistic, mlp}},
	}},
	{page: "dp-sinkhorn.md", header: "| | ε = 10 | ε = 1 | ε = 0.1 |", results: "sinkhorn-table1-quick", columns: at(10, 1, 0.1), percent: true, rows: []row{
		{"`sinkhorn-sketch`", of("sinkhorn-sketch", "fashion-mnist", nil), []measure{logistic, mlp, cnn}},
		{"DP-MERF", of("dp-merf-images", "fashion-mnist", wide), both},
		{"the same with the narrower kernel", of("dp-merf-images", "fashion-mnist", narrow), both},
		{"`dp-sinkhorn-latent`", of("dp-sinkhorn-latent", "fashion-mnist", nil), both},
		{"`dp-sinkhorn`", of("dp-sinkhorn", "fashion-mnist", nil), both},
	}},
	{page: "dp-sinkhorn.md", header: "| fid-768, one seed |", results: "sinkhorn-table1-quick", columns: images, rows: []row{
		{"`sinkhorn-sketch`", settings{"experiment": "sinkhorn-sketch", "seed": 1}, inception},
		{"`dp-sinkhorn-latent`", settings{"experiment": "dp-sinkhorn-latent", "seed": 2}, inception},
		{"`dp-merf-images`", settings{"experiment": "dp-merf-images", "seed": 2}, inception},
		{"`dp-sinkhorn`", settings{"experiment": "dp-sinkhorn", "seed": 2}, inception},
	}},
	{page: "dp-sinkhorn.md", header: "| one change |", results: "sinkhorn-better-quick", columns: images, percent: true, rows: []row{
		{"`dp-sinkhorn`, on pixels", settings{"experiment": "dp-sinkhorn", "start": "", "batch": 50, "multiplicity": 1}, both},
		{"pixels, 200 records a step", settings{"experiment": "dp-sinkhorn", "batch": 200, "generated": 50}, both},
		{"pixels, 200 records beside", settings{"experiment": "dp-sinkhorn", "batch": 200, "generated": 200}, both},
		{"pixels, four looks", settings{"experiment": "dp-sinkhorn", "multiplicity": 4}, both},
		{"pixels, exact plans", settings{"experiment": "dp-sinkhorn-exact"}, both},
		{"pixels, after 1,000 steps", settings{"experiment": "dp-sinkhorn", "start": "glyphs"}, both},
		{"`dp-sinkhorn-latent`", settings{"experiment": "dp-sinkhorn-latent", "start": "", "batch": 50, "bound": 0.05}, both},
		{"latents, Δ = 0.5", settings{"experiment": "dp-sinkhorn-latent", "bound": 0.5}, both},
		{"latents, 20 records", settings{"experiment": "dp-sinkhorn-latent", "batch": 20}, both},
		{"latents, 200 records", settings{"experiment": "dp-sinkhorn-latent", "batch": 200}, both},
		{"latents, after 3,000 steps", settings{"experiment": "dp-sinkhorn-latent", "start": "glyphs"}, both},
		{"`sinkhorn-sketch`", settings{"experiment": "sinkhorn-sketch"}, both},
	}},
	{page: "dp-sinkhorn.md", header: "| steps | 500 |", results: "sinkhorn-steps-quick", columns: scaled("steps", 500, 1000, 2000, 4000, 8000), percent: true, rows: []row{{"logistic accuracy", nil, []measure{logistic}}}},
	{page: "dp-sinkhorn.md", header: "| steps | 500 |", results: "sinkhorn-steps-quick", columns: scaled("steps", 500, 1000, 2000, 4000, 8000), rows: []row{{"sliced W₂", nil, []measure{{"sliced W₂", 0}}}}},
	{page: "numbers.md", header: "| | without fairness | α = 0.5", results: "fair-classification-quick", columns: []settings{{"alpha": 0}, {"alpha": 0.5}, {"alpha": 0.75}, {"alpha": 0.9}}, rows: []row{
		{"classification, parity, ε = 1", of("fair-classification", "biased", settings{"epsilon": 1, "criterion": "parity"}), []measure{accuracy, impact}},
		{"the same without privacy", of("fair-classification", "biased", settings{"epsilon": "inf", "criterion": "parity"}), []measure{accuracy, impact}},
	}},
	{page: "numbers.md", header: "| | ε = 0.5 | ε = 9 |", results: "fair-adult-quick", columns: at(0.5, 9), rows: []row{
		{"without fairness", of("fair-adult", "adult", settings{"alpha": 0}), []measure{accuracy, gap}},
		{"α = 0.6", of("fair-adult", "adult", settings{"alpha": 0.6}), []measure{accuracy, gap}},
	}},
	{page: "numbers.md", header: "| | ε = 1 | 0.3 | noisy projections", results: "circle-quick", columns: append(at(1, 0.3), nil), rows: []row{
		{"quick preset", settings{"experiment": "circle"}, []measure{{"distance", 0}}},
	}},
	{page: "numbers.md", header: "| | ε = 1 | 0.3 | noisy projections", results: "circle-paper", columns: append(at(1, 0.3), nil), rows: []row{
		{"[with the paper's sizes]", settings{"experiment": "circle", "steps": 1000}, []measure{{"distance", 0}}},
		{"the same in 250 steps", settings{"experiment": "circle", "steps": 250}, []measure{{"distance", 0}}},
	}},
	{page: "numbers.md", header: "| accuracy / through the autoencoder", results: "swae-table1-paper", columns: autoencoded, percent: true, rows: []row{
		{"[all of the paper's settings]", settings{"experiment": "dp-swae"}, digits},
	}},
	{page: "numbers.md", header: "| accuracy / through the autoencoder", results: "swae-table1-quick", columns: autoencoded, percent: true, rows: []row{
		{"quick preset", settings{"experiment": "dp-swae"}, digits},
	}},
	{page: "numbers.md", header: "| accuracy / through the autoencoder", results: "swae-better-quick", columns: autoencoded, percent: true, rows: []row{
		{"from a public start", settings{"experiment": "dp-swae", "steps": 700, "alpha": 0.3}, digits},
		{"ours", settings{"experiment": "dp-swae", "steps": 2000}, digits},
		{"004's distance", settings{"experiment": "dp-swae", "steps": 3000, "passes": 2}, digits},
	}},
	{page: "private-gradients.md", header: "| | private steps", results: "swae-better-quick", columns: []settings{nil, nil, nil, nil, atTen, nil}, rows: autoencoders([]measure{generated})},
	{page: "private-gradients.md", header: "| | private steps", results: "swae-better-quick", columns: []settings{nil, nil, nil, nil, nil, atTen}, rows: autoencoders([]measure{through})},
	{page: "private-gradients.md", header: "| | private steps", results: "swae-better-quick", columns: []settings{nil, nil, atTen, nil, nil, nil}, rows: autoencoders([]measure{{"reconstruction loss", 0}})},
	{page: "private-gradients.md", header: "| | private steps", results: "swae-table1-paper", columns: []settings{nil, nil, nil, nil, atTen, nil}, rows: []row{{"**paper preset**", nil, []measure{generated}}}},
	{page: "private-gradients.md", header: "| | private steps", results: "swae-table1-paper", columns: []settings{nil, nil, nil, nil, nil, atTen}, rows: []row{{"**paper preset**", nil, []measure{through}}}},
	{page: "private-gradients.md", header: "| setting, as it is |", results: "swae-ablation-quick", columns: scaled("steps", 63, 125, 500, 1000), rows: []row{{"250 steps", nil, reconstructed}}},
	{page: "private-gradients.md", header: "| setting, as it is |", results: "swae-ablation-quick", columns: scaled("batch", 150, 300, 1200, 2400), rows: []row{{"batches of 600", nil, reconstructed}}},
	{page: "private-gradients.md", header: "| setting, as it is |", results: "swae-ablation-quick", columns: scaled("jacobian", 0.6123724356957945, 1.224744871391589, 4.898979485566356, 9.797958971132712), rows: []row{{"Jacobians to L", nil, reconstructed}}},
	{page: "private-gradients.md", header: "| setting, as it is |", results: "swae-ablation-quick", columns: scaled("output", 0.375, 0.75, 3, 6), rows: []row{{"outputs to M", nil, reconstructed}}},
	{page: "private-gradients.md", header: "| setting, as it is |", results: "swae-ablation-quick", columns: scaled("loss", 0.25, 0.5, 2, 4), rows: []row{{"gradients of losses to C", nil, reconstructed}}},
	{page: "private-gradients.md", header: "| setting, as it is |", results: "swae-ablation-quick", columns: scaled("projections", 25, 50, 200, 400), rows: []row{{"100 projections", nil, reconstructed}}},
	{page: "private-gradients.md", header: "| | ε = ∞ | 10 | 5 | 1 |", results: "swae-table1-paper", columns: at("inf", 10, 5, 1), rows: []row{
		{"MNIST", settings{"dataset": "mnist"}, digits},
		{"Fashion-MNIST", settings{"dataset": "fashion-mnist"}, digits},
	}},
	{page: "private-gradients.md", header: "| labels by private codes |", results: "swae-table1-paper", columns: []settings{{"epsilon": 10, "seed": 1}, {"epsilon": 10, "seed": 3}, {"epsilon": 10, "seed": 5}, {"epsilon": 5, "seed": 3}, {"epsilon": 5, "seed": 5}, {"epsilon": 1, "seed": 3}, {"epsilon": 1, "seed": 4}, {"epsilon": 1, "seed": 5}}, rows: []row{
		{"MNIST", settings{"dataset": "mnist"}, neighbours},
		{"Fashion-MNIST", settings{"dataset": "fashion-mnist"}, neighbours},
	}},
	{page: "private-gradients.md", header: "| | steps | ε = 10 | ε = 1 |", results: "swae-better-quick", columns: append([]settings{nil}, at(10, 1)...), rows: []row{
		{"MNIST | 700", settings{"dataset": "mnist", "steps": 700, "law": 100}, digits},
		{"MNIST | 2,000", settings{"dataset": "mnist", "steps": 2000}, digits},
		{"Fashion-MNIST | 700", settings{"dataset": "fashion-mnist", "steps": 700, "law": 100}, digits},
		{"Fashion-MNIST | 2,000", settings{"dataset": "fashion-mnist", "steps": 2000}, digits},
	}},
	{page: "private-gradients.md", header: "| | ε = 9 | ε = 3 | ε = 1 | ε = 0.5 |", results: "fair-adult-quick", columns: at(9, 3, 1, 0.5), rows: []row{
		{"sliced W₂ (004), α = 0.6", of("fair-adult", "adult", settings{"alpha": 0.6}), []measure{wrong, gap}},
		{"α = 0.8", of("fair-adult", "adult", settings{"alpha": 0.8}), []measure{wrong, gap}},
		{"mutual information, α = 0.8", of("fair-adult-ermi", "adult", settings{"alpha": 0.8}), []measure{wrong, gap}},
		{"Lagrangian, α = 0.4", of("fair-adult-lagrangian", "adult", settings{"alpha": 0.4}), []measure{wrong, gap}},
		{"α = 0.5", of("fair-adult-lagrangian", "adult", settings{"alpha": 0.5}), []measure{wrong, gap}},
	}},
	{page: "numbers.md", header: "| | mean squared error", results: "fair-regression-1d-quick", columns: []settings{{}, nil, nil}, rows: []row{
		{"trained to be fair", settings{"experiment": "fair-regression-1d", "alpha": 0.5}, []measure{{"task loss", 0}}},
		{"α = 0.7", settings{"experiment": "fair-regression-1d", "alpha": 0.7}, []measure{{"task loss", 0}}},
		{"α = 0.8", settings{"experiment": "fair-regression-1d", "alpha": 0.8}, []measure{{"task loss", 0}}},
		{"Xian et al.'s post-processing", settings{"experiment": "fair-regression-1d-post"}, []measure{{"task loss, β = 0.05", 0}}},
		{"β = 0", settings{"experiment": "fair-regression-1d-post"}, []measure{{"task loss, β = 0", 0}}},
	}},
	{page: "numbers.md", header: "| | mean squared error", results: "fair-regression-1d-quick", columns: []settings{nil, {}, nil}, rows: []row{
		{"trained to be fair", settings{"experiment": "fair-regression-1d", "alpha": 0.5}, []measure{{"distance", 0}}},
		{"α = 0.7", settings{"experiment": "fair-regression-1d", "alpha": 0.7}, []measure{{"distance", 0}}},
		{"α = 0.8", settings{"experiment": "fair-regression-1d", "alpha": 0.8}, []measure{{"distance", 0}}},
		{"Xian et al.'s post-processing", settings{"experiment": "fair-regression-1d-post"}, []measure{{"distance, β = 0.05", 0}}},
		{"β = 0", settings{"experiment": "fair-regression-1d-post"}, []measure{{"distance, β = 0", 0}}},
	}},
	{page: "numbers.md", header: "| | mean squared error", results: "fair-regression-1d-quick", columns: []settings{nil, nil, {}}, rows: []row{
		{"trained to be fair", settings{"experiment": "fair-regression-1d", "alpha": 0.5}, []measure{{"KS", 0}}},
		{"α = 0.7", settings{"experiment": "fair-regression-1d", "alpha": 0.7}, []measure{{"KS", 0}}},
		{"α = 0.8", settings{"experiment": "fair-regression-1d", "alpha": 0.8}, []measure{{"KS", 0}}},
		{"Xian et al.'s post-processing", settings{"experiment": "fair-regression-1d-post"}, []measure{{"KS, β = 0.05", 0}}},
		{"β = 0", settings{"experiment": "fair-regression-1d-post"}, []measure{{"KS, β = 0", 0}}},
	}},
}

// atTen are the runs that the table of private autoencoders is of.
var atTen = settings{"dataset": "mnist", "epsilon": 10}

// autoencoders are the rows of that table with settings of our own.
func autoencoders(measures []measure) []row {
	return []row{
		{"**quick preset**", settings{"steps": 250}, measures},
		{"**public start, 700**", settings{"steps": 700, "alpha": 0.3}, measures},
		{"**classes, 700**", settings{"steps": 700, "alpha": 0.4}, measures},
		{"**passes and grain, 3,000**", settings{"steps": 3000, "passes": 2}, measures},
		{"**no prior, 700**", settings{"steps": 700, "alpha": 0}, measures},
		{"**no prior, 2,000**", settings{"steps": 2000}, measures},
	}
}

// autoencoded are the columns of the private autoencoder's table: the first has steps.
var autoencoded = append([]settings{nil}, images...)

// images are the columns of two data sets at two ε.
var images = []settings{{"dataset": "mnist", "epsilon": 10}, {"dataset": "mnist", "epsilon": 1}, {"dataset": "fashion-mnist", "epsilon": 10}, {"dataset": "fashion-mnist", "epsilon": 1}}

// mean is that over the seeds of stored runs that have some settings.
func (m measure) mean(t *testing.T, runs []sweep.Row, with ...settings) float64 {
	t.Helper()
	name, complement := strings.CutPrefix(m.name, "1 − ")
	metric := sweep.Metric{Name: name, Rows: m.of}
	var sum, n float64
	for _, r := range runs {
		config := settings{}
		if err := json.Unmarshal(r.Config, &config); err != nil {
			t.Fatal(err)
		}
		config["experiment"], config["seed"] = r.Experiment, r.Seed
		same := true
		for _, wanted := range with {
			for name, value := range wanted {
				same = same && fmt.Sprint(config[name]) == fmt.Sprint(value)
			}
		}
		if value, ok := metric.In(r); ok && same {
			sum, n = sum+value, n+1
		}
	}
	if complement {
		return 1 - sum/n
	}
	return sum / n
}

// said are the numbers of a cell, without what stands behind ± or in the links and sentences
// around them.
func said(cell string) []string {
	cell = spread.ReplaceAllString(cell, "")
	if strings.Contains(cell, "seed 1") {
		return nil // two seeds that are told apart
	}
	cell = aside.ReplaceAllString(cell, "$1")
	return number.FindAllString(cell, -1)
}

var (
	spread = regexp.MustCompile(`± [0-9.]+`)
	aside  = regexp.MustCompile(`\((by the CNN [0-9.]+ %)[^)]*\)`) // a number of its own
	number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?|–`)
)

// blockOf is the table of a page, "" if it is not there.
func blockOf(page string, of table) string {
	for _, after := range strings.Split(page, "\n"+of.header)[1:] {
		if lines, _, _ := strings.Cut(after, "\n\n"); strings.Contains(lines, "\n| "+of.rows[0].label) {
			return lines
		}
	}
	return ""
}

// What pages quote of stored runs is their mean, to its last digit, row by row.
func TestQuotedRowsAreTheStoredOnes(t *testing.T) {
	checked := 0
	for _, q := range tables {
		text, err := os.ReadFile(q.page)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := results.Rows(q.results)
		if err != nil {
			t.Fatal(err)
		}
		lines := blockOf(string(text), q)
		if lines == "" {
			t.Errorf("%s has no table with the header %q and a row %q", q.page, q.header, q.rows[0].label)
			continue
		}
		for _, r := range q.rows {
			_, line, ok := strings.Cut(lines, "\n| "+r.label)
			if !ok {
				t.Errorf("%s: no row begins with %q", q.header, r.label)
				continue
			}
			line, _, _ = strings.Cut(r.label+line, "\n")
			all := cells(line)[1:]
			for i, column := range q.columns {
				if column == nil || all[i] == "" {
					continue
				}
				numbers := said(all[i])
				if len(numbers) > len(r.measures) {
					t.Errorf("%s: the cell %q has more than the %d numbers that are known", r.label, all[i], len(r.measures))
					continue
				}
				for k, text := range numbers {
					value, err := strconv.ParseFloat(text, 64)
					if err != nil {
						continue // not measured
					}
					last, want := 1., r.measures[k].mean(t, runs, r.of, column)
					if _, fraction, ok := strings.Cut(text, "."); ok {
						last = math.Pow10(-len(fraction))
					}
					if q.percent {
						want *= 100
					}
					if checked++; !(math.Abs(value-want) <= 0.501*last) {
						t.Errorf("%s: %s has %s for %s at %v; the stored runs' mean is %.5g", q.page, r.label, text, r.measures[k].name, column, want)
					}
				}
			}
		}
	}
	if checked < 379 {
		t.Errorf("only %d numbers were found", checked)
	}
}
