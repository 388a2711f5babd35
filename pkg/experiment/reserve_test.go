package experiment_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/ledger"
)

type weighConfig struct {
	Dataset  string  `json:"dataset"`
	NoiseStd float64 `json:"noise_std"`
}

func (*weighConfig) Check() error { return nil }

// weigh is an experiment that reserves what one release costs, and may fail.
type weigh struct{ fail *bool }

func (weigh) Describe() plugin.Info { return plugin.Info{Name: "weigh", Version: "1"} }
func (weigh) Config(experiment.Preset) experiment.Config {
	return &weighConfig{Dataset: "pebbles", NoiseStd: 3}
}
func (w weigh) Run(ctx context.Context, r *run.Run, config experiment.Config) (run.Result, error) {
	c := config.(*weighConfig)
	plan := privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "the mean"},
		Records: 10, Steps: 1, Budget: privacy.Budget{Epsilon: 10, Delta: 1e-5}, NoiseStd: c.NoiseStd}
	paid, err := experiment.Reserve(ctx, r, c.Dataset, plan)
	if err != nil {
		return run.Result{}, err
	}
	if *w.fail {
		return run.Result{}, errors.New("the scales broke")
	}
	return run.Result{}, paid.Commit(ctx)
}

var broken bool

func init() {
	experiment.Registry.Register(weigh{&broken})
	dataset.Register("pebbles", "for tests", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return nil, errors.New("nobody looks at them")
	})
}

