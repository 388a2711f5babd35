package dpsinkhorn

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/models"
	"molehill/models/backend"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
)

// inSeconds are settings that finish in seconds, on rows that need no files.
var inSeconds = map[string]string{"dataset": "glyphs", "width": "1", "latent": "2", "embedding": "1", "batch": "20", "generated": "10", "samples": "100", "steps": "12"}

func compute(t *testing.T, name string, settings map[string]string, interrupt int) *run.Run {
	t.Helper()
	all := maps.Clone(inSeconds)
	maps.Copy(all, settings)
	t.Setenv("MOLEHILL_LEDGER", t.TempDir()+"/ledger.db")
	t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
	return experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: name, Seed: 1, Research: true, Settings: all}), interrupt)
}

// A training that was interrupted goes on to the same network, bit by bit, and its
// images are there to look at; what was measured can be measured again of more rows.
func TestAnInterruptedTrainingEndsAsAnother(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	dataset.Register("few-digits", "digits that are drawn in no time", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 2000
		return dataset.Load(ctx, "glyphs", o)
	})
	models.Registry.Register(quarters{})
	trainings := []string{"dp-sinkhorn"}
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		trainings = append(trainings, "dp-sinkhorn-code", "dp-sinkhorn-text", "dp-sinkhorn-exact", "sinkhorn", "dp-merf-images", "dp-sinkhorn-latent", "sinkhorn-sketch")
	}
	for _, name := range trainings {
		few := map[string]string{"dataset": "few-digits", "features": "20"}
		pixels := 28 * 28
		switch name {
		case "sinkhorn":
			few["multiplicity"] = "3"
		case "dp-sinkhorn-latent", "sinkhorn-sketch":
			few["weights"], pixels = "quarters", 32*32
		}
		whole, parts := compute(t, name, few, 0), compute(t, name, few, 4)
		if !bytes.Equal(experimenttest.Read(t, whole, artefact), experimenttest.Read(t, parts, artefact)) {
			t.Errorf("%s: interrupted, the training ended elsewhere", name)
		}
		if images, columns, err := whole.Table("samples.npy"); err != nil || columns != pixels || len(images) != 10*PerClass*columns {
			t.Errorf("%s: samples of %d columns, %v", name, columns, err)
		}
		result, err := whole.Result()
		if err != nil {
			t.Fatal(err)
		}
		if a := result.Metrics["logistic accuracy"]; !(a > 0 && a < 1) || result.Metrics["steps"] != 12 {
			t.Errorf("%s: %v", name, result.Metrics)
		}
		found, err := experiment.Measure(t.Context(), whole, "logistic", 100, func(run.Event) {})
		if err != nil || found.Values["logistic accuracy"] != result.Metrics["logistic accuracy"] {
			t.Errorf("%s: measured again: %v, %v; first %v", name, found, err, result.Metrics)
		}
		if lives, err := whole.Provenance(); err != nil || found.Computed.Backend == "" || found.Computed.Backend != lives[0].Backend {
			t.Errorf("%s: measured on %q, computed on %q, %v", name, found.Computed.Backend, lives[0].Backend, err)
		}
		// So few channels of the text's network are dead: what is left is a bias, whose
		// gradient no p changes.
		found, err = experiment.Measure(t.Context(), whole, "bias", 50, func(run.Event) {})
		if err != nil || found.Values[BiasAt(1)] != 0 || found.Values[VarianceAt(1)] != 1 || name == "dp-sinkhorn-code" && !(found.Values[BiasAt(0)] > 0) {
			t.Errorf("%s: bias: %v, %v", name, found, err)
		}
	}
}

// So does one whose steps are joined, as they are on a GPU.
func TestAnInterruptedJoinedTrainingEndsAsAnother(t *testing.T) {
	before := joins
	t.Cleanup(func() { joins = before })
	joins = func(*backend.Backend) bool { return true }
	for _, name := range []string{"dp-sinkhorn", "dp-sinkhorn-exact"} {
		settings := map[string]string{"entropy": "5", "tolerance": "0.01"}
		whole, parts := compute(t, name, settings, 0), compute(t, name, settings, 4)
		if !bytes.Equal(experimenttest.Read(t, whole, artefact), experimenttest.Read(t, parts, artefact)) {
			t.Errorf("%s: interrupted, the training ended elsewhere", name)
		}
	}
}

