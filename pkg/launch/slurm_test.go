package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molehill/pkg/launch/slurmtest"
	"molehill/pkg/run"
)

// made returns a new run of an experiment for each seed.
func made(t *testing.T, s run.Store, experiment string, seeds int) (runs []*run.Run) {
	t.Helper()
	for seed := range seeds {
		r, err := s.Create(run.Spec{Experiment: experiment, Seed: uint64(seed)})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}

// awaitState waits until a run has a state.
func awaitState(t *testing.T, r *run.Run, want run.State) {
	t.Helper()
	var state run.State
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if state, err = r.State(); err != nil || state == want {
			break
		}
	}
	if state != want {
		t.Fatalf("%s is %s, %v; want %s", r.ID, state, err, want)
	}
}

// settled waits until the cluster does nothing about a run any more.
func settled(t *testing.T, r *run.Run) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		jobs, states, err := jobsOf(t.Context(), []*run.Run{r})
		if err != nil {
			t.Fatal(err)
		}
		job := jobs[r.ID]
		if !states[keyOf(job)].alive() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %s of %s is still %s", job.ID, r.ID, states[keyOf(job)].State)
		}
	}
}

// thorough skips what takes seconds.
func thorough(t *testing.T) {
	t.Helper()
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("slow; MOLEHILL_THOROUGH=1 runs it")
	}
}

