package tables

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/swae"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Every run that a table asks for can be made, none twice, and its row finds its line
// again, with the mean of its seeds.
func TestTablesAskForRunsThatExist(t *testing.T) {
	for _, s := range tables {
		for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
			var rows []sweep.Row
			seen := map[string]bool{}
			for _, q := range s.Requests(preset, 2) {
				c := config(preset)
				if err := experiment.Apply(&c, q.Settings); err != nil {
					t.Fatal(err)
				}
				if err := c.Check(); err != nil {
					t.Errorf("%s: %v: %v", s.Name, q.Settings, err)
				}
				c.Inputs = "pinned"
				text, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				if q.Seed == 1 && seen[string(text)] {
					t.Errorf("%s: %v twice", s.Name, q.Settings)
				}
				seen[string(text)] = true
				rows = append(rows, sweep.Row{Run: string(text), Experiment: q.Experiment, Seed: q.Seed, Config: text, Seconds: 1,
					Metrics:  run.Values{"mlp accuracy": 0.5 + float64(q.Seed)/100, swae.Reconstruction: 0.1},
					Measured: []experiment.Measured{{Values: run.Values{"mlp accuracy" + swae.ByNeighbours: 0.7}, Rows: 9, NonPrivate: true}, {Values: run.Values{"exact copies": 1}, Rows: 9, NonPrivate: true}},
					Claims:   []privacy.Claim{{Epsilon: 2.5 + privacy.Epsilon(q.Seed)/2, Sound: true}, {Epsilon: 2}}}) // the larger of seeds is what is proved
			}
			report, err := s.Report(rows, func(sweep.Row) (viz.Images, bool) {
				return viz.Images{X: make([]float32, 28*28), Height: 28, Width: 28}, true
			})
			if err != nil {
				t.Fatal(err)
			}
			lines, pictures := 0, 0
			for _, table := range report.Tables {
				for _, cells := range table.Rows {
					if strings.HasSuffix(cells[0].(string), "(quoted)") {
						continue
					}
					lines++
					cells = cells[slices.Index(table.Header, "ε, proved"):]
					if seeds := cells[len(cells)-2]; cells[0] != "3.5" || cells[1] != "2" || seeds != 2 || cells[2] != "0.515 ± 0.0071" {
						t.Errorf("%s: %v", s.Name, cells)
					}
				}
				if !slices.Contains(table.Header, "mlp accuracy, labels by private neighbours (9), non-private") || strings.Contains(strings.Join(table.Header, " "), "copies") {
					t.Errorf("%s: columns %q", s.Name, table.Header)
				}
			}
			for name, figure := range report.Figures {
				if strings.HasSuffix(name, "-samples.png") {
					pictures++
				} else if err := figure.PNG(discard{}); err != nil {
					t.Errorf("%s: %s: %v", s.Name, name, err)
				}
			}
			if 2*lines != len(rows) || pictures != lines || len(report.Figures)-pictures != len(report.Tables) {
				t.Errorf("%s, %s: %d lines, %d pictures and %d figures of %d runs", s.Name, preset, lines, pictures, len(report.Figures)-pictures, len(rows))
			}
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// The published numbers of Table 1 for MNIST at ε = 10 stand where they should, those of
// other methods among them.
func TestPublishedNumbers(t *testing.T) {
	c := config(experiment.Quick)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	report, err := table1.Report([]sweep.Row{{Experiment: "dp-swae", Config: text, Metrics: run.Values{"mlp accuracy": 0.6}}}, nil)
	if err != nil || len(report.Tables) != 1 {
		t.Fatalf("%v, %v", report, err)
	}
	table := report.Tables[0]
	fid := slices.Index(table.Header, "published FID")
	if got := table.Rows[0]; got[fid] != "123.6" || got[fid+1] != "75.5 (84.8)" {
		t.Errorf("ours: %v", got)
	}
	k := slices.IndexFunc(table.Rows, func(row []any) bool { return row[0] == "DPDM (quoted)" })
	if len(table.Rows) != 9 || k < 0 || table.Rows[k][fid] != "5.0" || table.Rows[k][fid+1] != "94.8" || table.Rows[k][2] != "10" {
		t.Errorf("others: %v", table.Rows)
	}
	curves := report.Figures["mnist-mlp-accuracy.png"].(viz.Curves)
	for name, want := range map[string]float64{printed: 0.755, printed + swae.ThroughAutoencoder: 0.848} {
		k := slices.IndexFunc(curves.Lines, func(l viz.Line) bool { return l.Name == name })
		if k < 0 || len(curves.Lines[k].Y) != 1 || curves.Lines[k].X[0] != 10 || math.Abs(curves.Lines[k].Y[0]-want) > 1e-9 {
			t.Errorf("%s: %v; want %v at ε = 10", name, curves.Lines, want)
		}
	}
	lines, err := better.found([]sweep.Row{{Experiment: "dp-swae", Config: text, Metrics: run.Values{"mlp accuracy": 0.6}}})
	if err != nil {
		t.Fatal(err)
	}
	dots := better.figure("mnist", lines).(viz.Dots)
	if last := len(dots.Rows) - 1; last != 1 || dots.Rows[last] != printed || math.Abs(dots.Values[last][0]-0.755) > 1e-9 {
		t.Errorf("%q: %v; want ours above %s", dots.Rows, dots.Values, printed)
	}
}

// A row with other settings is of no line.
func TestOtherRunsAreLeftOut(t *testing.T) {
	c := config(experiment.Quick)
	c.Steps++
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	report, err := table1.Report([]sweep.Row{{Experiment: "dp-swae", Config: text}}, nil)
	if err != nil || len(report.Tables) != 0 {
		t.Errorf("%v, %v", report, err)
	}
}

// A report shows what a run that is at hand has left of its codes, and of which line.
func TestCodesOfARunAreShown(t *testing.T) {
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "dp-swae", Preset: experiment.Quick, Seed: 1, Research: true, Settings: map[string]string{"dataset": "glyphs", "latent": "2"}})
	if err := cmp.Or(r.WriteTable(swae.CodesName+".npy", []float32{0, 0, 1, 0.5, 0.5, 0}, 3),
		r.WriteTable(swae.InterpolationsName+".npy", make([]float32, 10*28*28), 28*28), r.Finish(run.Result{})); err != nil {
		t.Fatal(err)
	}
	row, err := sweep.Finished(r)
	if err != nil {
		t.Fatal(err)
	}
	c := config(experiment.Quick)
	if err := json.Unmarshal(row.Config, &c); err != nil {
		t.Fatal(err)
	}
	found := map[string]viz.Figure{}
	if err := table1.looks(found, measured{line: line{label: "ours"}, config: c, Part: sweep.Part{Rows: []sweep.Row{row}}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"glyphs-ours-at-e-10-codes.png": "codes", "glyphs-ours-at-e-10-interpolations.png": "interpolations"} {
		f, ok := found[name]
		if !ok || !strings.HasPrefix(f.Heading(), "glyphs, ours at ε = 10: "+want) {
			t.Errorf("figures %v; want %s", found, name)
			continue
		}
		if err := f.PNG(discard{}); err != nil {
			t.Error(err)
		}
	}
	if len(found) != 2 {
		t.Errorf("%d figures", len(found))
	}
}

func TestInfIsInfinite(t *testing.T) {
	if !math.IsInf(parse("inf"), 1) {
		t.Error("inf is not infinite")
	}
}
