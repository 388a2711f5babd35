package run

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// worker prepares this test binary to run as the named worker in dir.
func worker(name, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MOLEHILL_TEST_WORKER="+name, "MOLEHILL_TEST_DIR="+dir)
	return cmd
}

// A run that is killed 50 times at random moments, those between taking the
// lock and the first step and those within a checkpoint included, ends with the
// samples and the curve of one that was left alone, bit by bit, and with one
// noise key.
func TestKilledRunEndsAsIfItHadNot(t *testing.T) {
	t.Parallel()
	for _, research := range []bool{true, false} {
		t.Run(map[bool]string{true: "research", false: "secure"}[research], func(t *testing.T) {
			t.Parallel()
			const kills = 50
			spec := Spec{Experiment: "walk", Seed: 7, Research: research}
			r := create(t, Store{Dir: t.TempDir()}, spec)
			moments := rand.New(rand.NewPCG(1, uint64(kills)))
			var key []byte
			restored := 0 // lives that began with a checkpoint
			for life := range kills {
				if found, _ := checkpoints(r.Dir); len(found) > 0 {
					restored++
				}
				cmd := worker("walk", r.Dir)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				// Some die at birth; most live long enough to get somewhere, but with
				// 2 ms or more a step, and some 20 steps a life, none lives to the end.
				if moments.IntN(5) > 0 {
					awaitState(t, r, Running)
				}
				if life == kills/2 { // on a machine that is busy none might come as far
					awaitCheckpoint(t, r)
				}
				time.Sleep(time.Duration(moments.Int64N(int64(40 * time.Millisecond))))
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil {
					t.Fatal("the worker finished before it was killed")
				}
				now, err := os.ReadFile(r.path(keyFile))
				if err != nil && (research || key == nil) && errors.Is(err, fs.ErrNotExist) {
					continue // none needed, or killed before it was drawn
				}
				if err != nil || len(now) != 32 || key != nil && !bytes.Equal(now, key) {
					t.Fatalf("noise key was %x, is %x (%v)", key, now, err)
				}
				key = now
			}
			if restored < kills/4 {
				t.Errorf("only %d of %d lives had a checkpoint to begin with: the test tests too little", restored, kills)
			}
			if out, err := worker("walkfast", r.Dir).CombinedOutput(); err != nil {
				t.Fatalf("the last life: %v\n%s", err, out)
			}

			alone := create(t, Store{Dir: t.TempDir()}, spec)
			if !research {
				plantKey(t, alone, key)
			}
			if err := walk(alone.Dir, walkSteps, 0); err != nil {
				t.Fatal(err)
			}
			if got, want := artefact(t, r), artefact(t, alone); !bytes.Equal(got, want) {
				t.Error("the samples differ from those of an uninterrupted run")
			}
			steps, loss, err := r.Curve("loss")
			if err != nil {
				t.Fatal(err)
			}
			_, wanted, _ := alone.Curve("loss")
			if !slices.Equal(loss, wanted) {
				t.Errorf("the curve has %d values, that of an uninterrupted run %d, or they differ", len(loss), len(wanted))
			}
			for i, step := range steps {
				if step != i+1 {
					t.Fatalf("event %d is of step %d: each step is expected once, in order", i, step)
				}
			}
			if exists(r.path(keyFile)) {
				t.Error("the noise key outlived the run")
			}
			if left, _ := filepath.Glob(r.path(".*.tmp-*")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		})
	}
}

func awaitCheckpoint(t *testing.T, r *Run) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if found, _ := checkpoints(r.Dir); len(found) > 0 {
			return
		}
	}
	t.Fatal("no checkpoint in 20 seconds")
}

// plantKey gives a new run a key as if it had drawn it.
func plantKey(t *testing.T, r *Run, key []byte) {
	t.Helper()
	if err := os.WriteFile(r.path(keyFile), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path(keyCheck), fingerprint([32]byte(key)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func artefact(t *testing.T, r *Run) []byte {
	t.Helper()
	content, err := r.ReadFile("particles.f64")
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func create(t testing.TB, s Store, spec Spec) *Run {
	t.Helper()
	r, err := s.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