// A training whose noise is secret goes on after an interruption: its releases come out
// as they were, and are let through.
func TestASecretTrainingGoesOn(t *testing.T) {
	t.Setenv(run.IntervalVariable, "30ms") // of three steps or so, which are made again
	dataset.Register("secret-digits", "digits that are drawn in no time", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 2000
		return dataset.Load(ctx, "glyphs", o)
	})
	settings := maps.Clone(inSeconds)
	settings["dataset"] = "secret-digits"
	t.Setenv("MOLEHILL_LEDGER", t.TempDir()+"/ledger.db")
	t.Setenv("GOMLX_BACKEND", "go")
	r := experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: "dp-sinkhorn", Seed: 1, Settings: settings}), 8)
	if result, err := r.Result(); err != nil || result.Metrics["steps"] != 12 {
		t.Errorf("%v, %v; want all steps", result.Metrics, err)
	}
}

// What is learned of public rows first is not noise's: a training that is interrupted
// in either stage, or between them, ends as another, and one that begins elsewhere
// ends elsewhere.
func TestAStartOnPublicRows(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	dataset.Register("some-digits", "digits that are drawn in no time", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 2000
		return dataset.Load(ctx, "glyphs", o)
	})
	settings := map[string]string{"dataset": "some-digits", "architecture": "dcgan-code", "start": "glyphs", "start_steps": "3", "steps": "3"}
	whole := compute(t, "dp-sinkhorn", settings, 0)
	for _, interrupt := range []int{2, 3, 5} {
		if parts := compute(t, "dp-sinkhorn", settings, interrupt); !bytes.Equal(experimenttest.Read(t, whole, artefact), experimenttest.Read(t, parts, artefact)) {
			t.Errorf("interrupted after step %d, the training ended elsewhere", interrupt)
		}
	}
	settings["start"], settings["start_steps"] = "", "0"
	if other := compute(t, "dp-sinkhorn", settings, 0); bytes.Equal(experimenttest.Read(t, whole, artefact), experimenttest.Read(t, other, artefact)) {
		t.Error("the start has left no trace")
	}
	if result, err := whole.Result(); err != nil || result.Metrics["steps"] != 3 {
		t.Errorf("%v, %v; want 3 private steps", result.Metrics, err)
	}
}

