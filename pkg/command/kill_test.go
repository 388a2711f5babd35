package command

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
)

// A private flow that is killed (SIGKILL) at random moments and started again
// ends with the particles of one that was left alone, bit by bit: five kills,
// fifty in a thorough run. Research noise makes the two comparable; that a
// secret key survives a kill is tested in pkg/run.
func TestKilledFlowsEndTheSame(t *testing.T) {
	kills := 5
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		kills = 50
	}
	rng := rand.New(rand.NewPCG(20, 26))
	done := 0
	for seed := uint64(1); done < kills; seed++ {
		request := experiment.Request{Experiment: "dpswflow-r", Seed: seed, Research: true, Settings: map[string]string{
			"dataset": "glyphs", "particles": "3000", "steps": "600", "epsilon": "5"}}
		want, _ := computeRun(t, request, nil)
		var moments []time.Duration
		for range kills - done {
			moments = append(moments, time.Duration(rng.Int64N(int64(2500*time.Millisecond))))
		}
		got, killed := computeRun(t, request, moments)
		if killed == 0 {
			t.Fatal("no kill came before the run was finished; the test has lost its power")
		}
		done += killed
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: after %d kills the particles differ from those of a run left alone", seed, killed)
		}
	}
	t.Logf("%d kills", done)
}

// computeRun computes a run in a store of its own, in processes that are killed
// at the given moments after they start, and returns its particles and how many
// processes the kills reached.
func computeRun(t *testing.T, request experiment.Request, moments []time.Duration) (particles []byte, killed int) {
	t.Helper()
	r := experimenttest.Prepared(t, request)
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
			particles, err := os.ReadFile(filepath.Join(r.Dir, "artefacts", "particles.npy"))
			if err != nil {
				t.Fatal(err)
			}
			return particles, killed
		}
		if !fatal {
			t.Fatalf("the process left the run %s: %v\n%s", state, err, &said)
		}
		killed++
	}
}
