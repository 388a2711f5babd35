package launch

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"molehill/pkg/run"
)

// Each run is said to stand where it does, in the order of the runs, and a cluster that does
// not answer hides none of them.
func TestStanding(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "squeue"), []byte("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	runs := made(t, run.Store{Dir: t.TempDir()}, "quick", 5)
	running, finished, given, deleted := runs[1], runs[2], runs[3], runs[4]
	err := errors.Join(
		running.Acquire(), running.Emit(run.Event{Step: 9, Total: 20}), running.Checkpoint(9, func(io.Writer) error { return nil }),
		finished.Acquire(), finished.Finish(run.Result{}),
		given.Submitted(run.Job{Scheduler: slurm, ID: "12_0"}),
		os.RemoveAll(deleted.Dir))
	if err != nil {
		t.Fatal(err)
	}
	states, queued := Standing(t.Context(), runs...)
	if want := []string{"pending", "running, 45 %", "finished", "pending (Slurm does not answer)", "deleted"}; !slices.Equal(states, want) || queued != 0 {
		t.Errorf("they stand at %q with %d queued, want %q", states, queued, want)
	}
	if err := running.Release(); err != nil {
		t.Error(err)
	}
}