func TestSlurm(t *testing.T) {
	slurmtest.Start(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cluster := Slurm{Binary: os.Args[0]}
	submit := func(t *testing.T, runs []*run.Run, atATime, want int) {
		t.Helper()
		n, err := cluster.Submit(ctx, "test", runs, atATime)
		if err != nil || n != want {
			t.Fatalf("%d of %d runs were submitted, %v; want %d", n, len(runs), err, want)
		}
	}

	t.Run("each run has its own end", func(t *testing.T) {
		thorough(t)
		s := run.Store{Dir: filepath.Join(t.TempDir(), "it's a shared folder")}
		finished, _ := start(t, s, run.Spec{Experiment: "quick", Seed: 7})
		awaitState(t, finished, run.Finished)
		runs := []*run.Run{finished}
		for _, experiment := range []string{"quick", "slow", "fails", "crash"} {
			runs = append(runs, made(t, s, experiment, 1)...)
		}
		submit(t, runs, 0, 4)
		var told []string
		for _, r := range runs[1:4] {
			if err := Await(ctx, r, func(text string) { told = append(told, text) }); err != nil {
				t.Error(err)
			}
			_, err := r.Wait(ctx)
			if failed := r.Spec.Experiment == "fails"; failed != (err != nil) || failed && !strings.Contains(err.Error(), "the loss is NaN") {
				t.Errorf("%s ended with %v", r.ID, err)
			}
			if owner, err := r.Owner(); err != nil || owner.Host != slurmtest.Node {
				t.Errorf("%s was computed on %+v, %v", r.ID, owner, err)
			}
		}
		crashed := runs[4]
		err := Await(ctx, crashed, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "cannot find libfoo.so") || !strings.Contains(err.Error(), "computed nothing of "+crashed.ID) {
			t.Errorf("a job that dies before it computes: %v", err)
		}
		for _, r := range runs {
			settled(t, r)
		}
		submit(t, runs, 0, 2) // what failed and what crashed, and nothing else
		for _, r := range runs {
			settled(t, r)
		}
		if n := len(marks(t, s)); n != 5 {
			t.Errorf("%d computations, want those of four runs and the failed one again", n)
		}
		t.Logf("told: %q", told)
	})

	t.Run("cancelled in the queue and under way, and continued", func(t *testing.T) {
		s := run.Store{Dir: t.TempDir()}
		runs := made(t, s, "patient", 2)
		submit(t, runs, 1, 2)
		first, second := runs[0], runs[1]
		awaitState(t, first, run.Running)
		queued, err := Queued(ctx, runs...)
		if err != nil || len(queued) != 1 || !strings.Contains(queued[second.ID], "queued as Slurm job") {
			t.Errorf("queued: %v, %v; want the second run", queued, err)
		}
		submit(t, runs, 1, 0) // nothing twice
		if started, err := (Local{Binary: os.Args[0]}).Resume(ctx, second); started || err != nil {
			t.Errorf("what waits in the queue was started here: %v, %v", started, err)
		}
		// A folder that was copied from elsewhere may name the number of somebody's job.
		job, _, err := first.Job()
		stranger := made(t, run.Store{Dir: t.TempDir()}, "quick", 1)[0]
		job.Name = "molehill-test-elsewhere"
		if err := errors.Join(err, stranger.Submitted(job)); err != nil {
			t.Fatal(err)
		}
		if err := Cancel(ctx, stranger); !errors.Is(err, run.ErrIdle) {
			t.Errorf("cancelling what another cluster was given: %v", err)
		}
		for _, both := range [][]*run.Run{{stranger, first}, {first, stranger}} {
			if waiting, err := idle(ctx, both); err != nil || len(waiting) != 1 || waiting[0] != stranger {
				t.Errorf("%d of what another cluster was given and what runs may be started here, %v", len(waiting), err)
			}
		}
		for _, r := range []*run.Run{second, first} {
			if err := Cancel(ctx, r); err != nil {
				t.Error(err)
			}
		}
		awaitState(t, first, run.Interrupted)
		settled(t, first)
		settled(t, second)
		if state, err := second.State(); state != run.Pending || err != nil {
			t.Errorf("cancelled in the queue it is %s, %v", state, err)
		}
		if err := Await(ctx, second, func(string) {}); err == nil || !strings.Contains(err.Error(), "cancelled before it began") {
			t.Errorf("waiting for what was cancelled: %v", err)
		}
		if err := Cancel(ctx, second); !errors.Is(err, run.ErrIdle) {
			t.Errorf("cancelled again: %v", err)
		}
		submit(t, runs[:1], 0, 1)
		awaitState(t, first, run.Finished)
	})

	t.Run("more runs than an array has tasks", func(t *testing.T) {
		thorough(t)
		runs := made(t, run.Store{Dir: t.TempDir()}, "quick", 13) // MaxArraySize is 11
		submit(t, runs, 0, 13)
		jobs, _, err := jobsOf(ctx, runs)
		arrays, tasks := map[string]bool{}, map[string]bool{}
		for _, job := range jobs {
			array, _, _ := strings.Cut(job.ID, "_")
			arrays[array], tasks[job.ID] = true, true
		}
		if err != nil || len(arrays) != 1 || len(tasks) != 10 {
			t.Errorf("%d array jobs with %d tasks, %v; want 1 with 10", len(arrays), len(tasks), err)
		}
		for _, r := range runs {
			awaitState(t, r, run.Finished)
		}
	})

	t.Run("cancelling one of a task's runs", func(t *testing.T) {
		runs := made(t, run.Store{Dir: t.TempDir()}, "patient", 11) // two of them are a task
		submit(t, runs, 1, 11)
		awaitState(t, runs[0], run.Running)
		if err := Cancel(ctx, runs[10]); err == nil || !strings.Contains(err.Error(), "computes "+runs[0].ID+" too") {
			t.Errorf("cancelling what waits behind another run: %v", err)
		}
		if state, err := runs[0].State(); state != run.Running || err != nil {
			t.Errorf("the other run is %s, %v", state, err)
		}
		if err := Cancel(ctx, runs[1]); err != nil { // a task of its own
			t.Error(err)
		}
		job, _, err := runs[0].Job()
		array, _, _ := strings.Cut(job.ID, "_")
		if err := errors.Join(err, cancelJobs(ctx, array)); err != nil {
			t.Fatal(err)
		}
		awaitState(t, runs[0], run.Interrupted)
		settled(t, runs[0])
	})

	t.Run("two submit at once", func(t *testing.T) {
		thorough(t)
		runs := made(t, run.Store{Dir: t.TempDir()}, "slow", 3)
		var wait sync.WaitGroup
		var total [4]int
		for i := range total {
			wait.Go(func() {
				n, err := cluster.Submit(ctx, "test", runs, 0)
				if err != nil {
					t.Error(err)
				}
				total[i] = n
			})
		}
		wait.Wait()
		if sum := total[0] + total[1] + total[2] + total[3]; sum != 3 {
			t.Errorf("submitted %v, want each of 3 runs once", total)
		}
		for _, r := range runs {
			awaitState(t, r, run.Finished)
			if lives, err := r.Provenance(); err != nil || len(lives) != 1 {
				t.Errorf("%s was computed by %d processes, %v", r.ID, len(lives), err)
			}
		}
	})

	t.Run("options that Slurm refuses", func(t *testing.T) {
		refused := cluster
		refused.Options = []string{"--partition=nowhere"}
		r := made(t, run.Store{Dir: t.TempDir()}, "quick", 1)[0]
		if _, err := refused.Resume(ctx, r); err == nil || !strings.Contains(err.Error(), "invalid partition") {
			t.Errorf("error %v", err)
		}
		if _, found, err := r.Job(); found || err != nil {
			t.Errorf("it was given a job: %v, %v", found, err)
		}
	})
}

func TestNoSlurmIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := made(t, run.Store{Dir: t.TempDir()}, "quick", 1)[0]
	if _, err := (Slurm{Binary: os.Args[0]}).Resume(t.Context(), r); !errors.Is(err, ErrNoSlurm) {
		t.Errorf("error %v", err)
	}
	// A run that came from a cluster is looked at as any other.
	if err := r.Submitted(run.Job{Scheduler: slurm, ID: "12_0"}); err != nil {
		t.Fatal(err)
	}
	if queued, err := Queued(t.Context(), r); len(queued) != 0 || err != nil {
		t.Errorf("queued: %v, %v", queued, err)
	}
	if err := Cancel(t.Context(), r); !errors.Is(err, run.ErrIdle) {
		t.Errorf("cancelling: %v", err)
	}
}

func TestScriptQuotes(t *testing.T) {
	got := script("/it's here/molehill", [][]*run.Run{{{Dir: "/a b"}}, {{Dir: "/$HOME"}, {Dir: "/c;d"}}})
	for _, want := range []string{`0) (umask 077; : >>'/a b/log.txt'); exec '/it'\''s here/molehill' compute --in-job '/a b' >>'/a b/log.txt' 2>&1 ;;`, `1) exec '/it'\''s here/molehill' compute --in-job '/$HOME' '/c;d' ;;`} {
		if !strings.Contains(got, want) {
			t.Errorf("the script lacks %s:\n%s", want, got)
		}
	}
	for n, want := range map[int]string{1: "[3]", 2: "[2 1]", 5: "[1 1 1]"} {
		var sizes []int
		for _, task := range deal(make([]*run.Run, 3), n) {
			sizes = append(sizes, len(task))
		}
		if fmt.Sprint(sizes) != want {
			t.Errorf("3 runs in %d tasks: %v, want %s", n, sizes, want)
		}
	}
}
