package privateflow_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/models"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/metric"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
)

// What another module may bring, as one would write it: an estimator, a model
// and a metric, on a data set of its own.

// centre is an estimator: everything flows to the noisy mean of the records.
type centre struct{}

func (centre) Describe() plugin.Info {
	return plugin.Info{Name: "centre-flow", Summary: "private flow to the mean", Version: "1"}
}

func (centre) Config(experiment.Preset) *privateflow.Config {
	return &privateflow.Config{Dataset: "tiles", Weights: "corners", Epsilon: 5, Delta: 1e-5,
		Particles: 20, Steps: 10, StepSize: 0.5, Directions: 4, OnSphere: true, Learner: privateflow.Particles}
}

// Check implements privateflow.Checker.
func (centre) Check(c *privateflow.Config) error {
	if c.Diffusion > 0 {
		return fmt.Errorf("diffusion is %v; all flow to one place, so set it to 0", c.Diffusion)
	}
	return nil
}

// Suit implements privateflow.Suited.
func (centre) Suit(c *privateflow.Config) {
	if c.Dataset == "many-tiles" {
		c.Steps = 15
	}
}

func (centre) Plan(c *privateflow.Config, n, dim int, _ noise.Source) (privacy.Plan, []privacy.Claim, error) {
	plan, err := privacy.Calibrate(privacy.Plan{
		Sensitivity: privacy.Sensitivity{Value: 2, Relation: privacy.ReplaceOne, PerRecord: true, Query: "the sum of the records", Source: "each has norm 1"},
		Records:     n, Steps: 1, Budget: privacy.Budget{Epsilon: float64(c.Epsilon), Delta: c.Delta}, Coordinates: dim})
	return plan, nil, err
}

func (centre) Guide(c *privateflow.Config, records privateflow.Records, release *privacy.Releaser, _ noise.Source) (flow.Guide, error) {
	sum := make([]float64, records.Dim)
	for i := range records.Len() {
		for j, v := range records.Row(i) {
			sum[j] += float64(v)
		}
	}
	s := privacy.Sensitivity{Value: 2, Relation: privacy.ReplaceOne, PerRecord: true}
	if err := release.Release(sum, s, 0); err != nil {
		return nil, err
	}
	for j := range sum {
		sum[j] /= float64(records.Len())
	}
	return towards(sum), nil
}

// towards is a guide to one place.
type towards []float64

func (t towards) Drift(_ flow.Flow, x transport.Points, _ int) ([]float32, error) {
	v := make([]float32, len(x.Data))
	for i := range v {
		v[i] = float32(t[i%x.Dim]) - x.Data[i]
	}
	return v, nil
}

// corners is a model: the code of a tile is its four quarters' means, which a fixed
// map needs no learning for.
type corners struct{ returned int }

func (corners) Describe() plugin.Info {
	return plugin.Info{Name: "corners", Summary: "means of quarters", Version: "3"}
}
func (corners) Shape() models.Shape     { return models.Shape{Side: 4, Channels: 1, Code: 4} }
func (corners) Learned() models.Learned { return models.Learned{} }
func (m corners) Encode(_ context.Context, _ *backend.Backend, images []float32) ([]float32, error) {
	codes := make([]float32, len(images)/4)
	for i, v := range images {
		row, column := i%16/8, i%4/2
		codes[i/16*4+2*row+column] += v / 4
	}
	return codes[:len(codes)-m.returned], nil
}
func (corners) Decode(_ context.Context, _ *backend.Backend, codes []float32) ([]float32, error) {
	images := make([]float32, len(codes)*4)
	for i := range images {
		row, column := i%16/8, i%4/2
		images[i] = min(1, max(0, codes[i/16*4+2*row+column]))
	}
	return images, nil
}

// lopsided is corners with an answer that lacks a value.
type lopsided struct{ corners }

func (lopsided) Describe() plugin.Info { return plugin.Info{Name: "lopsided", Version: "1"} }

// reach is a metric.
type reach struct{}

func (reach) Describe() plugin.Info {
	return plugin.Info{Name: "reach", Summary: "largest first coordinate", Version: "1"}
}
func (reach) Measure(generated, _ transport.Points, _ *rand.Rand) (metric.Value, error) {
	v := math.Inf(-1)
	for i := range generated.Len() {
		v = max(v, float64(generated.Row(i)[0]))
	}
	return metric.Value{Value: v}, nil
}

