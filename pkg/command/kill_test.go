package command

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// registerFewDigits registers a data set that is drawn at once, so that a process
// does little but what is to be killed.
func registerFewDigits() {
	dataset.Register("few-digits", "2,000 digits of a test", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 2000
		return dataset.Load(ctx, "glyphs", o)
	})
}

// Runs that are killed (SIGKILL) at random moments and started again end with the
// artefact of one that was left alone, bit by bit: five kills, in a thorough run
// fifteen of a flow and fifteen of a training: what is wrong at a tenth of all moments
// is found in 96 of 100 runs if both have it, in 79 if one has. Checkpoints are
// frequent, so that most kills come after one. Research noise makes the two
// comparable; that a secret key survives a kill is tested in pkg/run.
func TestKilledRunsEndTheSame(t *testing.T) {
	t.Setenv(run.IntervalVariable, "50ms")
	registerFewDigits()
	thorough := os.Getenv("MOLEHILL_THOROUGH") != ""
	for _, c := range []struct {
		experiment, artefact string
		settings             map[string]string
		within               time.Duration
		kills, thoroughly    int
	}{
		{"dpswflow-r", "particles.npy", map[string]string{"dataset": "glyphs", "particles": "3000", "steps": "300", "epsilon": "5"}, 1300 * time.Millisecond, 5, 15},
		{"dp-sinkhorn", "generator.npz", map[string]string{"dataset": "few-digits", "width": "1", "latent": "2", "embedding": "1", "batch": "20", "generated": "6", "samples": "100", "steps": "150"}, 1100 * time.Millisecond, 0, 15},
	} {
		kills := c.kills
		if thorough {
			kills = c.thoroughly
		}
		if c.experiment == "dp-sinkhorn" {
			t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
		}
		rng := rand.New(rand.NewPCG(20, 26))
		done := 0
		for seed := uint64(1); done < kills; seed++ {
			request := experiment.Request{Experiment: c.experiment, Seed: seed, Research: true, Settings: c.settings}
			want, _ := computeRun(t, request, c.artefact, nil)
			var moments []time.Duration
			for range kills - done {
				moments = append(moments, time.Duration(rng.Int64N(int64(c.within))))
			}
			got, killed := computeRun(t, request, c.artefact, moments)
			if killed == 0 {
				t.Fatalf("%s: no kill came before the run was finished; the test has lost its power", c.experiment)
			}
			done += killed
			if !bytes.Equal(got, want) {
				t.Fatalf("%s, seed %d: after %d kills %s differs from that of a run left alone", c.experiment, seed, killed, c.artefact)
			}
		}
		t.Logf("%s: %d kills", c.experiment, done)
	}
}

// computeRun computes a run in a store of its own, in processes that are killed
// at the given moments after they start, and returns an artefact of it and how
// many processes the kills reached.
func computeRun(t *testing.T, request experiment.Request, artefact string, moments []time.Duration) (made []byte, killed int) {
	t.Helper()
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir) // whose key tells rows apart, for the processes too
	spec, err := request.Spec()
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for {
		cmd := exec.Command(self, "compute", r.Dir)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fatal := len(moments) > 0
		if fatal {
			time.AfterFunc(moments[0], func() { cmd.Process.Kill() })
			moments = moments[1:]
		}
		err := cmd.Wait()
		state, stateErr := r.State()
		if stateErr != nil {
			t.Fatal(stateErr)
		}
		if state == run.Finished {
			made, err := os.ReadFile(filepath.Join(r.Dir, "artefacts", artefact))
			if err != nil {
				t.Fatal(err)
			}
			return made, killed
		}
		if !fatal {
			t.Fatalf("the process left the run %s: %v\n%s", state, err, &said)
		}
		killed++
	}
}

// Whoever asks twice at once, as timeout(1) does, has asked once: the run is told to stop,
// and has stopped when the command ends, so that the same command goes on with it.
func TestTwoSignalsAtOnceStopTheRunToo(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"run", "dpswflow-r", "--research", "--set", "dataset=glyphs", "--set", "particles=3000", "--set", "steps=100000", "--set", "epsilon=5"}
	for range 4 {
		cmd := exec.Command(self, settings...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var r *run.Run
		for started := time.Now(); r == nil; time.Sleep(20 * time.Millisecond) {
			if time.Since(started) > time.Minute {
				t.Fatalf("no run after a minute: %s", said.String())
			}
			all, err := run.Store{Dir: dir}.List()
			if err == nil && len(all) == 1 && all[0].State == run.Running {
				r = all[0].Run
			}
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Process.Signal(os.Interrupt)
		err := cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("exit status %d, %v: %s", code, err, said.String())
		}
		if state, err := r.State(); err != nil || state != run.Interrupted {
			t.Fatalf("the command has ended, the run is %v, %v", state, err)
		}
	}
}
