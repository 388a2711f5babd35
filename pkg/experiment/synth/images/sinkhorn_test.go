package images

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/run"
	"molehill/privacy/noise"
	"molehill/transport"
)

const withoutClasses = `{"name": "spots", "images": {"height": 8, "width": 10, "channels": 1, "fit": "crop", "public": true}}`

// trained asks for a short training.
func trained(more ...string) []string {
	return append([]string{"method", Sinkhorn, "steps", "20", "batch", "8", "generated", "4", "width", "8", "latent", "2"}, more...)
}

// A training that was interrupted goes on to the same generator and the same images,
// with classes, whose counts are learned on the way, and without.
func TestAnInterruptedTrainingEndsAsAnother(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	t.Setenv("GOMLX_BACKEND", "go")
	layouts := []bool{true}
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		layouts = append(layouts, false)
	}
	for _, classes := range layouts {
		data, schema := spots(t, 40, nil)
		if !classes {
			data = filepath.Join(data, "left")
			if err := os.WriteFile(schema, []byte(withoutClasses), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		q := request(data, schema, "2", trained()...)
		q.Research = true // the same noise in both
		whole := experimenttest.Computed(t, experimenttest.Acquired(t, q), 0)
		parts := experimenttest.Computed(t, experimenttest.Acquired(t, q), 7)
		for _, name := range []string{training.GeneratorFile, pointsFile, labelsFile, "synthetic.zip"} {
			if !bytes.Equal(experimenttest.Read(t, whole, name), experimenttest.Read(t, parts, name)) {
				t.Errorf("classes %v: interrupted, %s is another", classes, name)
			}
		}
		statement, err := whole.Statement()
		if err != nil || !(statement.Epsilon() <= 2 && statement.Epsilon() >= 1.9) || statement.Steps != 20 || statement.Sampler != "FixedSize(8) of 40 records" && classes {
			t.Errorf("%+v, %v", statement, err)
		}
		report := string(experimenttest.Read(t, whole, synth.ReportFile+".md"))
		for want, there := range map[string]bool{"dp-sinkhorn": true, "20 gradients": true, "which class": classes, "share, estimated from the release": classes, "harmonics": false} {
			if strings.Contains(report, want) != there {
				t.Errorf("classes %v: the report says %q: %v", classes, want, !there)
			}
		}
		if _, err := whole.Artefact(experiment.ReleaseFile); err == nil {
			t.Error("one of many releases is left as if it were all")
		}
	}
}

// Without noise, a training makes spots where they are, of classes as frequent as they
// are.
func TestATrainingMakesImagesOfTheirClasses(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	data, schema := spots(t, 200, func(files map[string][]byte) {
		for name := range files {
			if strings.HasPrefix(name, "right/") && name > "right/0100" {
				delete(files, name)
			}
		}
	})
	more := trained("steps", "250", "batch", "16", "generated", "8", "learning_rate", "0.02")
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "inf", more...)), 0)
	d, err := Diagnose(t.Context(), r, "")
	if err != nil || !(d.Synthetic >= 0.95 && d.Classes <= 0.05 && d.Distance <= 0.2) {
		t.Errorf("%+v, %v", d, err)
	}
}

// Whoever replaces an image moves what a step releases by at most what is stated: all
// kinds of images through the code, of either class, against all others. White and
// black ones of two classes are as far apart as any.
func TestNeighboursAreWithinTheSensitivityOfAStep(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	c := settings()
	c.Method, c.Epsilon, c.Batch, c.Generated, c.Latent, c.Width, c.Steps, c.Coefficients = Sinkhorn, 10, 1, 1, 2, 8, 2, 9
	with := newCosines(shapes[0], 9)
	size := shapes[0].Dim()
	images := random(12, size, 2)
	for i := range size { // white, black, and a border between them
		images[i], images[size+i], images[2*size+i] = 1, 0, float32(i%8/4)
	}
	x, err := with.encode(t.Context(), images)
	if err != nil {
		t.Fatal(err)
	}
	m := newBySinkhorn(c, []string{"a", "b"}, with.dim())
	plan, err := m.Plan(1)
	if err != nil {
		t.Fatal(err)
	}
	record := encoded{points: transport.NewPoints(1, with.dim()), labels: []int{0}}
	training, err := m.Start(b, noise.Seeded(1), record, plan.Releaser(noise.Seeded(2)), plan.Steps)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	defer training.Close()
	// In the middle of white and black, which pull straight away from each other.
	generated := semidebiased.Batch{Points: transport.NewPoints(1, with.dim()), Labels: []int{1}}
	for k := range generated.Data {
		generated.Data[k] = (x.Row(0)[k] + x.Row(1)[k]) / 2
	}
	var seen [][]float64
	for i := range x.Len() {
		for label := range 2 {
			copy(record.points.Data, x.Row(i))
			record.labels[0] = label
			training.Release = plan.Releaser(noise.Seeded(2))
			gradient, classes, err := training.Gradient(0, generated)
			if err != nil {
				t.Fatal(err)
			}
			var all []float64
			for _, v := range gradient {
				all = append(all, float64(v))
			}
			// A record weighs 0.2·√2·C in the count of its class.
			for _, v := range classes {
				all = append(all, v*0.2*math.Sqrt2*c.Bound)
			}
			seen = append(seen, all)
		}
	}
	var worst float64
	for i, one := range seen {
		for _, other := range seen[:i] {
			var squares float64
			for k, v := range one {
				squares += (v - other[k]) * (v - other[k])
			}
			worst = max(worst, math.Sqrt(squares)/plan.Sensitivity.Value)
		}
	}
	if !(worst <= 1+1e-5 && worst >= 0.999) {
		t.Errorf("neighbours are up to %v times the sensitivity apart", worst)
	}
}
