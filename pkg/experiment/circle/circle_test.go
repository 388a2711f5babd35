package circle

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
)

func open(t *testing.T) *backend.Backend {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
	on, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	return on
}

// settings are a training that takes a moment.
func settings(preset string) *Config {
	c := Experiment{kinds[slices.IndexFunc(kinds, func(k *kind) bool { return k.Name == preset })]}.Config(experiment.Quick).(*Config)
	c.Records, c.Batch, c.Steps, c.Frames, c.Projections = 400, 100, 6, 3, 6
	return c
}

var tiny = map[string]string{"records": "400", "batch": "100", "steps": "6", "frames": "3", "projections": "6"}

func request(name string, more map[string]string) experiment.Request {
	all := maps.Clone(tiny)
	maps.Copy(all, more)
	return experiment.Request{Experiment: name, Seed: 1, Research: true, Settings: all}
}

// The radius is ¾ for each point, and the angle uniform: bounds on its first two
// Fourier coefficients are five standard errors, exceeded by chance with probability
// 6e-7 each.
func TestPointsLieOnTheirCircle(t *testing.T) {
	const n = 10_000
	p := Points(n, noise.Seeded(1), "Z")
	var sums [4]float64
	for i := range n {
		x, y := float64(p.Row(i)[0]), float64(p.Row(i)[1])
		if !(math.Abs(math.Hypot(x, y)-0.75) <= 1e-6) {
			t.Fatalf("point %d lies %v from the origin", i, math.Hypot(x, y))
		}
		angle := math.Atan2(y, x)
		for k := range 2 {
			sin, cos := math.Sincos(float64(k+1) * angle)
			sums[2*k] += cos / n
			sums[2*k+1] += sin / n
		}
	}
	for k, mean := range sums {
		if !(math.Abs(mean) <= 5*math.Sqrt(0.5/n)) {
			t.Errorf("Fourier coefficient %d is %v, want 0", k, mean)
		}
	}
	if slices.Equal(p.Data, Points(n, noise.Seeded(1), "target").Data) {
		t.Error("records and points for scoring are the same")
	}
}

func compute(t *testing.T, q experiment.Request, interrupt int) *run.Run {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "go")
	return experimenttest.Computed(t, experimenttest.Acquired(t, q), interrupt)
}

// A training that was interrupted goes on to the same network and the same pictures.
func TestAnInterruptedTrainingEndsAsAnother(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	for _, k := range kinds {
		q := request(k.Name, map[string]string{"steps": "20"})
		whole, parts := compute(t, q, 0), compute(t, q, 8)
		for _, name := range []string{artefact, frames} {
			if !bytes.Equal(experimenttest.Read(t, whole, name), experimenttest.Read(t, parts, name)) {
				t.Errorf("%s: interrupted, it ended with another %s", k.Name, name)
			}
		}
	}
}

// A run has its pictures at the steps that its settings say, with ε of both sides, and
// a sweep has them in a table.
func TestReport(t *testing.T) {
	var rows []sweep.Row
	for _, k := range kinds {
		r := compute(t, request(k.Name, nil), 0)
		pictures, err := Frames(r)
		if err != nil {
			t.Fatal(err)
		}
		var steps []int
		for _, f := range pictures {
			steps = append(steps, f.Step)
		}
		last := pictures[len(pictures)-1]
		if !slices.Equal(steps, []int{0, 3, 6}) || len(last.Points) != 2*shown || !(math.Abs(float64(last.EpsilonZ)-1) <= 1e-3) {
			t.Errorf("%s: pictures at %v, the last of %d numbers with ε = %v", k.Name, steps, len(last.Points), last.EpsilonZ)
		}
		if infinite := math.IsInf(float64(last.EpsilonX), 1); infinite != (k.Name == "circle-projections") {
			t.Errorf("%s: ε of X is %v", k.Name, last.EpsilonX)
		}
		if err := Panels("test", pictures).PNG(io.Discard); err != nil {
			t.Error(err)
		}
		checkAudit(t, r)
		row, err := sweep.Finished(r)
		if err != nil {
			t.Fatal(err)
		}
		for name, proved := range map[string]privacy.Epsilon{"ε of X": last.EpsilonX, "ε of Z": last.EpsilonZ} {
			if said := row.Metrics[name]; said != proved.Up() { // what metrics print is rounded to the nearest
				t.Errorf("%s: %s is said to be %v, where %v is proved", k.Name, name, said, float64(proved))
			}
		}
		other := row
		other.Seed = 2
		rows = append(rows, row, other)
		found, err := experiment.Measure(t.Context(), r, "distinguish", 100, nil)
		if err != nil || !(math.Abs(found.Values["by noisy projections"]-1) <= 1e-9) {
			t.Errorf("%s: %+v, %v", k.Name, found, err)
		}
	}
	report, err := figures{}.Report(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := report.Tables[0].String()
	for _, want := range []string{"circle-projections", "∞", "as published"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table does not say %q:\n%s", want, text)
		}
	}
	if len(report.Tables[0].Rows) != 2 {
		t.Errorf("%d lines, want one for each method:\n%s", len(report.Tables[0].Rows), text)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	for want, q := range map[string]experiment.Request{
		"batch is 500":            request("circle", map[string]string{"batch": "500"}),
		"records is 1;":           request("circle", map[string]string{"records": "1"}),
		"steps is 0":              request("circle", map[string]string{"steps": "0"}),
		"frames is 1;":            request("circle", map[string]string{"frames": "1"}),
		"frames is 8 and steps 6": request("circle", map[string]string{"frames": "8"}),
		"output_limit is 0":       request("circle", map[string]string{"output_limit": "0"}),
		"jacobian is -1":          request("circle", map[string]string{"jacobian": "-1"}),
		"projections is 0":        request("circle", map[string]string{"projections": "0"}),
		"protect nothing of X":    request("circle-projections", map[string]string{"both": "true"}),
		"no optimiser":            request("circle", map[string]string{"optimizer": "magic"}),
		"δ":                       request("circle", map[string]string{"delta": "2"}),
	} {
		if _, err := q.Spec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want it to say %q", q.Settings, err, want)
		}
	}
	for _, name := range []string{"circle", "circle-projections"} {
		experimenttest.Diverges(t, request(name, map[string]string{"learning_rate": "1e6", "optimizer": "sgd", "jacobian": "1e9", "steps": "20"}))
	}
	var spoilt []Frame
	if err := json.Unmarshal([]byte(`[{"epsilon_x":"inf","epsilon_z":0}]`), &spoilt); err != nil || spoilt[0].EpsilonZ != 0 {
		t.Errorf("frames with ε = ∞ and 0: %v", err)
	}
}