// ledgerOf is the ledger of this test alone.
func ledgerOf(t *testing.T) *ledger.Ledger {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	t.Setenv(ledger.Variable, path)
	l, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func pebbles(t *testing.T, l *ledger.Ledger) ledger.Status {
	t.Helper()
	all, err := l.Status(t.Context(), "pebbles")
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func compute(t *testing.T, r *run.Run) error {
	t.Helper()
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	return experiment.Compute(t.Context(), r)
}

func TestRunsPayOnceForTheSameNoise(t *testing.T) {
	l := ledgerOf(t)
	if _, err := l.Create(t.Context(), ledger.Budget{Dataset: "pebbles", Relation: privacy.ReplaceOne, Epsilon: 5, Delta: 1e-5}); err != nil {
		t.Fatal(err)
	}
	r := experimenttest.Prepared(t, experiment.Request{Experiment: "weigh"})
	broken = true
	err := compute(t, r)
	broken = false
	if err == nil || !strings.Contains(err.Error(), "scales") {
		t.Fatal(err)
	}
	failed := pebbles(t, l)
	if failed.Runs != 1 || len(failed.Open) != 1 || !(failed.Spent > 1) {
		t.Errorf("a run that failed after it reserved: %+v; want it paid and not committed", failed)
	}
	if err := compute(t, r); err != nil { // goes on, with the same key
		t.Fatal(err)
	}
	if s := pebbles(t, l); s.Runs != 1 || len(s.Open) != 0 || s.Spent != failed.Spent {
		t.Errorf("continued: %+v; want it committed, and nothing more spent", s)
	}
	// The same run in another folder draws a key of its own: fresh noise.
	if err := compute(t, experimenttest.Prepared(t, experiment.Request{Experiment: "weigh"})); err != nil {
		t.Fatal(err)
	}
	if s := pebbles(t, l); s.Runs != 2 || !(s.Spent > failed.Spent) {
		t.Errorf("fresh noise: %+v; want it paid", s)
	}
	for want, q := range map[string]experiment.Request{
		"protects nothing and fits no budget": {Experiment: "weigh", Research: true},
		"protects nothing, so it fits no":     {Experiment: "weigh", Settings: map[string]string{"noise_std": "0"}},
		"would exceed the budget of pebbles":  {Experiment: "weigh", Settings: map[string]string{"noise_std": "0.5"}},
		"no data set is called \"peebles\"":   {Experiment: "weigh", Settings: map[string]string{"dataset": "peebles"}},
	} {
		r := experimenttest.Prepared(t, q)
		err := compute(t, r)
		if state, _ := r.State(); err == nil || !strings.Contains(err.Error(), want) || state != run.Failed {
			t.Errorf("state %s, error %v; want failed, saying %q", state, err, want)
		}
	}
	if s := pebbles(t, l); s.Runs != 2 {
		t.Errorf("refused runs were recorded: %+v", s)
	}
}

func TestRunsWithoutABudgetAreRecorded(t *testing.T) {
	l := ledgerOf(t)
	for _, q := range []experiment.Request{
		{Experiment: "weigh"},
		{Experiment: "weigh", Research: true},
		{Experiment: "weigh", Settings: map[string]string{"noise_std": "0"}},
		{Experiment: "weigh", Settings: map[string]string{"dataset": "glyphs"}}, // public: costs nothing
	} {
		if err := compute(t, experimenttest.Prepared(t, q)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Status(t.Context())
	if err != nil || len(all) != 1 || all[0].Runs != 3 || len(all[0].Open) != 0 {
		t.Errorf("%v, %+v; want three runs on pebbles", err, all)
	}
}

// What one ledger has refused is not paid from another, whatever the environment of the
// process that computes: a job's, a notebook's, a forgotten export.
func TestRunsPayWhereTheyWereAsked(t *testing.T) {
	asked := ledgerOf(t)
	if _, err := asked.Create(t.Context(), ledger.Budget{Dataset: "pebbles", Relation: privacy.ReplaceOne, Epsilon: 0.1, Delta: 1e-5}); err != nil {
		t.Fatal(err)
	}
	r := experimenttest.Prepared(t, experiment.Request{Experiment: "weigh"})
	if err := compute(t, r); err == nil || !strings.Contains(err.Error(), "would exceed the budget") {
		t.Fatal(err)
	}
	other := ledgerOf(t)
	again, err := run.Open(r.Dir) // another process
	if err != nil {
		t.Fatal(err)
	}
	err = compute(t, again)
	for _, want := range []string{"was asked for", asked.String(), other.String(), ledger.Variable} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
	if all, err := other.Status(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v; want nothing in the other ledger", all, err)
	}
}

// A ledger that was moved is the same, as it has what the run has paid.
func TestAMovedLedgerIsTheSame(t *testing.T) {
	l := ledgerOf(t)
	r := experimenttest.Prepared(t, experiment.Request{Experiment: "weigh"})
	broken = true
	err := compute(t, r)
	broken = false
	if err == nil {
		t.Fatal("the scales did not break")
	}
	elsewhere := filepath.Join(t.TempDir(), "moved.db")
	if err := os.Rename(l.String(), elsewhere); err != nil {
		t.Fatal(err)
	}
	t.Setenv(ledger.Variable, elsewhere)
	if err := compute(t, r); err != nil {
		t.Fatal(err)
	}
	moved, err := ledger.Open(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer moved.Close()
	if s := pebbles(t, moved); s.Runs != 1 || len(s.Open) != 0 {
		t.Errorf("%+v; want it paid once, and committed", s)
	}
}

// Whoever reads the run learns where it was paid, and whether there was a budget.
func TestRunsTellWhatWasPaid(t *testing.T) {
	l := ledgerOf(t)
	r := experimenttest.Prepared(t, experiment.Request{Experiment: "weigh"})
	if err := compute(t, r); err != nil {
		t.Fatal(err)
	}
	receipt, err := r.Receipt()
	if err != nil || !strings.HasPrefix(receipt, "entry 1 (") || !strings.Contains(receipt, l.String()+"; pebbles had no budget") || !strings.Contains(receipt, "ledger is new") {
		t.Errorf("%q, %v", receipt, err)
	}
	other := experimenttest.Prepared(t, experiment.Request{Experiment: "weigh", Seed: 2})
	if err := compute(t, other); err != nil {
		t.Fatal(err)
	}
	if receipt, err = other.Receipt(); err != nil || strings.Contains(receipt, "ledger is new") {
		t.Errorf("%q, %v; the ledger has two entries of another run by then", receipt, err)
	}
}

// A ledger that cannot be used stops a run before it computes anything.
func TestNoLedgerNoRelease(t *testing.T) {
	t.Setenv(ledger.Variable, t.TempDir())
	r := experimenttest.Prepared(t, experiment.Request{Experiment: "weigh"})
	if err := compute(t, r); err == nil || !strings.Contains(err.Error(), "nothing was read or recorded") {
		t.Error(err)
	}
}

// A program that does not have the ledger's store asks for no run there, and none that was
// asked for elsewhere releases anything in it.
func TestNoStoreNoRelease(t *testing.T) {
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	q := experiment.Request{Experiment: "weigh"}
	r := experimenttest.Prepared(t, q)
	t.Setenv(ledger.Variable, "postgres://team/ledger") // these tests import SQLite alone
	if _, err := q.Spec(); err == nil || !strings.Contains(err.Error(), `import _ "molehill/privacy/ledger/postgres"`) {
		t.Error(err)
	}
	if err := compute(t, r); err == nil || !strings.Contains(err.Error(), "nothing was read or recorded") {
		t.Error(err)
	}
}
