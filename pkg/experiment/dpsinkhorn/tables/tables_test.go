package tables

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/dpsinkhorn"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/viz"
)

// Every run that a table asks for can be made, none twice, and its row finds its line
// again.
func TestTablesAskForRunsThatExist(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	for _, s := range tables {
		for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
			var rows []sweep.Row
			seen := map[string]bool{}
			for _, q := range s.Requests(preset, 2) {
				c := config(t, q.Experiment, preset)
				if err := experiment.Apply(c, q.Settings); err != nil {
					t.Fatal(err)
				}
				if err := c.Check(); err != nil {
					t.Errorf("%s: %s %v: %v", s.Name, q.Experiment, q.Settings, err)
				}
				text, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				key := q.Experiment + string(text)
				if q.Seed == 1 && seen[key] {
					t.Errorf("%s: %s %v twice", s.Name, q.Experiment, q.Settings)
				}
				seen[key] = true
				rows = append(rows, sweep.Row{Run: key, Experiment: q.Experiment, Seed: q.Seed, Config: text, Seconds: 1,
					Metrics: run.Values{"logistic accuracy": 0.5 + float64(q.Seed)/100, "steps": 7},
					Claims:  []privacy.Claim{{Epsilon: 2.5 + privacy.Epsilon(q.Seed)/2, Sound: true}, {Label: privacy.PapersWay, Epsilon: 2}}}) // the larger of seeds is what is proved
			}
			report, err := s.Report(rows, func(sweep.Row) (viz.Images, bool) { return viz.Images{}, true })
			if err != nil {
				t.Fatal(err)
			}
			titles := map[string]bool{}
			for name, figure := range report.Figures {
				if strings.HasSuffix(name, "-samples.png") {
					titles[figure.Heading()] = true
					delete(report.Figures, name)
				}
			}
			if s.along != "epsilon" && 2*len(titles) != len(rows) { // all prove the same ε here
				t.Errorf("%s, %s: %d runs have pictures with the titles %v", s.Name, preset, len(rows), slices.Collect(maps.Keys(titles)))
			}
			lines := 0
			for _, table := range report.Tables {
				for _, line := range table.Rows {
					if strings.HasSuffix(line[0].(string), "as published") {
						continue
					}
					lines++
					if line = line[slices.Index(table.Header, "ε, proved"):]; line[0] != "3.5" || line[len(line)-2] != 2 || line[1] != "2" || !strings.Contains(line[2].(string), "0.515 ± 0.0071") {
						t.Errorf("%s: %v", s.Name, line)
					}
				}
			}
			if 2*lines != len(rows) || len(report.Figures) != len(report.Tables) {
				t.Errorf("%s, %s: %d lines and %d figures of %d runs", s.Name, preset, lines, len(report.Figures), len(rows))
			}
		}
	}
}

// A table of trainings at one ε has them spend it, at the papers' sizes too, where the
// papers' own noise comes to a third: such lines say whose noise they have.
func TestTablesSpendTheirBudgets(t *testing.T) {
	type promise struct {
		records, batch int
		epsilon, delta float64
	}
	planned := map[promise]bool{}
	for _, s := range tables {
		if s.along == "noise" { // of a search for it
			continue
		}
		for _, l := range s.lines(experiment.Paper) {
			c := config(t, l.experiment, experiment.Paper)
			if err := experiment.Apply(c, l.settings); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(l.experiment, "dp-sinkhorn") || c.Perturbed == dpsinkhorn.ByParameters || math.IsInf(float64(c.Epsilon), 1) {
				continue
			}
			n := map[string]int{"celeba": 162_770}[c.Dataset]
			if n == 0 {
				n = 60_000
			}
			if c.Space == dpsinkhorn.Latents {
				n /= 2
			}
			theirs := strings.Contains(l.label, "001's noise") || strings.HasPrefix(l.label, "dp-sinkhorn-text") || strings.HasPrefix(l.label, "dp-sinkhorn-code")
			if theirs != (c.Noise > 0) {
				t.Errorf("%s: %s has noise %v", s.Name, l.label, c.Noise)
			}
			if theirs {
				continue
			}
			c.Steps = min(c.Steps, 5000) // the plan is no other for more, and takes a second
			same := promise{n, c.Batch, float64(c.Epsilon), c.Delta}
			if planned[same] {
				continue
			}
			planned[same] = true
			plan, _, err := c.Plan(n, 10)
			if err != nil {
				t.Fatal(err)
			}
			spent, err := accountant.Tightest{}.Epsilon(plan.Event(), privacy.AddRemove, c.Delta)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Steps != c.Steps || !(spent.Epsilon <= same.epsilon && spent.Epsilon >= 0.98*same.epsilon) {
				t.Errorf("%s: %s makes %d of %d steps and proves %v of ε = %v", s.Name, l.label, plan.Steps, c.Steps, spent.Epsilon, same.epsilon)
			}
		}
	}
}