// tiles are images of 4×4 pixels, brightest at the top left.
func tiles(n int, seed uint64) *dataset.Dataset {
	rng := rand.New(rand.NewPCG(seed, 1))
	d := &dataset.Dataset{Name: "tiles", Origin: "the test", Height: 4, Width: 4, Channels: 1}
	for range n {
		for i := range 16 {
			v := 0.1 * rng.Float32()
			if i%4 < 2 && i < 8 {
				v += 0.8
			}
			d.X = append(d.X, v)
		}
	}
	return d
}

func init() {
	privateflow.Register(centre{})
	models.Registry.Register(corners{})
	models.Registry.Register(lopsided{corners{1}})
	metric.Registry.Register(reach{})
	dataset.Register("tiles", "for tests", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return &dataset.Splits{Train: tiles(400, 1), Test: tiles(100, 2)}, nil
	})
	dataset.Register("many-tiles", "for tests", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return &dataset.Splits{Train: tiles(3000, 1), Test: tiles(100, 2)}, nil
	})
}

func TestPluggedIn(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	r := experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: "centre-flow", Seed: 1}), 0)
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	// The first quarter is bright, so most of a unit code is its.
	found, err := experiment.Measure(t.Context(), r, "reach", 20, func(run.Event) {})
	if err != nil || !(found.Values["reach"] > 0.95) || found.NonPrivate {
		t.Errorf("reach %v, %v; want nearly 1", found, err)
	}
	if d := result.Metrics["sliced W₂"]; !(d < 0.04) {
		t.Errorf("sliced W₂ of %v to held-out codes; want it small", d)
	}
	text, err := r.Privacy()
	if err != nil || !strings.Contains(string(text), "what the model corners has learned from: no rows of tiles, says its author") {
		t.Errorf("the statement does not say what the model's author says: %s, %v", text, err)
	}
	if samples, columns, err := r.Table("samples.npy"); err != nil || columns != 16 || len(samples) != 20*16 {
		t.Errorf("%d values in %d columns of samples, %v", len(samples), columns, err)
	}
	if !strings.Contains(string(r.Spec.Config), "version 3") {
		t.Errorf("the model's version is not among what determines the run: %s", r.Spec.Config)
	}
	if _, err := (experiment.Request{Experiment: "centre-flow", Settings: map[string]string{"diffusion": "0.5"}}).Spec(); err == nil || !strings.Contains(err.Error(), "diffusion is 0.5; all flow to one place") {
		t.Errorf("settings that it refuses: %v", err)
	}
	if _, err := (experiment.Request{Experiment: "centre-flow", Settings: map[string]string{"published": "true"}}).Spec(); err == nil || !strings.Contains(err.Error(), "no noise for this method") {
		t.Errorf("noise of a paper that has none for it: %v", err)
	}
	if suited := experiment.SuitedTo("centre-flow", "many-tiles"); string(suited["quick"]["steps"]) != "15" {
		t.Errorf("its settings for a data set: %s", suited)
	}
	bad := experimenttest.Acquired(t, experiment.Request{Experiment: "centre-flow", Settings: map[string]string{"weights": "lopsided"}})
	if err := experiment.Compute(t.Context(), bad); err == nil || !strings.Contains(err.Error(), `model "lopsided": its Encode returns 799 values for 200 rows`) {
		t.Errorf("a model that lacks a value: %v", err)
	}
}

// What settings cannot do is said before anything is paid, whatever the estimator.
func TestWhatSettingsCannotDoCostsNothing(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	where := filepath.Join(t.TempDir(), "ledger.db")
	t.Setenv(ledger.Variable, where)
	for _, c := range []struct{ experiment, name, value, want string }{
		{"harmonic-flow", "directions", "10", "stack"},
		{"harmonic-generator", "directions", "10", "stack"},
		{"private-normal", "directions", "10", "stack"},
		{"harmonic-flow", "degree", "60", "degree"},
		{"sketch-flow", "per_step", "10000", "directions a step"},
		{"dpswflow", "per_step", "0", "of 32 directions"},
		{"sw-generator", "per_step", "0", "of 32 directions"},
		{"harmonic-classes", "classes", "3", "have labels"},
		{"dpswflow-r", "batch", "1000", "at most all"},
	} {
		r := experimenttest.Acquired(t, experiment.Request{Experiment: c.experiment, Seed: 1,
			Settings: map[string]string{"dataset": "tiles", "weights": "corners", c.name: c.value}})
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s=%s: %v; want it to say %q", c.experiment, c.name, c.value, err, c.want)
		}
	}
	if _, err := os.Stat(where); !os.IsNotExist(err) {
		t.Errorf("something was paid: %v", err)
	}
}

