package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Every request of the table is one that can be run, and no two are the same run.
func TestTable1AsksForRunsThatExist(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	for _, c := range []struct {
		sweep  string
		preset experiment.Preset
	}{{"flows-table1", experiment.Quick}, {"flows-table1", experiment.Paper}, {"flows-celeba", experiment.Quick}} {
		of, err := sweep.Registry.Lookup(c.sweep)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, q := range of.Requests(c.preset, 2) {
			if q.Settings["dataset"] == "celeba" { // which may not be here
				q.Settings["dataset"] = "glyphs"
				delete(q.Settings, "label")
			}
			spec, err := q.Spec()
			if err != nil {
				t.Errorf("%s %v: %v", q.Experiment, q.Settings, err)
				continue
			}
			id, err := spec.ID()
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				t.Errorf("%s %v twice", q.Experiment, q.Settings)
			}
			seen[id] = true
			if !q.Research {
				t.Errorf("%s would draw noise that nobody can repeat", q.Experiment)
			}
		}
		if len(seen) == 0 {
			t.Error("no runs")
		}
	}
}

// The lines of 003's Table 1: ε of ∞, 10 and 5 on MNIST, Fashion-MNIST and CelebA.
func TestPublishedFIDIsThePapersTable(t *testing.T) {
	for method, line := range map[string][9]float64{
		"dpswgen":    {114, 124, 198, 138, 170, 199, 171, 209, 214},
		"dpswflow-r": {21, 70, 114, 42, 88, 98, 57, 132, 197},
		"dpswflow":   {73, 118, 171, 96, 98, 129, 134, 262, 292},
	} {
		for i, want := range line {
			c := cell{key: key{method: method, dataset: []string{"mnist", "fashion-mnist", "celeba"}[i/3],
				epsilon: []privacy.Epsilon{privacy.Epsilon(math.Inf(1)), 10, 5}[i%3]}}
			if got := c.publishedFID(); got != fmt.Sprint(want) {
				t.Errorf("%s on %s at ε = %v: FID %q, want %v", method, c.dataset, c.epsilon, got, want)
			}
		}
	}
}

// Every method of the table but the one that has no ε stands in a curve, with all its
// values, ∞ to the right of all others.
func TestCurvesHaveAllMethods(t *testing.T) {
	var all []cell
	for _, epsilon := range []privacy.Epsilon{privacy.Epsilon(math.Inf(1)), 10, 1, 0.1} {
		for i, method := range methods {
			all = append(all, cell{key: key{method: method, dataset: "mnist", epsilon: epsilon},
				Part: sweep.Part{Rows: []sweep.Row{{Metrics: run.Values{"sliced W₂": float64(i+1) / 100}}}}})
		}
	}
	drawn, place := map[string]bool{}, map[string]int{}
	for _, g := range groups {
		f, ok := curveOf(all, g, measures[0], "mnist")
		if !ok {
			t.Fatalf("no curves of %s", g.title)
		}
		var colours [7]string
		for i, line := range f.Lines {
			if line.Y == nil {
				continue
			}
			if drawnAt, before := place[line.Name]; before && drawnAt != i {
				t.Errorf("%s has place %d in one figure and %d in another", line.Name, drawnAt, i)
			}
			if other := colours[i%7]; other != "" && g.suffix != "-all" {
				t.Errorf("%s and %s have one colour in %s", other, line.Name, g.title)
			}
			place[line.Name], colours[i%7] = i, line.Name
			drawn[line.Name] = true
			if len(line.X) != 4 || !(line.X[0] > f.Verticals[0] && f.Verticals[0] > 10 && f.X.Max > line.X[0]) || fmt.Sprint(line.X[1:]) != "[10 1 0.1]" {
				t.Errorf("%s at %v, ∞ beyond %v", line.Name, line.X, f.Verticals)
			}
			if want := float64(slices.Index(methods, line.Name)+1) / 100; line.Y[0] != want || !(f.Y.Min < want && f.Y.Max > want) {
				t.Errorf("%s is %v, want %v, on an axis from %v to %v", line.Name, line.Y, want, f.Y.Min, f.Y.Max)
			}
		}
		if err := f.PNG(io.Discard); err != nil {
			t.Error(err)
		}
	}
	for _, method := range methods {
		if drawn[method] == (method == "swflow") {
			t.Errorf("%s is drawn: %v", method, drawn[method])
		}
	}
	if _, ok := curveOf(all[:len(methods)], groups[1], measures[0], "mnist"); ok {
		t.Error("a curve of ε = ∞ alone")
	}
}

