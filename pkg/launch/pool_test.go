package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molehill/pkg/run"
)

// swept makes a sweep of specs and returns how each run ended, by its experiment and seed.
func swept(t *testing.T, ctx context.Context, s run.Store, jobs int, specs ...run.Spec) map[string]error {
	t.Helper()
	w, runs, err := s.CreateSweep("many", "", nil, specs)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	ended := map[string]error{}
	err = Local{Binary: os.Args[0]}.Sweep(ctx, w, runs, jobs, func(r *run.Run, err error) {
		mu.Lock()
		defer mu.Unlock()
		ended[fmt.Sprint(r.Spec.Experiment, " ", r.Spec.Seed)] = err
	})
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return ended
}

func several(of run.Spec, count int) (specs []run.Spec) {
	for seed := range uint64(count) {
		of.Seed = seed
		specs = append(specs, of)
	}
	return specs
}

// processes are those that have computed.
func processes(t *testing.T, s run.Store) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, mark := range marks(t, s) {
		pid, _, _ := strings.Cut(mark, " ")
		found[pid]++
	}
	return found
}

func TestSweepsComputeManyRunsInFewProcesses(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	const count = 3 * mostRuns
	for what, err := range swept(t, t.Context(), s, 2, several(quick, count)...) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	used, all := processes(t, s), 0
	for pid, runs := range used {
		all += runs
		if runs > mostRuns {
			t.Errorf("%s computed %d runs, want at most %d", pid, runs, mostRuns)
		}
	}
	if all != count || len(used) > 4 {
		t.Errorf("%d computations in %d processes, want %d in at most 4", all, len(used), count)
	}
}

// What a run prints is in its own log, whichever run its process computed before; one
// that fails says so, and the next one is computed; one that takes its process with it
// takes no other run along.
func TestRunsOfASweepFailAlone(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	loud := run.Spec{Experiment: "loud"}
	specs := append(several(loud, 2), run.Spec{Experiment: "wordy"}, fails, crash, silent)
	ended := swept(t, t.Context(), s, 1, append(specs, several(quick, 3)...)...)
	for what, says := range map[string]string{"loud 0": "", "loud 1": "", "wordy 0": "no memory; no memory", "fails 0": "the loss is NaN", "crash 0": "cannot find libfoo.so", "silent 0": "ended at once", "quick 0": "", "quick 2": ""} {
		err, told := ended[what]
		if !told || (says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v (%v); want %q", what, err, told, says)
		}
	}
	if used := processes(t, s); len(used) != 2 {
		t.Errorf("computed by %v, want one process until the crash and one after it", used)
	}
	for _, spec := range several(loud, 2) {
		r, err := s.Create(spec)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(r.LogPath())
		if want := fmt.Sprintf("this is %d\n", spec.Seed); err != nil || string(text) != want {
			t.Errorf("the log of %s has %q (%v), want %q", r.ID, text, err, want)
		}
	}
}

// A process that was given a run and has not begun it does not begin.
func TestCancelledSweepLeavesNobodyBehind(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked time.Time
	go func() { // as soon as it has been given the run
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(s.Dir, "hesitates")); err == nil {
				break
			}
		}
		asked = time.Now()
		cancel()
	}()
	hesitant := run.Spec{Experiment: "hesitant"}
	if ended := swept(t, ctx, s, 1, quick, hesitant); len(ended) != 1 || time.Since(asked) > 2*time.Second {
		t.Errorf("%v ended, %v after it was cancelled; want the first alone, at once", ended, time.Since(asked))
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "hesitates")); err != nil {
		t.Fatal("no process was given the run: ", err)
	}
	time.Sleep(time.Until(asked.Add(4 * time.Second))) // when it would long have begun
	r, err := s.Create(hesitant)
	if err != nil {
		t.Fatal(err)
	}
	if lives, err := r.Provenance(); err != nil || len(lives) > 0 {
		t.Errorf("it was computed after all: %v, %v", lives, err)
	}
}

func TestCancelledSweepEndsItsProcesses(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	patient := run.Spec{Experiment: "patient"}
	ended := swept(t, ctx, s, 1, quick, patient, run.Spec{Experiment: "quick", Seed: 9})
	if len(ended) != 1 {
		t.Errorf("%v ended, want the first alone", ended)
	}
	r, err := s.Create(patient)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := r.Owner()
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/fd/0", owner.PID)); err != nil {
			break
		}
		if time.Since(begun) > 5*time.Second {
			t.Fatalf("process %d goes on", owner.PID)
		}
	}
}
