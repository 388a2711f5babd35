package swae

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"molehill/models/backend"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
)

// goBackend is the one that has graphs ready at once.
func goBackend(t *testing.T) *backend.Backend {
	t.Helper()
	found := backend.Found()
	b, err := found[len(found)-1].Open()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func untrained(t *testing.T, c *Config, d *data) *training {
	t.Helper()
	tr, err := newTraining(c, d, noise.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.close() })
	return tr
}

// few are a thousand glyphs to learn from and a hundred to test with, drawn once.
var few = sync.OnceValues(func() (*dataset.Splits, error) {
	splits, err := dataset.Load(context.Background(), "glyphs", dataset.Options{N: 1100})
	if err != nil {
		return nil, err
	}
	at := make([]int, splits.Train.Len())
	for i := range at {
		at[i] = i
	}
	return &dataset.Splits{Train: splits.Train.Subset(at[:1000]), Test: splits.Train.Subset(at[1000:])}, nil
})

// source has them, as if they were somebody's or anybody's.
type source struct {
	name   string
	public bool
}

func (s source) Describe() plugin.Info { return plugin.Info{Name: s.name, Summary: "for tests"} }
func (s source) Public() bool          { return s.public }
func (source) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	return few()
}

func init() {
	dataset.Registry.Register(source{"few-glyphs", false})
	dataset.Registry.Register(fixed{source{"nobodys-glyphs", true}})
	for name, spoil := range map[string]func(*dataset.Dataset){
		"bright-glyphs":   func(d *dataset.Dataset) { d.X[3*pixels+7] = 255 },
		"nameless-glyphs": func(d *dataset.Dataset) { d.Labels, d.Classes = nil, nil },
		"zeros":           func(d *dataset.Dataset) { clear(d.Labels) },
	} {
		dataset.Registry.Register(spoilt{source{name, false}, spoil})
	}
}

// fixed are a few glyphs that stay what they are.
type fixed struct{ source }

func (fixed) Pinned() {}

// spoilt are a few glyphs with something wrong.
type spoilt struct {
	source
	spoil func(*dataset.Dataset)
}

func (s spoilt) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	splits, err := few()
	if err != nil {
		return nil, err
	}
	ten := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	all := &dataset.Splits{Train: splits.Train.Subset(ten), Test: splits.Test.Subset(ten)}
	s.spoil(all.Train)
	s.spoil(all.Test)
	return all, nil
}

// inSeconds are settings that finish in seconds.
var inSeconds = map[string]string{"dataset": "few-glyphs", "latent": "2", "batch": "6", "steps": "6", "labels": "2", "projections": "6", "samples": "100"}

func request(settings map[string]string) experiment.Request {
	all := maps.Clone(inSeconds)
	maps.Copy(all, settings)
	return experiment.Request{Experiment: "dp-swae", Seed: 1, Research: true, Settings: all}
}

func compute(t *testing.T, settings map[string]string, interrupt int) *run.Run {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
	return computeHere(t, settings, interrupt)
}

func computeHere(t *testing.T, settings map[string]string, interrupt int) *run.Run {
	t.Helper()
	t.Setenv("MOLEHILL_LEDGER", t.TempDir()+"/ledger.db")
	return experimenttest.Computed(t, experimenttest.Acquired(t, request(settings)), interrupt)
}