// A budget that does not pay for a step costs nothing; a training that fails after its
// first step has spent what it reserved.
func TestTheLedgerIsRight(t *testing.T) {
	for name, change := range map[string]func(d *dataset.Dataset) *dataset.Dataset{
		"private-digits": func(d *dataset.Dataset) *dataset.Dataset { return d },
		"large-digits":   func(d *dataset.Dataset) *dataset.Dataset { return d.Pad(32, 32) },
		"wide-digits":    func(d *dataset.Dataset) *dataset.Dataset { return d.Pad(28, 32) },
		"three-digits": func(d *dataset.Dataset) *dataset.Dataset {
			three := *d
			three.Classes, three.Labels = d.Classes[:3], make([]int, d.Len())
			return &three
		},
	} {
		dataset.Register(name, "digits of a test, as if they were somebody's", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
			o.N = 200
			splits, err := dataset.Load(ctx, "glyphs", o)
			if err != nil {
				return nil, err
			}
			return &dataset.Splits{Train: change(splits.Train), Test: change(splits.Test)}, nil
		})
	}
	dataset.Registry.Register(mislabelled{})
	for _, c := range []struct {
		settings map[string]string
		entries  int
		says     string
	}{
		{map[string]string{"dataset": "mislabelled-digits"}, 0, "expected labels from 0 to 9, found 10 in row 3; mend"},
		{map[string]string{"noise": "0.2", "epsilon": "0.1"}, 0, "one step alone"},
		{map[string]string{"iterations": "20"}, 0, "take at least"},
		{map[string]string{"batch": "201"}, 0, "at most all"},
		{map[string]string{"dataset": "three-digits", "start": "glyphs", "start_steps": "2"}, 0, "with 10 classes; a generator of 3"},
		{map[string]string{"dataset": "large-digits", "start": "glyphs", "start_steps": "2"}, 0, "of images 28×28×1; a generator of 32×32×1"},
		{map[string]string{"start": "glyphs", "start_steps": "8", "learning_rate": "1e6", "optimizer": "sgd", "weight_decay": "1", "schedule": "constant"}, 0, train.ErrDiverged.Error()},
		{map[string]string{"dataset": "wide-digits"}, 0, "crop or pad"},
		{map[string]string{"architecture": "biggan"}, 0, "biggan makes multiples of 16"},
		{map[string]string{"learning_rate": "1e6", "optimizer": "sgd", "weight_decay": "1", "schedule": "constant", "steps": "9"}, 1, train.ErrDiverged.Error()},
	} {
		all := maps.Clone(inSeconds)
		all["dataset"] = "private-digits"
		maps.Copy(all, c.settings)
		where := t.TempDir() + "/ledger.db"
		t.Setenv("MOLEHILL_LEDGER", where)
		t.Setenv("GOMLX_BACKEND", "go")
		r := experimenttest.Acquired(t, experiment.Request{Experiment: "dp-sinkhorn", Seed: 1, Settings: all})
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v; want it to say %q", c.settings, err, c.says)
		}
		l, err := ledger.Open(where)
		if err != nil {
			t.Fatal(err)
		}
		history, err := l.History(t.Context(), all["dataset"])
		if err != nil || len(history.Entries) != c.entries {
			t.Errorf("%v: %d entries, %v; want %d", c.settings, len(history.Entries), err, c.entries)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// mislabelled are digits of which one is of no class. Their version fixes them, so that nobody
// looks at them before a run computes.
type mislabelled struct{}

func (mislabelled) Describe() plugin.Info {
	return plugin.Info{Name: "mislabelled-digits", Summary: "for a test", Version: "1"}
}
func (mislabelled) Public() bool { return false }
func (mislabelled) Pinned()      {}
func (mislabelled) Load(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
	o.N = 200
	splits, err := dataset.Load(ctx, "glyphs", o)
	if err == nil {
		splits.Train.Labels[3] = 10
	}
	return splits, err
}

// A run that had made all its steps when somebody said that it was over, and declared a
// budget which does not have room for it, leaves nothing of them when it goes on.
func TestNothingIsLeftBeforeItIsPaid(t *testing.T) {
	dataset.Register("late-digits", "digits of a test, as if they were somebody's", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 200
		return dataset.Load(ctx, "glyphs", o)
	})
	settings := maps.Clone(inSeconds)
	settings["dataset"], settings["epsilon"] = "late-digits", "10"
	where := t.TempDir() + "/ledger.db"
	t.Setenv("MOLEHILL_LEDGER", where)
	t.Setenv("GOMLX_BACKEND", "go")
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "dp-sinkhorn", Seed: 1, Settings: settings})
	made := filepath.Join(r.Dir, "artefacts", "generator.npz")
	if err := os.MkdirAll(filepath.Join(made, "in the way"), 0o755); err != nil { // as if it were killed there
		t.Fatal(err)
	}
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "generator.npz") {
		t.Fatalf("it ended with %v, want it to fail where it leaves its network", err)
	}
	if err := os.RemoveAll(made); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	history, err := l.History(t.Context(), "late-digits")
	if err != nil || len(history.Entries) != 1 {
		t.Fatal(history, err)
	}
	if _, err := l.End(t.Context(), "late-digits", history.Entries[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Create(t.Context(), ledger.Budget{Dataset: "late-digits", Relation: history.Entries[0].Relation, Epsilon: 1, Delta: 1e-5, FromNow: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "would exceed") {
		t.Errorf("it went on without room in the budget: %v", err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("it has left its network, and has not paid")
	}
}

// A run that could not pay goes on with the records and labels that it was asked for, or not.
func TestOtherRecordsHaveNoNoise(t *testing.T) {
	q := experiment.Request{Experiment: "dp-sinkhorn", Seed: 1, Settings: inSeconds}
	experimenttest.OtherRecords(t, q, func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 200
		return dataset.Load(ctx, "glyphs", o)
	})
}

// A step that draws nobody is one like others: of 40 steps that draw one record of 200 on
// average a third or so do, none with a probability of 1e-8.
func TestStepsMayDrawNobody(t *testing.T) {
	dataset.Register("rare-digits", "digits of a test, as if they were somebody's", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 200
		return dataset.Load(ctx, "glyphs", o)
	})
	settings := maps.Clone(inSeconds)
	maps.Copy(settings, map[string]string{"dataset": "rare-digits", "batch": "1", "steps": "40"})
	where := t.TempDir() + "/ledger.db"
	t.Setenv("MOLEHILL_LEDGER", where)
	t.Setenv("GOMLX_BACKEND", "go")
	r := experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: "dp-sinkhorn", Seed: 1, Settings: settings}), 0)
	if result, err := r.Result(); err != nil || result.Metrics["steps"] != 40 {
		t.Errorf("%v, %v", result, err)
	}
	l, err := ledger.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if history, err := l.History(t.Context(), "rare-digits"); err != nil || len(history.Entries) != 2 { // reserved, and kept
		t.Errorf("%d entries, %v; want one for all steps, and that it is kept", len(history.Entries), err)
	}
}