// Seeds are averaged, methods stand in the table's order with the noisiest ε last,
// and what the paper's accounting says and its FID stand beside what is proved.
func TestTable1Report(t *testing.T) {
	row := func(method string, epsilon privacy.Epsilon, sw float64) sweep.Row {
		config, err := json.Marshal(privateflow.Config{Dataset: "mnist", Epsilon: epsilon, NoisyEvaluation: true})
		if err != nil {
			t.Fatal(err)
		}
		r := sweep.Row{Run: "x", Experiment: method, Config: config, Metrics: run.Values{"sliced W₂": sw, "sliced W₂ floor": 0.01, "sliced W₂ of nothing learned": 0.2}}
		if method == "dpswflow-r" {
			r.Claims = []privacy.Claim{{Label: "as proved", Epsilon: epsilon, Sound: true}, {Label: "paper's way", Epsilon: 51.3}}
		}
		return r
	}
	inf := privacy.Epsilon(math.Inf(1))
	r, err := (flows{}).Report([]sweep.Row{
		row("dpswflow-r", 10, 0.06), row("harmonic-flow", 1, 0.02), row("harmonic-flow", 10, 0.01), row("harmonic-flow", 10, 0.03), row("swflow", inf, 0.015),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Tables[0].Markdown()
	var order []string
	for _, line := range strings.Split(text, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			order = append(order, strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2]))
		}
	}
	if got := strings.Join(order[2:], ", "); got != "swflow ∞, harmonic-flow 10, dpswflow-r 10, harmonic-flow 1" {
		t.Errorf("the rows are %s", got)
	}
	for _, want := range []string{"0.02 ± 0.014", "51.3", "| 70 |", "0.01 in sliced W₂"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := slices.Sorted(maps.Keys(r.Figures)); !slices.Equal(got, []string{"mnist-sliced-all.png", "mnist-sliced-projections.png", "mnist-sliced.png"}) {
		t.Errorf("figures: %v; want those of sliced W₂", got)
	}
	// Pictures, where they are at hand, by method and ε; a FID stands in a column of
	// its network and number of images.
	measured := row("harmonic-flow", 1, 0.02)
	measured.Measured = []experiment.Measured{{Rows: 500, Values: run.Values{"fid-768": 0.25, "fid-768 of reconstructions": 0.125}},
		{Rows: 300, Values: run.Values{"pixel sliced W₂": 0.75, "pixel sliced W₂ floor": 0.0625}}}
	r, err = (flows{}).Report([]sweep.Row{row("swflow", inf, 0.015), measured, row("dpswflow-r", 10, 0.06)}, func(q sweep.Row) (viz.Images, bool) {
		return viz.Images{X: make([]float32, 20*4), Height: 2, Width: 2}, q.Experiment != "dpswflow-r"
	})
	if err != nil {
		t.Fatal(err)
	}
	grid, ok := r.Figures["mnist-samples.png"].(viz.Panels)
	if !ok || strings.Join(grid.Rows, " ") != "swflow harmonic-flow" || strings.Join(grid.Cols, " ") != "ε = ∞ ε = 10 ε = 1" {
		t.Fatalf("pictures of %v at %v", grid.Rows, grid.Cols)
	}
	for i, cell := range grid.Cells {
		if there := cell != nil; there != (i == 0 || i == 5) {
			t.Errorf("cell %d: %v", i, cell)
		}
	}
	if text := r.Tables[0].Markdown(); !strings.Contains(text, "| fid-768 (500) | pixel sliced W₂ (300) |") || !strings.Contains(text, "| 0.25 | 0.75 |") || !strings.Contains(text, "pixel sliced W₂ (300): As many real public images are at 0.0625") || !strings.Contains(text, "themselves are at 0.125") {
		t.Errorf("no FID in\n%s", text)
	}
	// Under the paper's noise ε is what it claims, and a line of its own says what is
	// proved by the best accountant, of the runs the largest.
	claimed := func(proved privacy.Epsilon) sweep.Row {
		r := row("dpswflow-r", 10, 0.2)
		if r.Config, err = json.Marshal(privateflow.Config{Dataset: "mnist", Epsilon: 10, Published: true, NoisyEvaluation: true}); err != nil {
			t.Fatal(err)
		}
		r.Claims = []privacy.Claim{{Epsilon: proved, Sound: true}, {Epsilon: 10.1, Sound: true}, {Label: "as published", Epsilon: 10}, {Label: "paper's way", Epsilon: 9.9}}
		return r
	}
	later := claimed(9.25)
	later.Seed = 2
	r, err = (flows{}).Report([]sweep.Row{row("dpswflow-r", 10, 0.06), claimed(9.1), later}, func(q sweep.Row) (viz.Images, bool) {
		return viz.Images{X: make([]float32, 20*4), Height: 2, Width: 2}, q.Seed == 2
	})
	if err != nil {
		t.Fatal(err)
	}
	if grid, ok := r.Figures["mnist-claimed-samples.png"].(viz.Panels); !ok || fmt.Sprint(grid.Rows, grid.Cols, grid.Above) != "[dpswflow-r] [for a claimed ε = 10] [proved ε = 9.25]" || grid.Cells[0] == nil {
		t.Errorf("pictures under the paper's noise: %v %v %v", grid.Rows, grid.Cols, grid.Above)
	}
	if _, ok := r.Figures["mnist-samples.png"]; ok {
		t.Error("pictures under a claim stand among those of proved ε")
	}
	text = r.Tables[0].Markdown()
	for _, want := range []string{"| dpswflow-r | 10 | 51.3 | 0.06 |", "| dpswflow-r, the paper's noise | 9.25 | 9.9 | 0.2 ± 0 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := (flows{}).Report([]sweep.Row{{Run: "y", Config: json.RawMessage("[]")}}, nil); err == nil {
		t.Error("a row of another experiment was taken")
	}
}

