package fair

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/fair/xian"
	"molehill/privacy"
	"molehill/privacy/noise"
)

var fewBins = map[string]string{"bins": "8", "radii": "0,0.1", "steps": "40"}

// The transport makes predictions fair, the less the larger its radius, and ε of both
// releases is told.
func TestPostProcessedRun(t *testing.T) {
	r := compute(t, "fair-regression-1d-post", fewBins, 0)
	m := experimenttest.Metrics(t, r)
	if !(m["KS, β = 0"] < 0.12 && m["KS, β = 0.1"] < 0.2+0.12 && m["KS"] > m["KS, β = 0.1"] && m["KS, β = 0.1"] > m["KS, β = 0"]) {
		t.Errorf("KS distances %v, %v and %v, of predictions as they are and with β = 0.1 and 0", m["KS"], m["KS, β = 0.1"], m["KS, β = 0"])
	}
	if !(m["distance, β = 0"] < m["distance"]) || !(m["task loss, β = 0"] < 0.3) {
		t.Errorf("distance %v before and %v after, error %v", m["distance"], m["distance, β = 0"], m["task loss, β = 0"])
	}
	text, err := r.Privacy()
	if err != nil {
		t.Fatal(err)
	}
	var s privacy.Statement
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(float64(s.Epsilon())-2) <= 1e-3) || !strings.Contains(s.Mechanism, "discrete Laplace") || !strings.Contains(s.String(), "by composition") {
		t.Errorf("the statement says %v", s)
	}
	table, columns, err := r.Table("predictions-0.npy")
	if err != nil || columns != 3 {
		t.Fatalf("%d columns, %v", columns, err)
	}
	for i := 0; i < len(table); i += 3 {
		if v := float64(table[i]); !(math.Abs((v+1)*4-math.Floor((v+1)*4)-0.5) <= 1e-5) {
			t.Fatalf("prediction %v is not the middle of one of 8 bins", v)
		}
	}
}

// What was released stays released: a run that goes on takes it as it is, whatever the
// model is now.
func TestHistogramsAreReleasedOnce(t *testing.T) {
	all := maps.Clone(inSeconds)
	maps.Copy(all, fewBins)
	t.Setenv("GOMLX_BACKEND", "go")
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "fair-regression-1d-post", Seed: 1, Settings: all}) // whose noise is secret
	c := PostProcessed{}.Config(experiment.Quick).(*PostConfig)
	if err := json.Unmarshal(r.Spec.Config, c); err != nil {
		t.Fatal(err)
	}
	train, test, err := biased(&c.Config)
	if err != nil {
		t.Fatal(err)
	}
	on, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	secret := noise.Seeded(2)
	tr, err := newTraining(&c.Config, on, train, secret, noise.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.learner.Close()
	tr.release = tr.Releaser(secret)
	scores, err := tr.predict(train)
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.released(r, tr)
	if err != nil {
		t.Fatal(err)
	}
	// Its noise is that of the settings' ε, from the secret source and not the public one.
	want, err := xian.Release(scores, train.Group, xian.Bins{Low: -1, High: 1, Count: 8}, 1, secret.Stream("histogram", 0))
	if err != nil || c.HistogramEpsilon != 1 || !reflect.DeepEqual(h, want) {
		t.Errorf("released at ε = %v is %v, want %v, %v", c.HistogramEpsilon, h, want, err)
	}
	if plain, err := xian.Release(scores, train.Group, h.Bins, math.Inf(1), nil); err != nil || reflect.DeepEqual(h, plain) {
		t.Errorf("the histogram has no noise, %v", err)
	}
	for step := range 5 {
		if _, err := tr.step(step); err != nil {
			t.Fatal(err)
		}
	}
	again, err := c.released(r, tr)
	if err != nil || !reflect.DeepEqual(h, again) {
		t.Errorf("released %v and then %v: %v", h, again, err)
	}
	// Lost, it is not made of other predictions under the same noise.
	if err := os.Remove(filepath.Join(r.Dir, "artefacts", histogram)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.released(r, tr); err == nil || !strings.Contains(err.Error(), "other values") {
		t.Errorf("a second histogram under the same noise: %v", err)
	}
	if err := r.WriteFile(histogram, func(to io.Writer) error { _, err := fmt.Fprint(to, `{"Bins":{}}`); return err }); err != nil {
		t.Fatal(err)
	}
	if _, err := c.released(r, tr); err == nil {
		t.Error("a spoilt histogram is taken")
	}
	// Radii without a transport are told, and what else was paid for is measured.
	result, err := c.finish(t.Context(), r, tr, xian.Histogram{Bins: h.Bins}, test)
	_, fair := result.Metrics["KS, β = 0.1"]
	_, plain := result.Metrics["KS"]
	if err != nil || fair || !plain || !strings.Contains(result.Note, "no transport was found for β = 0 (xian") || !strings.Contains(result.Note, ", nor for β = 0.1 (") {
		t.Errorf("without a transport: %v, %+v", err, result)
	}
}

func TestPostSettingsAreChecked(t *testing.T) {
	for want, settings := range map[string]map[string]string{
		"alpha is 0.5":          {"alpha": "0.5"},
		"radii is \"0,x\"":      {"radii": "0,x"},
		"radii is \"0,2\"":      {"radii": "0,2"},
		"stands there twice":    {"radii": "0.1,0.10"},
		"1 bins":                {"bins": "1"},
		"100 bins":              {"bins": "100"},
		"give both or none":     {"epsilon": "inf"},
		"histogram_epsilon":     {"histogram_epsilon": "inf"},
		"criterion is \"odds\"": {"criterion": "odds"},
		"public_sizes is false": {"public_sizes": "false"},
		"learning_rate is -1":   {"learning_rate": "-1"},
		"cannot be \"-1\"":      {"histogram_epsilon": "-1"},
		"histogram_epsilon: ":   {"histogram_epsilon": "1e-7"}, // no noise for it can be drawn
		"histogram_epsilon:  ":  {"histogram_epsilon": "5000"},
	} {
		want = strings.TrimRight(want, " ")
		_, err := experiment.Request{Experiment: "fair-regression-1d-post", Settings: settings}.Spec()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want it to say %q", settings, err, want)
		}
	}
}