// turning are tiles of two classes that change while their version says that they do not.
type turning struct{ spoil *func(*dataset.Dataset) }

func (turning) Describe() plugin.Info { return plugin.Info{Name: "turning-tiles", Version: "1"} }
func (turning) Public() bool          { return false }
func (turning) Pinned()               {}
func (s turning) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	splits := &dataset.Splits{Train: tiles(400, 1), Test: tiles(100, 2)}
	for _, d := range []*dataset.Dataset{splits.Train, splits.Test} {
		d.Classes = []string{"even", "odd"}
		for i := range d.Len() {
			d.Labels = append(d.Labels, i%2)
		}
	}
	(*s.spoil)(splits.Train)
	return splits, nil
}

// A run pays once, is not continued with other records or labels under the same noise, and
// who follows its release again pays nothing. Steps that diffuse have noise of their own
// key, not of the seed: made again, they go elsewhere.
func TestARunPaysForItsRecords(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	where := filepath.Join(t.TempDir(), "ledger.db")
	t.Setenv(ledger.Variable, where)
	spoil := func(*dataset.Dataset) {}
	dataset.Registry.Register(turning{&spoil})
	prepared := func(name string, more ...string) *run.Run {
		t.Helper()
		r := experimenttest.PreparedIn(t, store, experiment.Request{Experiment: name, Seed: 1, Settings: experiment.With(map[string]string{
			"dataset": "turning-tiles", "weights": "corners", "particles": "20", "steps": "2"}, more...)})
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	entries := func(want int) {
		t.Helper()
		l, err := ledger.Open(where)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if history, err := l.History(t.Context(), "turning-tiles"); err != nil || len(history.Entries) != want {
			t.Errorf("the ledger has %d entries, %v; want %d", len(history.Entries), err, want)
		}
	}
	r := prepared("harmonic-classes", "classes", "2", "degree", "2", "directions", "4")
	t.Setenv(ledger.Variable, t.TempDir()) // which is no ledger: the run is bound, and not paid
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "nothing was read") {
		t.Fatal(err)
	}
	t.Setenv(ledger.Variable, where)
	partition := dataset.PublicPrivate(400, experiment.SplitSeed)
	for what, change := range map[string]func(*dataset.Dataset){
		"another record": func(d *dataset.Dataset) { d.Row(partition.Private[3])[0] = 0 },
		"another label":  func(d *dataset.Dataset) { d.Labels[partition.Private[3]] ^= 1 },
	} {
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		spoil = change
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "pay for a new one") {
			t.Errorf("%s under the same noise: %v", what, err)
		}
		entries(0)
	}
	spoil = func(*dataset.Dataset) {}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	experimenttest.Computed(t, r, 0)
	experimenttest.NamesSplit(t, r, 400)
	entries(2) // reserved and committed

	first := experimenttest.Computed(t, prepared("dpswflow", "directions", "4", "per_step", "4"), 0)
	entries(4)
	var ends [2][]float32
	for k := range ends {
		again := experimenttest.Computed(t, prepared("dpswflow", "release", first.ID, "per_step", "4", "diffusion", "0.5"), 0)
		experimenttest.NamesSplit(t, again, 400)
		var err error
		if ends[k], _, err = again.Table("particles.npy"); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(again.Dir); err != nil {
			t.Fatal(err)
		}
	}
	entries(4)
	if slices.Equal(ends[0], ends[1]) {
		t.Error("two runs diffuse alike: their noise is that of the seed")
	}
}

// Settings that need more records than a rehearsal has at first are no mistake.
func TestManyBinsAreRehearsed(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	r := experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: "sketch-flow", Seed: 1, Research: true,
		Settings: map[string]string{"dataset": "many-tiles", "weights": "corners", "bins": "1200", "particles": "50", "steps": "3", "directions": "8", "per_step": "8"}}), 0)
	if _, err := r.Result(); err != nil {
		t.Error(err)
	}
}