// By parameters and by a mean embedding, trainings end, too.
func TestOtherWaysToLearn(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("trains twice; set MOLEHILL_THOROUGH")
	}
	compute(t, "dp-sinkhorn", map[string]string{"perturbed": "parameters", "average": "0.9"}, 0)
	compute(t, "dp-merf-images", map[string]string{"features": "20"}, 0)
}

// Faces are halved, in colour, and the residual network makes some (001 Table 3).
func TestFacesTrain(t *testing.T) {
	dataset.Register("coloured-squares", "64×64 images of two colours, as if they were faces", func(_ context.Context, o dataset.Options) (*dataset.Splits, error) {
		some := func(n int) *dataset.Dataset {
			d := &dataset.Dataset{Name: "coloured-squares", Height: 64, Width: 64, Channels: 3, Classes: []string{"red", "blue"}, X: make([]float32, n*64*64*3)}
			for i := range n {
				d.Labels = append(d.Labels, i%2)
				for k := range 64 * 64 {
					d.Row(i)[3*k+2*(i%2)] = float32(i+1) / float32(n+1)
				}
			}
			return d
		}
		train, test := some(60), some(41)
		return &dataset.Splits{Train: train, Test: test}, nil
	})
	r := compute(t, "dp-sinkhorn", map[string]string{"dataset": "coloured-squares", "architecture": "biggan", "latent": "4", "absolute": "0", "entropy": "5", "steps": "2"}, 0)
	if images, columns, err := r.Table("samples.npy"); err != nil || columns != 32*32*3 || len(images) != 2*PerClass*columns {
		t.Errorf("%d numbers in %d columns, %v; want %d images 32×32×3", len(images), columns, err, 2*PerClass)
	}
}

// A half is the mean of 2×2 pixels in each channel; what is Darkened is 0 below the
// middle, and as it was above.
func TestHalvesAndDarkens(t *testing.T) {
	d := &dataset.Dataset{Height: 2, Width: 4, Channels: 2, X: []float32{
		0, 1, 1, 1, 0, 0, 0, 0,
		0, 1, 1, 1, 0, 0, 0, 1,
	}}
	want := []float32{0.5, 1, 0, 0.25}
	half := halve(d)
	for i, v := range half.X {
		if v != want[i] {
			t.Errorf("half: %v, want %v", half.X, want)
			break
		}
	}
	if half.Height != 1 || half.Width != 2 {
		t.Errorf("half of 2×4: %d×%d", half.Height, half.Width)
	}
	dark := darken(&dataset.Dataset{Height: 1, Width: 3, Channels: 1, X: []float32{0.49, 0.5, 1}})
	if dark.X[0] != 0 || dark.X[1] != 0.5 || dark.X[2] != 1 {
		t.Errorf("Darkened: %v", dark.X)
	}
}

// What is shown has as many images of a class as there are, and PerClass at most.
func TestFewImagesAreShown(t *testing.T) {
	for rows, want := range map[int]int{3: 1, 8: 2, 100: PerClass} {
		d := &dataset.Dataset{Height: 1, Width: 1, Channels: 1, X: make([]float32, rows), Classes: []string{"a", "b", "c"}}
		for i := range d.X {
			d.X[i] = float32(i % 3)
		}
		grid := rowsOf(d)
		if grid.Cols != want || len(grid.X) != 3*want || grid.X[want] != 1 || grid.X[3*want-1] != 2 {
			t.Errorf("of %d rows %d a class are shown: %v", rows, grid.Cols, grid.X)
		}
	}
}
