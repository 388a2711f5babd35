package experiment_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/audit"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
)

// faulty is an experiment that panics where its name says, once it is registered.
type faulty struct {
	where string
	bad   *bool
}

type faultyConfig struct {
	Where string `json:"where"`
	bad   bool
}

func (c *faultyConfig) fail(where string) {
	if c.bad && c.Where == where {
		panic("no cheese in " + where)
	}
}
func (c *faultyConfig) Check() error { c.fail("check"); return nil }
func (c *faultyConfig) Pin() error   { c.fail("pin"); return nil }

func (f faulty) fail(where string) { (&faultyConfig{f.where, *f.bad}).fail(where) }

func (f faulty) Describe() plugin.Info {
	f.fail("describe")
	return plugin.Info{Name: "faulty-" + f.where, Version: "1"}
}
func (f faulty) Config(experiment.Preset) experiment.Config {
	f.fail("config")
	switch {
	case *f.bad && f.where == "nil":
		return nil
	case *f.bad && f.where == "empty":
		return (*faultyConfig)(nil)
	case *f.bad && f.where == "value":
		return valueConfig{}
	}
	return &faultyConfig{f.where, *f.bad}
}
func (f faulty) Run(context.Context, *run.Run, experiment.Config) (run.Result, error) {
	f.fail("run")
	return run.Result{}, nil
}
func (f faulty) Measures() []string { f.fail("measures"); return []string{"weight"} }
func (f faulty) Measure(context.Context, *run.Run, experiment.Config, string, int, func(run.Event)) (experiment.Measured, error) {
	f.fail("measure")
	return experiment.Measured{}, nil
}
func (f faulty) Game(*run.Run, experiment.Config, privacy.Statement) (audit.Game, error) {
	f.fail("game")
	return audit.Game{}, nil
}

type valueConfig struct{}

func (valueConfig) Check() error { return nil }

// Whatever a plug-in panics in, its error says which plug-in it was; and the
// experiment beside it computes.
func TestFaultyExperimentsAreNamed(t *testing.T) {
	bad := false
	for _, where := range []string{"describe", "config", "check", "pin", "nil", "empty", "value", "run", "measures", "measure", "game"} {
		experiment.Registry.Register(faulty{where, &bad})
	}
	bad = true
	t.Cleanup(func() { bad = false })
	for where, want := range map[string]string{
		"describe": "panicked in Describe: no cheese", "config": "panicked in Config", "check": "panicked in Check", "pin": "panicked in Pin",
		"nil": "Config returns <nil> for the preset quick", "empty": "Config returns *experiment_test.faultyConfig", "value": "expected a pointer to a struct",
	} {
		_, err := experiment.Request{Experiment: "faulty-" + where}.Spec()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `experiment "faulty-`+where+`"`) {
			t.Errorf("%s: %v, want it to say %q", where, err, want)
		}
	}
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "faulty-run"})
	err := experiment.Compute(t.Context(), r)
	if state, _ := r.State(); err == nil || !strings.Contains(err.Error(), `experiment "faulty-run" panicked in Run: no cheese in run (faulty_test.go:`) || state != run.Failed {
		t.Errorf("%s, %v", state, err)
	}
	for _, where := range []string{"measures", "measure", "game"} {
		bad = false
		r := experimenttest.Acquired(t, experiment.Request{Experiment: "faulty-" + where})
		if err := r.WritePrivacy(privacy.Statement{NoiseStd: 1, Sensitivity: privacy.Sensitivity{Relation: privacy.ReplaceOne}, Claims: []privacy.Claim{{Sound: true, Epsilon: 1}}}); err != nil {
			t.Fatal(err)
		}
		if err := experiment.Compute(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		bad = true
		if where == "game" {
			_, _, err = experiment.Game(r)
		} else {
			_, err = experiment.Measure(t.Context(), r, "weight", 10, func(run.Event) {})
		}
		var panicked *plugin.PanicError
		if !errors.As(err, &panicked) || panicked.Name != "faulty-"+where {
			t.Errorf("%s: %v", where, err)
		}
	}
	if _, err := (experiment.Request{Experiment: "example"}).Spec(); err != nil {
		t.Errorf("the good one beside them: %v", err)
	}
	for _, k := range plugin.Catalogue() {
		for _, p := range k.Plugins {
			if want := p.Name == "faulty-config" || p.Name == "faulty-describe" || p.Name == "faulty-nil" || p.Name == "faulty-empty" || p.Name == "faulty-value"; want != (p.Fault != "") {
				t.Errorf("the catalogue says of %s that it has the fault %q", p.Name, p.Fault)
			}
		}
	}
}

func TestCatalogueHasBothPresets(t *testing.T) {
	for _, p := range experiment.Registry.Catalogue().Plugins {
		if p.Name != "example" {
			continue
		}
		var quick, paper exampleConfig
		if json.Unmarshal(p.Defaults["quick"], &quick) != nil || json.Unmarshal(p.Defaults["paper"], &paper) != nil || quick.Steps != 1 || paper.Steps != 100 {
			t.Errorf("the defaults are %s", p.Defaults)
		}
		return
	}
	t.Error("the example is not in the catalogue")
}

