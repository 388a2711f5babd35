package experimenttest

import (
	"errors"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// Diverges has a training run whose settings lead it to numbers that are not finite, and
// checks that it fails in the words that all trainings have for that, and as one that would
// fail again.
func Diverges(t *testing.T, q experiment.Request) {
	t.Helper()
	t.Setenv("MOLEHILL_LEDGER", t.TempDir()+"/ledger.db")
	t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
	r := Acquired(t, q)
	if err := experiment.Compute(t.Context(), r); err == nil {
		t.Errorf("%s that diverges has finished", q.Experiment)
		return
	}
	failure := (*run.FailedError)(nil)
	if err := r.Failure(); !errors.As(err, &failure) || !failure.Recurs || !strings.HasSuffix(failure.Why, " no longer finite; train with a smaller learning_rate") {
		t.Errorf("%s diverges: %v, would recur: %v", q.Experiment, err, failure != nil && failure.Recurs)
	}
}
