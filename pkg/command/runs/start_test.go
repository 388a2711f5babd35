package runs

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"molehill/pkg/run"
)

// A job that was requeued waits for the lock that a file server keeps of the node that
// died; any other process leaves the run to the one that computes it, and says to which.
func TestARequeuedJobWaitsForTheLock(t *testing.T) {
	before, err := run.Store{Dir: t.TempDir()}.Create(run.Spec{Experiment: "patient"})
	if err == nil {
		err = before.Acquire()
	}
	if err != nil {
		t.Fatal(err)
	}
	now, err := run.Open(before.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MOLEHILL_RUNS", "") // computeIn sets it
	var log bytes.Buffer
	if err := computeIn(t.Context(), &log, before.Dir, false); err != nil || !strings.Contains(log.String(), "is computed by process") {
		t.Errorf("%v, said %q", err, &log)
	}
	if err := acquire(t.Context(), now, false); !errors.Is(err, run.ErrBusy) {
		t.Errorf("impatient: %v", err)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if err := before.Release(); err != nil {
			t.Error(err)
		}
	})
	if err := acquire(t.Context(), now, true); err != nil {
		t.Errorf("patient: %v", err)
	}
	if err := now.Release(); err != nil {
		t.Error(err)
	}
}