// A promise is written, bound and paid before there is a releaser.
func TestPromise(t *testing.T) {
	l := ledgerOf(t)
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "the sum"},
		Records: 3, Steps: 2, Each: []float64{1, 0.5}, Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}, Coordinates: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := acquired(t, nil)
	promise := func(plan privacy.Plan, rows ...float32) (experiment.Paid, error) {
		return experiment.Promise{Data: "pebbles", Plan: plan, Rows: rows, Beside: []string{"the weather"}}.Make(t.Context(), r)
	}
	paid, err := promise(plan, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := paid.Releaser.Release([]float64{6}, plan.Sensitivity, 0); err != nil {
		t.Error(err)
	}
	if err := paid.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	history, err := l.History(t.Context(), "pebbles")
	if err != nil || len(history.Entries) != 2 {
		t.Errorf("the ledger has %d entries, %v; want a reservation and a commit", len(history.Entries), err)
	}
	var s privacy.Statement
	if text, err := r.Privacy(); err != nil || json.Unmarshal(text, &s) != nil || !(s.Epsilon() <= 2 && s.Epsilon() >= 1.99) {
		t.Errorf("the statement proves ε = %v, %v; want 2", s.Epsilon(), err)
	}
	if len(s.NotCovered) != 5 || s.NotCovered[0] != "the weather" || s.NotCovered[1] != "the number of private records, 3, which is public" || !strings.Contains(s.NotCovered[2], "budget status pebbles") {
		t.Errorf("not covered: %q", s.NotCovered)
	}
	// There is no noise for another plan: what the ledger takes for the same in another
	// order would be released again, and what was never paid for with little noise.
	swapped, quiet := plan, plan
	swapped.Each = []float64{0.5, 1}
	quiet.NoiseStd = 1e-3
	if _, err := promise(swapped, 1, 2, 3); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("another plan: %v", err)
	}
	key, err := r.Key()
	if err != nil {
		t.Fatal(err)
	}
	if err := experiment.Releaser(r, quiet, noise.Keyed(key, false)).Release([]float64{1}, plan.Sensitivity, 0); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("a releaser of another plan: %v", err)
	}
	// Nor is noise made that does not prove what was asked for, unless a paper claims it.
	little := plan
	little.NoiseStd /= 4
	for claimed, refused := range map[float64]bool{2: false, 2.1: true} {
		r := acquired(t, nil)
		_, err := experiment.Promise{Data: "pebbles", Plan: little, Rows: []float32{1, 2, 3}, Published: []privacy.Claim{{Label: privacy.AsPublished, Epsilon: privacy.Epsilon(claimed)}}}.Later(t.Context(), r)
		if refused != (err != nil && strings.Contains(err.Error(), "and ε = 2 was asked for, which no paper claims")) || !refused && err != nil {
			t.Errorf("little noise, of which ε = %v is claimed: %v", claimed, err)
		}
		events, err := r.Events()
		if said := slices.ContainsFunc(events, func(e run.Event) bool {
			return strings.Contains(e.Message, "as a paper has it: it proves ε = ") && strings.HasSuffix(e.Message, " and not ε = 2, which was asked for")
		}); err != nil || said == refused {
			t.Errorf("little noise, of which ε = %v is claimed: %+v, %v", claimed, events, err)
		}
	}
	// Nor is a δ that lets records out promised to anybody.
	loose := plan
	loose.Budget.Delta = 0.4
	if _, err := promise(loose, 1, 2, 3); err == nil || !strings.Contains(err.Error(), "not below 1/3") {
		t.Errorf("δ of 0.4 for 3 records: %v", err)
	}
	// The same run on other rows must not get the same noise.
	if _, err := promise(plan, 1, 2, 4); err == nil {
		t.Error("other records were promised under the same key")
	}
}

// What the ledger refuses has no releaser, and what a run releases beside its plan is paid
// for with it: a budget with room for the plan alone has none for both.
func TestAPromiseThatIsRefusedReleasesNothing(t *testing.T) {
	l := ledgerOf(t)
	if _, err := l.Create(t.Context(), ledger.Budget{Dataset: "pebbles", Relation: privacy.ReplaceOne, Epsilon: 2.5, Delta: 1e-5}); err != nil {
		t.Fatal(err)
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "the sum"},
		Records: 3, Steps: 1, Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}, Coordinates: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := experiment.Promise{Data: "pebbles", Plan: plan, Rows: []float32{1, 2, 3}, Further: []accountant.Event{accountant.Pure{Epsilon: 1}}}
	paid, err := p.Make(t.Context(), acquired(t, nil))
	if err == nil || !strings.Contains(err.Error(), "would exceed the budget") || paid.Releaser != nil {
		t.Errorf("a plan of ε = 2 and a further release of 1 on a budget of 2.5: %v; a releaser: %v", err, paid.Releaser != nil)
	}
	p.Further = nil
	if paid, err = p.Make(t.Context(), acquired(t, nil)); err != nil || paid.Releaser == nil {
		t.Errorf("the plan alone: %v; a releaser: %v", err, paid.Releaser != nil)
	}
	if paid, err = p.Make(t.Context(), acquired(t, nil)); err == nil || paid.Releaser != nil {
		t.Errorf("a second run: %v; a releaser: %v", err, paid.Releaser != nil)
	}
}

// An experiment of a cell keeps what it can do beyond the least, and its code is
// part of its version.
func TestHereIsTheExperimentItself(t *testing.T) {
	bad := false
	experiment.Registry.Register(experiment.Here{Experiment: faulty{"here", &bad}, Code: "0123abcd"})
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "faulty-here"})
	if r.Spec.Version != "1+cell.0123abcd" || !experiment.OfCell(r.Spec) {
		t.Errorf("the version is %s", r.Spec.Version)
	}
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Measure(t.Context(), r, "weight", 10, func(run.Event) {}); err != nil {
		t.Errorf("its measure: %v", err)
	}
	if err := experiment.CheckMeasure("faulty-here", "weight", 10); err != nil {
		t.Errorf("before it is made: %v", err)
	}
	if spec, err := (experiment.Request{Experiment: "example"}).Spec(); err != nil || experiment.OfCell(spec) {
		t.Errorf("the example is of a cell: %v, %v", spec, err)
	}
}