// What follows noisy projections is asked for by the gradient and as printed at each finite
// ε, and once without noise; neither seeds nor figures of the two are mixed.
func TestGradientsAndWhatIsPrintedAreApart(t *testing.T) {
	gradients, asPrinted := map[string]int{}, map[string]int{}
	for _, r := range (flows{datasets: func(experiment.Preset) []string { return []string{"mnist"} }}).Requests(experiment.Quick, 1) {
		switch r.Settings["noisy_evaluation"] {
		case "true":
			gradients[r.Experiment]++
		case "false":
			asPrinted[r.Experiment]++
		}
	}
	if want := map[string]int{"dpswflow-r": 4, "dpswflow": 4, "dpswgen": 4, "sw-generator": 4}; !maps.Equal(gradients, want) {
		t.Errorf("by the gradient %v, want one at each finite ε: %v", gradients, want)
	}
	if want := map[string]int{"dpswflow-r": 5, "dpswflow": 5, "dpswgen": 5, "sw-generator": 5}; !maps.Equal(asPrinted, want) {
		t.Errorf("as printed %v, want one more each, without noise: %v", asPrinted, want)
	}
	row := func(noisy bool, sw float64) sweep.Row {
		config, err := json.Marshal(privateflow.Config{Dataset: "mnist", Epsilon: 10, NoisyEvaluation: noisy})
		if err != nil {
			t.Fatal(err)
		}
		return sweep.Row{Run: "x", Experiment: "dpswflow-r", Config: config, Metrics: run.Values{"sliced W₂": sw, "sliced W₂ floor": 0.01, "sliced W₂ of nothing learned": 0.2}}
	}
	noiseless := row(false, 0.04)
	noiseless.Config = bytes.Replace(noiseless.Config, []byte(`"epsilon":10`), []byte(`"epsilon":"inf"`), 1)
	r, err := (flows{}).Report([]sweep.Row{row(false, 0.06), row(true, 0.05), noiseless}, func(sweep.Row) (viz.Images, bool) {
		return viz.Images{X: make([]float32, 20*4), Height: 2, Width: 2}, true
	})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Tables[0].Markdown()
	for _, want := range []string{"| dpswflow-r | ∞ |  | 0.04 |", "| dpswflow-r | 10 |  | 0.05 |  | 70 | 1 | 0 |\n| dpswflow-r, as printed | 10 |  | 0.06 |", "Lines as printed take ψ′"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, line := range r.Figures["mnist-sliced-all.png"].(viz.Annotated).Lines {
		if line.Y != nil && !slices.Equal(line.Y, []float64{0.04, 0.05}) {
			t.Errorf("the figure's line is %v", line.Y)
		}
	}
	if grid := r.Figures["mnist-samples.png"].(viz.Panels); len(grid.Cells) != 2 {
		t.Errorf("%d pictures, want those without noise and by the gradient", len(grid.Cells))
	}
}

// What a column does not show stands below the table: that private rows were looked at,
// what a value is without copying, and of how few seeds something was measured.
func TestCaptionsTellWhatColumnsDoNot(t *testing.T) {
	row := func(seed uint64, more experiment.Measured) sweep.Row {
		r := sweep.Row{Run: "x", Experiment: "harmonic-flow", Seed: seed, Config: json.RawMessage(`{"dataset": "mnist", "epsilon": 1}`), Seconds: float64(seed * seed),
			Metrics: run.Values{"sliced W₂": 0.25, "sliced W₂ floor": 0.01, "sliced W₂ of nothing learned": 0.5}}
		if more.Rows > 0 {
			r.Measured = []experiment.Measured{more}
		}
		return r
	}
	few := row(1, experiment.Measured{Rows: 500, NonPrivate: true, Values: run.Values{latent.NearerPrivate: 0.375, latent.NearerPrivate + " without copying": 0.3125, latent.NearerPrivate + latent.OfPublic: 0.4375}})
	few.Metrics[classes] = 0.125
	const looked, counted = "private rows were looked at, outside of ε", "of the seeds whose points were still there"
	for _, c := range []struct {
		rows       []sweep.Row
		says, none []string
	}{
		{[]sweep.Row{few, row(2, experiment.Measured{}), row(4, experiment.Measured{})}, []string{looked, counted, "1 of 3 at least", "of fewer seeds, 1 of 3 at least",
			"Without copying it is 0.3125", "Of real public latents 0.4375 are", "| 1-NN | classes |", "| 0.125 | 0.375 |", "| 3 | 4 |"}, []string{"held-out ones,"}},
		{[]sweep.Row{few}, []string{looked, "| 0.125 | 0.375 |"}, []string{counted, "seeds at least"}},
		{[]sweep.Row{row(1, experiment.Measured{Rows: 500, Values: run.Values{"fid-768": 0.5}})}, []string{"fid-768 (500): of 500 images, beside as many held-out ones", "biased upwards"}, []string{looked, counted, "Classes", "Without copying"}},
		{[]sweep.Row{row(1, experiment.Measured{Rows: usualImages, Values: run.Values{"fid-768": 0.5}})}, []string{"beside as many held-out ones"}, []string{"biased upwards"}},
		{[]sweep.Row{row(1, experiment.Measured{Rows: usualImages, Values: run.Values{"fid-768": 0.5, "fid-768" + latent.FewerReal: 400}})}, []string{"of 10000 images, beside all 400 held-out ones, and biased upwards"}, []string{"beside as many"}},
		{[]sweep.Row{row(1, experiment.Measured{Rows: 500, Values: run.Values{"fid-768": 0.5, "fid-768" + latent.ToDecoded: 0.0625}})}, []string{"| fid-768 (500) | fid-768 to decoded (500) |", "| 0.5 | 0.0625 |", "fid-768 to decoded (500): the fid-768 beside what the autoencoder makes"}, nil},
		{[]sweep.Row{row(1, experiment.Measured{Rows: 500, Values: run.Values{"fid-768" + latent.ToDecoded: 0.5}}), row(2, experiment.Measured{Rows: 900, Values: run.Values{"fid-768" + latent.ToDecoded: 0.25}})}, []string{"| fid-768 to decoded (900) |", "| 0.25 |"}, []string{"(500)"}},
	} {
		r, err := (flows{}).Report(c.rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := r.Tables[0].Markdown()
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		for _, other := range c.none {
			if strings.Contains(text, other) {
				t.Errorf("%q in\n%s", other, text)
			}
		}
	}
}

// Rows that differ in more than their seed are no seeds of one cell: those of other
// settings, and those of other data.
func TestCellsPoolSeedsAlone(t *testing.T) {
	row := func(seed uint64, particles int, data string) sweep.Row {
		r := sweep.Row{Run: "r", Experiment: "swflow", Seed: seed, Config: json.RawMessage(fmt.Sprintf(`{"dataset": "mnist", "epsilon": "inf", "particles": %d}`, particles)), Metrics: run.Values{"sliced W₂": float64(seed)}}
		r.Computed.Data = data
		return r
	}
	found, err := cells([]sweep.Row{row(1, 5000, "mnist"), row(1, 10_000, "mnist"), row(2, 5000, "mnist"), row(3, 5000, "of elsewhere"), row(2, 10_000, "mnist")})
	if err != nil || len(found) != 3 {
		t.Fatalf("%d cells, %v", len(found), err)
	}
	for k, want := range []struct {
		name  string
		seeds int
	}{{"swflow", 2}, {"swflow (particles = 10000 and 5000)", 2}, {"swflow (data: of elsewhere and mnist)", 1}} {
		if found[k].name() != want.name || len(found[k].Rows) != want.seeds {
			t.Errorf("cell %q of %d rows, want %q of %d", found[k].name(), len(found[k].Rows), want.name, want.seeds)
		}
	}
}