// A training that was interrupted, here at a public step, goes on to the same
// networks, bit by bit; what it leaves is there to look at and to measure further.
func TestAnInterruptedTrainingEndsAsAnother(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	settings := map[string]string{"start": "nobodys-glyphs", "start_steps": "4", "schedule": "cosine", "exact": "true"}
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		settings["steps"] = "3"
	}
	whole, parts := compute(t, settings, 0), compute(t, settings, 2)
	if lives, err := parts.Provenance(); err != nil || len(lives) != 2 || lives[0].Rested == 0 {
		t.Errorf("computations %+v, %v; want two, of which the first saved its last step", lives, err)
	}
	for _, name := range []string{autoencoderFile, labelsFile} {
		if !bytes.Equal(experimenttest.Read(t, whole, name), experimenttest.Read(t, parts, name)) {
			t.Errorf("interrupted, the training ended with another %s", name)
		}
	}
	for name, want := range map[string][2]int{"samples.npy": {20 + generated*Columns, pixels}, "interpolations.npy": {45 * between, pixels}, "codes.npy": {100, 3}} {
		values, width, err := whole.Table(name)
		if err != nil || width != want[1] || len(values) != want[0]*width {
			t.Errorf("%s: %d values of %d columns, %v; want %v", name, len(values), width, err, want)
		}
		for i, v := range values {
			if width == pixels && !(v >= 0 && v <= 1) {
				t.Errorf("%s: pixel %d is %v", name, i, v)
				break
			}
		}
	}
	if !strings.Contains(events(t, whole), word) {
		t.Error("a research run tells nothing of its records")
	}
	checkAudit(t, whole)
	checkLooks(t, whole)
	result, err := whole.Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Reconstruction, ToPrior, LabelAccuracy, "mlp accuracy", "mlp accuracy" + ThroughAutoencoder} {
		if v, ok := result.Metrics[name]; !ok || !(v >= 0) {
			t.Errorf("%s is %v", name, v)
		}
	}
	again, err := experiment.Measure(t.Context(), whole, "mlp", 100, func(run.Event) {})
	if err != nil || again.Values["mlp accuracy"] != result.Metrics["mlp accuracy"] || again.NonPrivate {
		t.Errorf("measured again: %+v, %v; first %v", again, err, result.Metrics)
	}
	for _, name := range []string{"knn", "copies"} {
		found, err := experiment.Measure(t.Context(), whole, name, 100, func(run.Event) {})
		if err != nil || !found.NonPrivate || len(found.Values) == 0 || found.Values["mlp accuracy"] != 0 {
			t.Errorf("%s: %+v, %v; want values that say that they are not private", name, found, err)
		}
	}
}