func config(t *testing.T, name string, preset experiment.Preset) *dpsinkhorn.Config {
	t.Helper()
	e, err := experiment.Registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return e.Config(preset).(*dpsinkhorn.Config)
}

// A row with other settings is of no line.
func TestOtherRunsAreLeftOut(t *testing.T) {
	c := config(t, "dp-sinkhorn", experiment.Quick)
	c.Steps++
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	report, err := table1.Report([]sweep.Row{{Experiment: "dp-sinkhorn", Config: text}}, nil)
	if err != nil || len(report.Tables) != 0 {
		t.Errorf("%v, %v", report, err)
	}
}

// ε is rounded up, never cut short, and a sweep of what is not private has no curve.
func TestATableOfOneRun(t *testing.T) {
	for _, c := range []struct {
		experiment, shown string
		epsilon           float64
		figures           int
	}{{"dp-sinkhorn", "0.429", 0.42893, 1}, {"dp-sinkhorn", "1.235e+04", 12345, 1}, {"sinkhorn", "∞", math.Inf(1), 0}} {
		line := table1.lines(experiment.Quick)[slices.IndexFunc(table1.lines(experiment.Quick), func(l line) bool { return l.experiment == c.experiment })]
		config := config(t, c.experiment, experiment.Quick)
		if err := experiment.Apply(config, line.settings); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		report, err := table1.Report([]sweep.Row{{Experiment: c.experiment, Config: text, Metrics: run.Values{"logistic accuracy": 0.5},
			Claims: []privacy.Claim{{Epsilon: privacy.Epsilon(c.epsilon), Sound: true}, {Label: privacy.AsPublished, Epsilon: 10}, {Label: privacy.PapersWay, Epsilon: 3.48}}}}, nil)
		if err != nil || len(report.Tables) != 1 || report.Tables[0].Rows[0][1] != c.shown || report.Tables[0].Rows[0][2] != "3.48" || len(report.Figures) != c.figures {
			t.Errorf("%s at %v: %+v, %v; want %s and %d figures", c.experiment, c.epsilon, report, err, c.shown, c.figures)
		}
	}
}

// What was measured of a run afterwards has columns, with what the papers print behind
// them: but not what is for the keeper of the records, nor the bias, which is a figure.
func TestWhatWasMeasuredAfterwards(t *testing.T) {
	line := table1.lines(experiment.Quick)[slices.IndexFunc(table1.lines(experiment.Quick), func(l line) bool { return l.experiment == "dp-sinkhorn" })]
	config := config(t, line.experiment, experiment.Quick)
	if err := experiment.Apply(config, line.settings); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	drawn, bias, variance := run.Values{}, []float64{}, []float64{}
	for i, p := range dpsinkhorn.Mixtures {
		bias, variance = append(bias, 10-float64(i)), append(variance, float64(i)/10)
		drawn[dpsinkhorn.BiasAt(p)], drawn[dpsinkhorn.VarianceAt(p)] = bias[i], variance[i]
	}
	report, err := table1.Report([]sweep.Row{{Experiment: line.experiment, Config: text, Metrics: run.Values{"logistic accuracy": 0.5},
		Claims: []privacy.Claim{{Epsilon: 3, Sound: true}},
		Measured: []experiment.Measured{{Rows: 9, Values: run.Values{"nearer a private row": 1}, NonPrivate: true},
			{Rows: 50, Values: drawn}, {Rows: 300, Values: run.Values{"mlp accuracy": 0.625}}, {Rows: 100, Values: run.Values{"mlp accuracy": 0.75}}}}}, nil)
	if err != nil || len(report.Tables) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	found := report.Tables[0]
	at := slices.Index(found.Header, "mlp accuracy (100)")
	if want := []string{"mlp accuracy (100)", "mlp accuracy (300)", "published FID", "published logistic, MLP, CNN %"}; at != 6 || !slices.Equal(found.Header[at:at+4], want) {
		t.Fatalf("columns %q; want %q behind the run's own", found.Header, want)
	}
	if row := found.Rows[0]; row[at] != "0.75" || row[at+1] != "0.625" || row[at+2] != "48.4" || row[at+3] != "82.8, 82.7, 83.2" {
		t.Errorf("the first row is %q", row)
	}
	curves := report.Figures["mnist-accuracy.png"].(viz.Curves)
	if last := curves.Lines[len(curves.Lines)-1]; last.Name != "001, published" || !slices.Equal(last.X, []float64{10}) || math.Abs(last.Y[0]-0.828) > 1e-9 {
		t.Errorf("behind the run's own line there is %+v; want what is published, 0.828 at the ε = 10 that is claimed", last)
	}
	f, ok := report.Figures["mnist-bias.png"].(viz.Curves)
	if !ok || len(f.Lines) != 1 || !slices.Equal(f.Lines[0].X, bias) || !slices.Equal(f.Lines[0].Y, variance) {
		t.Errorf("the figure of the bias is %+v", f)
	}
}
