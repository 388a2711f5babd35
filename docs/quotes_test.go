package docs_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"molehill/docs/results"
	"molehill/pkg/experiment/sweep"
	"molehill/privacy"
)

// column is a number of a cell: what stored runs of a data set have.
type column struct {
	results, dataset, metric string
	of                       int // generated rows, of a metric that was measured afterwards
}

// quoted are tables of numbers.md whose cells are "a / b", each the mean over seeds of a
// stored table, by the first words of their headers, in their order; a row that begins
// with the name of a data set is of that one, with those below it.
var quoted = []struct {
	header  string
	columns [2]column
}{
	{"sliced W₂ / accuracy of the nearest neighbour", [2]column{{"flows-table1-quick", "mnist", "sliced W₂", 0}, {"flows-table1-quick", "mnist", "1-NN accuracy", 0}}},
	{"fid-768 of 1,000 images", [2]column{{"flows-table1-quick", "mnist", "fid-768", 1000}, {"flows-table1-quick", "fashion-mnist", "fid-768", 1000}}},
	{"pixels", [2]column{{"flows-table1-quick", "mnist", "pixel sliced W₂", 5000}, {"flows-table1-quick", "fashion-mnist", "pixel sliced W₂", 5000}}},
	{"CelebA's sample: sliced W₂ / 1-NN", [2]column{{"flows-celeba-quick", "celeba", "sliced W₂", 0}, {"flows-celeba-quick", "celeba", "1-NN accuracy", 0}}},
	{"sliced W₂ / 1-NN", [2]column{{"flows-table1-paper", "mnist", "sliced W₂", 0}, {"flows-table1-paper", "mnist", "1-NN accuracy", 0}}},
	{"sliced W₂ / 1-NN", [2]column{{"flows-table1-paper", "fashion-mnist", "sliced W₂", 0}, {"flows-table1-paper", "fashion-mnist", "1-NN accuracy", 0}}},
	{"sliced W₂ / 1-NN", [2]column{{"flows-table1-paper", "celeba", "sliced W₂", 0}, {"flows-table1-paper", "celeba", "1-NN accuracy", 0}}},
}

// methods are what rows call some of them. The best of several is that of the least first
// number.
var methods = map[string][]string{
	"DP-MERF": {"dp-merf"}, "two private moments": {"private-normal"},
	"the best flow or generator of 003": {"dpswflow", "dpswflow-r", "dpswgen", "dpswflow" + printed, "dpswflow-r" + printed, "dpswgen" + printed},
}

// printed stands behind the name of a method that takes ψ′ where 003's text has it.
const printed = " as printed"

// quotedRun is a stored one, with what tables tell runs apart by.
type quotedRun struct {
	sweep.Row
	method, dataset, epsilon string
	published                bool
}

// stored reads the runs of a table.
func stored(t *testing.T, name string) (runs []quotedRun) {
	t.Helper()
	rows, err := results.Rows(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		var config struct {
			Dataset   string
			Epsilon   privacy.Epsilon
			Published bool
			Noisy     bool `json:"noisy_evaluation"`
		}
		if err := json.Unmarshal(row.Config, &config); err != nil {
			t.Fatal(err)
		}
		epsilon := "∞"
		if e := float64(config.Epsilon); !math.IsInf(e, 1) {
			epsilon = strconv.FormatFloat(e, 'g', -1, 64)
		}
		method := row.Experiment
		if slices.Contains([]string{"dpswflow", "dpswflow-r", "dpswgen", "sw-generator"}, method) && epsilon != "∞" && !config.Noisy {
			method += printed
		}
		runs = append(runs, quotedRun{row, method, config.Dataset, epsilon, config.Published})
	}
	return runs
}

// mean is that over the seeds of a method at an ε, NaN without any. Without noise what is
// printed is the gradient.
func (c column) mean(runs []quotedRun, method, epsilon string) (mean float64) {
	if epsilon == "∞" {
		method = strings.TrimSuffix(method, printed)
	}
	metric := sweep.Metric{Name: c.metric, Rows: c.of}
	var n float64
	for _, r := range runs {
		if value, ok := metric.In(r.Row); ok && r.method == method && r.dataset == c.dataset && r.epsilon == epsilon && !r.published {
			mean += value
			n++
		}
	}
	return mean / n
}

