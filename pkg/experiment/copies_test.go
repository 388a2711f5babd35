package experiment_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
	"molehill/privacy"
)

// A backup of a run from before its original was complete makes no release that it does
// not know: it would have the noise of one that was made. One from after the last release
// goes on, as a run does that was killed between its payment and its result.
func TestABackupOfACompleteRunReleasesNothing(t *testing.T) {
	ledgerOf(t)
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "the sum"},
		Records: 3, Steps: 2, Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}, Coordinates: 1})
	if err != nil {
		t.Fatal(err)
	}
	promised := func(r *run.Run) (*privacy.Releaser, experiment.Payment) {
		t.Helper()
		paid, err := experiment.Promise{Data: "pebbles", Plan: plan, Rows: []float32{1, 2, 3}}.Make(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return paid.Releaser, paid.Payment
	}
	backup := func(r *run.Run) *run.Run {
		t.Helper()
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
		store := run.Store{Dir: t.TempDir()}
		if text, err := exec.Command("cp", "-a", r.Dir, store.Dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		again, err := store.Open(filepath.Base(r.Dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*run.Run{r, again} {
			if err := r.Acquire(); err != nil {
				t.Fatal(err)
			}
		}
		return again
	}
	sum := func(release *privacy.Releaser, step int) error {
		return release.Release([]float64{6}, plan.Sensitivity, step)
	}

	r := experimenttest.Acquired(t, experiment.Request{Experiment: "weigh"})
	release, _ := promised(r)
	if err := sum(release, 0); err != nil {
		t.Fatal(err)
	}
	before := backup(r)
	release, paid := promised(r)
	if err := sum(release, 1); err != nil {
		t.Fatal(err)
	}
	after := backup(r)
	if err := paid.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}

	release, _ = promised(before)
	if err := sum(release, 0); err != nil {
		t.Errorf("what was released before: %v", err)
	}
	if err := sum(release, 1); err == nil || !strings.Contains(err.Error(), "a copy from before") {
		t.Errorf("a release of the original's noise: %v", err)
	}
	release, _ = promised(after)
	for step := range 2 {
		if err := sum(release, step); err != nil {
			t.Errorf("release %d of a run that was complete: %v", step, err)
		}
	}
}
