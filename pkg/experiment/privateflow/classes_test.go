package privateflow

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
)

// twoClasses are n points around one place of the sphere or another, by label.
func twoClasses(rng *rand.Rand, n int) (transport.Points, []int) {
	x, labels := transport.NewPoints(n, 4), make([]int, n)
	for i := range n {
		labels[i] = rng.IntN(2)
		for c := range x.Row(i) {
			x.Row(i)[c] = float32(rng.NormFloat64()) / 4
		}
		x.Row(i)[labels[i]]++
	}
	x.OnSphere()
	return x, labels
}

func classData() *Data {
	rng := rand.New(rand.NewPCG(1, 77))
	d := &Data{Classes: []string{"left", "right"}}
	d.Test, d.Labels.Test = twoClasses(rng, 600)
	d.Public, d.Labels.Public = twoClasses(rng, 600)
	d.Private, d.Labels.Private = twoClasses(rng, 600)
	return d
}

// Points of the same law score as real ones do; labels that are wrong, or of one
// class only, do not.
func TestScoresOfClasses(t *testing.T) {
	d := classData()
	score := func(x transport.Points, labels []int) run.Values {
		t.Helper()
		values, err := d.scoreClasses(x, labels, 1)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	good := score(d.Private, d.Labels.Private)
	// 600 of either side: the largest standard error of a difference is 0.03, so
	// 0.15 is 5 of them.
	for _, name := range []string{"class accuracy", "downstream accuracy", "sliced W₂ within classes"} {
		if math.Abs(good[name]-good[name+" of real"]) > 0.15 {
			t.Errorf("%s of the same law is %v, of real points %v", name, good[name], good[name+" of real"])
		}
	}
	if good["class accuracy"] < 0.85 || good["class total variation"] > 0.15 {
		t.Errorf("points of the same law: %v", good)
	}
	wrong := slices.Clone(d.Labels.Private)
	for i := range wrong {
		wrong[i] = 1 - wrong[i]
	}
	if v := score(d.Private, wrong); v["class accuracy"] > 0.15 || v["downstream accuracy"] > 0.15 || v["sliced W₂ within classes"] < 3*good["sliced W₂ within classes"] {
		t.Errorf("wrong labels: %v", v)
	}
	if v := score(d.Private, make([]int, 600)); math.Abs(v["class total variation"]-0.5) > 0.1 || v["downstream accuracy"] > 0.6 {
		t.Errorf("one label for all: %v", v)
	}
}

func TestLabelsMustBeThere(t *testing.T) {
	d := classData()
	c := classes{}.Config(experiment.Quick)
	if _, err := d.records(c); err == nil || !strings.Contains(err.Error(), "labels of 2 classes") {
		t.Errorf("10 classes of 2: %v", err)
	}
	c.Classes = 2
	if r, err := d.records(c); err != nil || !slices.Equal(r.Labels, d.Labels.Private) {
		t.Errorf("%v, %v", r.Labels, err)
	}
	d.Labels.Private = nil
	if _, err := d.records(c); err == nil {
		t.Error("no labels were taken for some")
	}
	if r, err := d.records(spherical{}.Config(experiment.Quick)); err != nil || r.Labels != nil {
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
	basis, err := flow.SphericalBasis(dim, degree, public)
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
		if err != nil || len(images)/max(1, dim) != 10*samplesOfClass {
			t.Errorf("%d images, %v; want %d of each of 10 classes", len(images)/max(1, dim), err, samplesOfClass)
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
