package experiment_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// sighted measures by what is on the machine: a part of a network at first, then all of it.
type sighted struct {
	sees  *string
	times *int
}

func (sighted) Describe() plugin.Info                      { return plugin.Info{Name: "sighted", Version: "1"} }
func (sighted) Config(experiment.Preset) experiment.Config { return &struct{ noConfig }{} }
func (sighted) Measures() []string                         { return []string{"sight"} }
func (s sighted) Called(string) string                     { return *s.sees }
func (sighted) Run(context.Context, *run.Run, experiment.Config) (run.Result, error) {
	return run.Result{Metrics: run.Values{"a": 1}}, nil
}
func (s sighted) Measure(_ context.Context, _ *run.Run, _ experiment.Config, _ string, rows int, _ func(run.Event)) (experiment.Measured, error) {
	*s.times++
	return experiment.Measured{Values: run.Values{*s.sees: float64(*s.times)}, Rows: rows}, nil
}

// What was measured by a part of a network is not what all of it measures: both are kept,
// and each is measured once.
func TestAnotherNetworkMeasuresAnew(t *testing.T) {
	sees, times := "sight-768", 0
	experiment.Registry.Register(sighted{&sees, &times})
	r := experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: "sighted"}), 0)
	for _, c := range []struct {
		sees string
		want float64
	}{{"sight-768", 1}, {"sight-768", 1}, {"sight", 2}, {"sight", 2}, {"sight-768", 1}} {
		sees = c.sees
		found, err := experiment.Measure(t.Context(), r, "sight", 5, func(run.Event) {})
		if err != nil || fmt.Sprint(found.Values) != fmt.Sprint(run.Values{c.sees: c.want}) {
			t.Errorf("with %s found %v, %v; want %v", c.sees, found.Values, err, c.want)
		}
	}
	kept := func(want int) {
		t.Helper()
		if all, err := experiment.AllMeasured(r); err != nil || len(all) != want {
			t.Errorf("kept are %v, %v", all, err)
		}
	}
	kept(2)
	// Without a network there is still what one has measured.
	sees = ""
	if found, err := experiment.Measure(t.Context(), r, "sight", 5, func(run.Event) {}); err != nil || len(found.Values) != 1 || times != 2 {
		t.Errorf("without a network found %v, %v, after %d measurements", found.Values, err, times)
	}
	// A file of before is called by what was asked for, whatever it holds.
	artefact := r.Dir + "/artefacts/measures/"
	if err := os.Rename(artefact+"sight-768-5.json", artefact+"sight-5.json"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sees string
		want float64
	}{{"sight-768", 1}, {"sight", 3}} {
		sees = c.sees
		found, err := experiment.Measure(t.Context(), r, "sight", 5, func(run.Event) {})
		if err != nil || found.Values[c.sees] != c.want {
			t.Errorf("with %s found %v, %v; want %v", c.sees, found.Values, err, c.want)
		}
	}
	kept(2)
	sees = ""
	if found, err := experiment.Measure(t.Context(), r, "sight", 5, func(run.Event) {}); err != nil || found.Values["sight"] != 3 {
		t.Errorf("without a network found %v, %v", found.Values, err)
	}
}
