package experiment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/sweep"
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
func (s sighted) Called(string) []string {
	if *s.sees == "" {
		return []string{"sight", "sight-768"}
	}
	return []string{*s.sees}
}
func (sighted) Run(context.Context, *run.Run, experiment.Config) (run.Result, error) {
	return run.Result{Metrics: run.Values{"a": 1}}, nil
}
func (s sighted) Measure(_ context.Context, _ *run.Run, _ experiment.Config, _ string, rows int, _ func(run.Event)) (experiment.Measured, error) {
	*s.times++
	return experiment.Measured{Values: run.Values{*s.sees: float64(*s.times)}, Rows: rows, Computed: run.Provenance{Backend: "eyes"}}, nil
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
	if all, err := experiment.AllMeasured(r); err != nil || len(all) != 2 {
		t.Errorf("kept are %v, %v", all, err)
	}
	// Without a network there is still what one has measured, of all of it first.
	sees = ""
	for _, want := range []float64{2, 1} {
		found, err := experiment.Measure(t.Context(), r, "sight", 5, func(run.Event) {})
		if err != nil || len(found.Values) != 1 || found.Values["sight"]+found.Values["sight-768"] != want || times != 2 {
			t.Errorf("without a network found %v, %v, after %d measurements", found.Values, err, times)
		}
		if err := os.Remove(fmt.Sprintf("%s/artefacts/measures/sight-5.json", r.Dir)); err != nil && want == 2 {
			t.Fatal(err)
		}
	}
}

// What is measured says when, where and by what program, in its file and in the row of its
// run; what was measured before that was kept is read as it is, and written as it was.
func TestMeasuredSaysWhereItWas(t *testing.T) {
	sees, times := "sight", 0
	experiment.Registry.Register(whereabouts{sighted{&sees, &times}})
	r := experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: "whereabouts"}), 0)
	began := time.Now()
	found, err := experiment.Measure(t.Context(), r, "sight", 5, func(run.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := experiment.Measure(t.Context(), r, "sight", 5, func(run.Event) {}); err != nil || !reflect.DeepEqual(again, found) {
		t.Errorf("again: %+v, %v; first %+v", again, err, found)
	}
	all, err := experiment.AllMeasured(r)
	if err != nil {
		t.Fatal(err)
	}
	here := run.Here()
	kept := all["measures/sight-5.json"].Computed
	if kept.Backend != "eyes" || kept.Host != here.Host || kept.Go != here.Go || kept.CPU != here.CPU || kept.Module != here.Module ||
		kept.Started.Before(began) || kept.Started.After(time.Now()) {
		t.Errorf("kept is %+v, here is %+v", kept, here)
	}
	row, err := sweep.Finished(r)
	if err != nil || len(row.Measured) != 1 {
		t.Fatalf("%+v, %v", row.Measured, err)
	}
	if told := row.Measured[0].Computed; told.Backend != "eyes" || told.Go != here.Go || !told.Started.Equal(kept.Started) || told.Host != "" {
		t.Errorf("the row tells %+v; want what is kept, but for the name of the machine", told)
	}
	old := `{"values":{"sight":1},"rows":5,"seconds":2}`
	if err := os.WriteFile(r.Dir+"/artefacts/measures/sight-5.json", []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	row, err = sweep.Finished(r)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(row.Measured); err != nil || string(text) != "["+old+"]" {
		t.Errorf("what was %s is %s, %v", old, text, err)
	}
}

// whereabouts is sighted under a name of its own.
type whereabouts struct{ sighted }

func (whereabouts) Describe() plugin.Info { return plugin.Info{Name: "whereabouts", Version: "1"} }