// With supervision one network learns images and their classes, through an interruption
// and from a public start too, and there is no other to label with.
func TestSupervisionNeedsNoLabeller(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	settings := map[string]string{"start": "nobodys-glyphs", "start_steps": "4", "steps": "3", "supervision": "30", "labels": "0"}
	done, whole := compute(t, settings, 5), compute(t, settings, 0)
	if !bytes.Equal(experimenttest.Read(t, whole, autoencoderFile), experimenttest.Read(t, done, autoencoderFile)) {
		t.Error("interrupted, the training ended with another network")
	}
	checkAudit(t, done)
	result, err := done.Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Reconstruction, LabelAccuracy, "mlp accuracy", "mlp accuracy" + ThroughAutoencoder} {
		if v, ok := result.Metrics[name]; !ok || !(v >= 0) {
			t.Errorf("%s is %v", name, v)
		}
	}
	names, err := done.Artefacts()
	if err != nil || slices.Contains(names, labelsFile) || !slices.Contains(names, autoencoderFile) {
		t.Errorf("artefacts %v, %v", names, err)
	}
	again, err := experiment.Measure(t.Context(), done, "mlp", 100, func(run.Event) {})
	if err != nil || again.Values["mlp accuracy"] != result.Metrics["mlp accuracy"] {
		t.Errorf("measured again: %+v, %v; first %v", again, err, result.Metrics)
	}
	if again, err = experiment.Measure(t.Context(), done, "knn", 100, func(run.Event) {}); err != nil || !again.NonPrivate {
		t.Errorf("knn: %+v, %v", again, err)
	}
	tr, err := open(t.Context(), done, settingsOf(t, done), func(run.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	d := tr.data
	codes, err := tr.learner.Inner(first(d.held, 2))
	if err != nil {
		t.Fatal(err)
	}
	values, err := tr.learner.Outer(codes)
	if err != nil || len(values) != 2*(pixels+10) {
		t.Fatalf("%d values, %v; want images and ten scores", len(values), err)
	}
	odds, scores, err := tr.decode(codes)
	if err != nil || !slices.Equal(odds, slices.Concat(values[:pixels], values[pixels+10:2*pixels+10])) || !slices.Equal(scores[10:], values[2*pixels+10:]) {
		t.Errorf("decoded into %d log odds and %d scores, %v", len(odds), len(scores), err)
	}
	target := targets(d.held, []int{0, 1}, pixels, 10)
	losses, err := tr.learner.Losses(first(d.held, 2), target)
	if err != nil {
		t.Fatal(err)
	}
	for i, loss := range losses {
		var sum float64
		for _, s := range scores[10*i : 10*i+10] {
			sum += math.Exp(float64(s))
		}
		surprise := math.Log(sum) - float64(scores[10*i+d.held.Labels[i]])
		want := pixels*perPixel(odds[i*pixels:(i+1)*pixels], d.held.Row(i)) + 30*surprise
		if !(math.Abs(float64(loss)/want-1) <= 1e-5) {
			t.Errorf("the loss of image %d is %v, want %v", i, loss, want)
		}
	}
}

// settingsOf are the settings of a run.
func settingsOf(t *testing.T, r *run.Run) *Config {
	t.Helper()
	c := config(experiment.Quick)
	if err := json.Unmarshal(r.Spec.Config, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// Without noise the autoencoder learns: what it reconstructs is nearer, and its codes
// come to lie like the prior. With a budget of next to nothing it does not.
func TestItLearns(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("trains three times; set MOLEHILL_THOROUGH")
	}
	settings := map[string]string{"epsilon": "inf", "latent": "6", "batch": "30", "steps": "40", "learning_rate": "0.005", "projections": "12", "jacobian": "30"}
	quality := func(settings map[string]string) (loss, distance float64) {
		result, err := computeHere(t, settings, 0).Result()
		if err != nil {
			t.Fatal(err)
		}
		return result.Metrics[Reconstruction], result.Metrics[ToPrior]
	}
	loss, distance := quality(settings)
	if !(loss < 0.45) || !(distance < 0.3) { // log 2 = 0.69 and √(1/8) = 0.354, untrained
		t.Errorf("reconstruction loss %v, sliced W₂ %v", loss, distance)
	}
	told := maps.Clone(settings)
	told["supervision"], told["labels"] = "100", "0"
	result, err := computeHere(t, told, 0).Result()
	if err != nil || !(result.Metrics[LabelAccuracy] > 0.5) { // of ten classes
		t.Errorf("with supervision labels are right on %v of codes, %v", result.Metrics[LabelAccuracy], err)
	}
	settings["epsilon"] = "0.01"
	if noisy, _ := quality(settings); !(noisy > loss+0.05) {
		t.Errorf("reconstruction loss %v at ε = 0.01, and %v without noise", noisy, loss)
	}
}

// word marks what research runs tell of their records.
const word = "non-private"

// A run that protects somebody tells nothing of records but its releases.
func TestDiagnosticsAreOfResearchOnly(t *testing.T) {
	t.Setenv("MOLEHILL_LEDGER", t.TempDir()+"/ledger.db")
	t.Setenv("GOMLX_BACKEND", "go")
	q := request(map[string]string{"steps": "1", "labels": "1"})
	q.Research = false
	r := experimenttest.Acquired(t, q)
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if text := events(t, r); strings.Contains(text, word) || !strings.Contains(text, Reconstruction) {
		t.Error("events tell of records, or nothing of held-out ones")
	}
}

func events(t *testing.T, r *run.Run) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A budget, or data, that a training cannot be of costs nothing; one that fails after its
// first step has spent what it reserved.
func TestTheLedgerIsRight(t *testing.T) {
	for _, c := range []struct {
		settings map[string]string
		entries  int
		says     string
	}{
		{map[string]string{"batch": "1001"}, 0, "at most all"},
		{map[string]string{"dataset": "five-gaussians"}, 0, "rows are 2 numbers each, not images"},
		{map[string]string{"dataset": "bright-glyphs"}, 0, "image 3 has a pixel of 255; expected values in [0, 1], divide by"},
		{map[string]string{"dataset": "nameless-glyphs"}, 0, "have no labels, which generated ones should get; take a data set that has some"},
		{map[string]string{"dataset": "zeros"}, 0, "are all of class 0"},
		{map[string]string{"learning_rate": "1e6"}, 1, train.ErrDiverged.Error()},
	} {
		where := t.TempDir() + "/ledger.db"
		t.Setenv("MOLEHILL_LEDGER", where)
		t.Setenv("GOMLX_BACKEND", "go")
		_, err := request(c.settings).Spec() // some are refused before there is a run
		if err == nil {
			err = experiment.Compute(t.Context(), experimenttest.Acquired(t, request(c.settings)))
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v; want it to say %q", c.settings, err, c.says)
		}
		l, err := ledger.Open(where)
		if err != nil {
			t.Fatal(err)
		}
		name := "few-glyphs"
		if other, ok := c.settings["dataset"]; ok {
			name = other
		}
		history, err := l.History(t.Context(), name)
		if err != nil || len(history.Entries) != c.entries {
			t.Errorf("%v: %d entries, %v; want %d", c.settings, len(history.Entries), err, c.entries)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A run that could not pay goes on with the records and labels that it was asked for, or not.
func TestOtherRecordsHaveNoNoise(t *testing.T) {
	experimenttest.OtherRecords(t, request(nil), func(context.Context, dataset.Options) (*dataset.Splits, error) {
		splits, err := few()
		if err != nil {
			return nil, err
		}
		hundred := make([]int, 100)
		for i := range hundred {
			hundred[i] = i
		}
		return &dataset.Splits{Train: splits.Train.Subset(hundred), Test: splits.Test}, nil
	})
}