// What numbers.md quotes of stored tables is what they say, to its last digit.
func TestQuotedNumbersAreTheStoredOnes(t *testing.T) {
	text, err := os.ReadFile("numbers.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, next, checked := strings.Split(string(text), "\n"), 0, 0
	for at, line := range lines {
		if next == len(quoted) || !strings.HasPrefix(line, "| "+quoted[next].header) {
			continue
		}
		columns := quoted[next].columns
		runs := stored(t, columns[0].results)
		next++
		budgets := cells(line)[1:]
		for i, b := range budgets {
			budgets[i] = strings.TrimPrefix(b, "ε = ")
		}
		for _, row := range lines[at+2:] {
			if !strings.HasPrefix(row, "|") {
				break
			}
			label := cells(row)[0]
			for name, dataset := range map[string]string{"MNIST, ": "mnist", "Fashion-MNIST, ": "fashion-mnist"} {
				if rest, ok := strings.CutPrefix(label, name); ok {
					label, columns[0].dataset, columns[1].dataset = rest, dataset, dataset
				}
			}
			of, ok := methods[label]
			if !ok {
				if strings.Contains(label, "own noise") || label == "`dpswflow-r` likewise" {
					continue // which is proved to have another ε
				}
				name := strings.SplitN(label, "`", 3)
				of = []string{name[1]}
				if strings.HasSuffix(label, printed) {
					of[0] += printed
				}
			}
			for i, cell := range cells(row)[1:] {
				if cell == "" {
					continue
				}
				best := slices.MinFunc(of, func(a, b string) int {
					first := func(method string) float64 {
						mean := columns[0].mean(runs, method, budgets[i])
						if math.IsNaN(mean) {
							return math.Inf(1)
						}
						return mean
					}
					return cmp.Compare(first(a), first(b))
				})
				said := strings.Split(cell, " / ")
				if len(said) != 2 {
					t.Errorf("%q of %s is not two numbers", cell, label)
					continue
				}
				for k, number := range said {
					value, err := strconv.ParseFloat(number, 64)
					last := math.Pow10(-len(number[strings.Index(number, ".")+1:]))
					want := columns[k].mean(runs, best, budgets[i])
					if err != nil || !(math.Abs(value-want) <= 0.501*last) {
						t.Errorf("numbers.md has %s for %s of %s at ε = %s (%s); the stored runs' mean is %.5g", number, columns[k].metric, best, budgets[i], columns[k].dataset, want)
					}
					checked++
				}
			}
		}
	}
	if next != len(quoted) || checked < 540 {
		t.Errorf("%d tables with %d numbers; there are %d", next, checked, len(quoted))
	}
}

// cells of a line of a table.
func cells(line string) []string {
	all := strings.Split(strings.Trim(line, "|"), "|")
	for i, c := range all {
		all[i] = strings.TrimSpace(c)
	}
	return all
}

// What as many real latents are at is quoted as the stored table has it: the mean over its
// seeds, and their standard deviation.
func TestFloorsAreThoseOfTheTable(t *testing.T) {
	for _, dataset := range []string{"mnist", "fashion-mnist"} {
		seeds := map[uint64]sweep.Row{} // of one seed all runs have the same
		for _, r := range stored(t, "flows-table1-quick") {
			if r.dataset == dataset {
				seeds[r.Seed] = r.Row
			}
		}
		mean, deviation := sweep.OverSeeds(slices.Collect(maps.Values(seeds)), sweep.Metric{Name: "sliced W₂ floor"})
		want := fmt.Sprintf("%.4f ± %.4f", mean, deviation)
		for _, page := range []string{"../README.md", "numbers.md", "harmonic-sketch.md"} {
			if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s does not say that as many real latents of %s are at %s, %v", page, dataset, want, err)
			}
		}
	}
}
