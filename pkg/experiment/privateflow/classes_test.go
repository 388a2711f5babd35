package privateflow

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/harmonic"
)

func TestLabelsMustBeThere(t *testing.T) {
	d := &latent.Data{Classes: []string{"left", "right"}, Private: transport.NewPoints(2, 4), Labels: latent.Labels{Private: []int{0, 1}, Public: []int{1}, Test: []int{0}}}
	c := Experiment{classes{}}.Config(experiment.Quick).(*Config)
	if _, err := c.records(d); err == nil || !strings.Contains(err.Error(), "labels of 2 classes") {
		t.Errorf("10 classes of 2: %v", err)
	}
	c.Classes = 2
	if r, err := c.records(d); err != nil || !slices.Equal(r.Labels, d.Labels.Private) {
		t.Errorf("%v, %v", r.Labels, err)
	}
	d.Labels.Private = nil
	if _, err := c.records(d); err == nil {
		t.Error("no labels were taken for some")
	}
	if r, err := (spherical{}).Config(experiment.Quick).records(d); err != nil || r.Labels != nil {
		t.Errorf("a flow without classes sees labels %v, %v", r.Labels, err)
	}
	c.Classes = 1
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "classes is 1") {
		t.Errorf("one class: %v", err)
	}
}

// The two worlds of the audit, which differ in one label, are as far apart as the
// plan says that neighbours are.
func TestAuditedLabelsAreTheWorstNeighbours(t *testing.T) {
	const dim = 8
	c := classes{}.Config(experiment.Quick)
	public := noise.Seeded(1)
	plan, _, err := classes{}.Plan(c, records, dim, public)
	if err != nil {
		t.Fatal(err)
	}
	degree, err := classes{}.degree(c, records, dim)
	if err != nil {
		t.Fatal(err)
	}
	basis, err := harmonic.NewBasis(dim, degree)
	if err != nil {
		t.Fatal(err)
	}
	x, labels := transport.NewPoints(records, dim), make([]int, records)
	for i := range records {
		x.Row(i)[0] = 1
	}
	zero, err := harmonic.NewLabelled(x, labels, c.Classes, basis)
	if err != nil {
		t.Fatal(err)
	}
	labels[0] = 1
	one, err := harmonic.NewLabelled(x, labels, c.Classes, basis)
	if err != nil {
		t.Fatal(err)
	}
	var squares float64
	for i, v := range zero.Means {
		squares += (one.Means[i] - v) * (one.Means[i] - v)
	}
	if share := math.Sqrt(squares) / plan.Sensitivity.Value; !(share <= 1 && share > 0.999) {
		t.Errorf("a label moves the release by %v of the sensitivity", share)
	}
}

// Runs leave labelled particles and a row of images for each class, and a
// generator follows the release of the particles at no further cost.
func TestRunsWithClasses(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	first, err := made(t, store, "harmonic-classes", map[string]string{"epsilon": "2", "degree": "2", "steps": "2"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := made(t, store, "harmonic-classes-generator", map[string]string{"release": first.ID, "generated": "30", "steps": "2"})
	if err != nil {
		t.Fatal(err)
	}
	var labels [2][]float32
	for i, r := range []*run.Run{first, second} {
		var width int
		if labels[i], width, err = r.Table("labels.npy"); err != nil || len(labels[i]) != 60 || width != 1 {
			t.Errorf("%d labels of width %d, %v; want 60 of 1", len(labels[i]), width, err)
		}
		images, dim, err := r.Table("samples.npy")
		if err != nil || len(images)/max(1, dim) != 10*latent.SamplesOfClass {
			t.Errorf("%d images, %v; want %d of each of 10 classes", len(images)/max(1, dim), err, latent.SamplesOfClass)
		}
		result, err := r.Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"class total variation", "class accuracy", "downstream accuracy of real", "sliced W₂ within classes"} {
			if v, ok := result.Metrics[name]; !ok || !(v >= 0 && v <= 1) {
				t.Errorf("%s is %v, %v", name, v, ok)
			}
		}
		if text, err := r.Privacy(); err != nil || !strings.Contains(string(text), "the number of classes, 10,") {
			t.Errorf("%v: the statement does not say that the number of classes is public:\n%s", err, text)
		}
	}
	if !slices.Equal(labels[0], labels[1]) {
		t.Error("one release gave particles and generator other labels")
	}
}

// Faces have a class for each of their attributes, other rows at most one.
func TestFacesAreToldWhichClass(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	if _, err := (experiment.Request{Experiment: "harmonic-flow", Settings: map[string]string{"classes": "10"}}).Spec(); err == nil || !strings.Contains(err.Error(), "no classes") {
		t.Error(err)
	}
	for _, c := range []struct{ dataset, label, classes, want string }{
		{"celeba", "", "2", "--set label=Male"},
		{"glyphs", "Male", "10", "leave it out"},
		{"adult", "Male", "10", "leave it out"},
	} {
		settings := map[string]string{"dataset": c.dataset, "classes": c.classes}
		if c.label != "" {
			settings["label"] = c.label
		}
		q := experiment.Request{Experiment: "harmonic-classes", Seed: 1, Settings: settings}
		if _, err := q.Spec(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
