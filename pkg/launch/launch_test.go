package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"molehill/pkg/run"
)

// This test binary stands in for the molehill command: "compute DIR" computes, and
// "compute --more DIR" what comes after.
// With $MOLEHILL_TEST_STORE it is a process that starts a run there and says
// what became of it, as a notebook cell would.
func TestMain(m *testing.M) {
	switch store := os.Getenv("MOLEHILL_TEST_STORE"); {
	case len(os.Args) == 4 && os.Args[1] == "compute" && os.Args[2] == "--more":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := Serve(ctx, os.Args[3], compute); err != nil {
			os.Exit(1)
		}
	case len(os.Args) >= 3 && os.Args[1] == "compute":
		for _, dir := range slices.DeleteFunc(os.Args[2:], func(word string) bool { return word == "--in-job" }) {
			if err := compute(dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	case store != "":
		_, started, err := Local{Binary: os.Args[0]}.Start(context.Background(), run.Store{Dir: store}, slow)
		fmt.Println(started, err)
	default:
		os.Exit(m.Run())
	}
}

var (
	slow   = run.Spec{Experiment: "slow"}   // takes 500 ms
	quick  = run.Spec{Experiment: "quick"}  // takes no time
	fails  = run.Spec{Experiment: "fails"}  // gives up at once
	crash  = run.Spec{Experiment: "crash"}  // dies before it computes
	silent = run.Spec{Experiment: "silent"} // does nothing, and says so to nobody
)

func compute(dir string) error {
	r, err := run.Open(dir)
	if err != nil {
		return err
	}
	switch r.Spec.Experiment {
	case "crash":
		fmt.Println(strings.Repeat("before\n", 10_000) + "cannot find libfoo.so")
		os.Exit(3)
	case "silent":
		return nil
	case "hesitant": // in its first life
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, os.Interrupt)
		if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "hesitates"), nil, 0o644); err != nil {
			return err
		}
		select {
		case <-asked:
			return nil
		case <-time.After(3 * time.Second):
		}
	}
	if err := r.Acquire(); err != nil {
		return err
	}
	// Each computation leaves a mark of its own.
	mark, err := os.OpenFile(filepath.Join(filepath.Dir(dir), "marks"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	sid, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	fmt.Fprintf(mark, "pid=%d sid=%d GODEBUG=%s\n", os.Getpid(), sid, os.Getenv("GODEBUG"))
	switch r.Spec.Experiment {
	case "loud":
		fmt.Printf("this is %d\n", r.Spec.Seed)
	case "fails":
		return r.Fail(errors.New("the loss is NaN"))
	case "wordy":
		err := errors.New(strings.Repeat("no memory; ", 10_000))
		return errors.Join(err, r.Fail(err))
	case "slow":
		time.Sleep(500 * time.Millisecond)
	case "patient": // in its first life
		lives, err := r.Provenance()
		if err != nil || len(lives) > 1 {
			return errors.Join(err, r.Finish(run.Result{}))
		}
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
		<-asked
		return r.Release()
	}
	return r.Finish(run.Result{})
}

func marks(t *testing.T, s run.Store) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, "marks"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func start(t *testing.T, s run.Store, spec run.Spec) (*run.Run, bool) {
	t.Helper()
	r, started, err := Local{Binary: os.Args[0]}.Start(t.Context(), s, spec)
	if err != nil {
		t.Fatal(err)
	}
	return r, started
}

// starter is a process that starts the slow run in s.
func starter(s run.Store) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MOLEHILL_TEST_STORE="+s.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func TestManyStartersOneComputation(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	answers := make(chan string)
	const starters = 6
	for range starters {
		go func() {
			out, err := starter(s).CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			answers <- strings.TrimSpace(string(out))
		}()
	}
	var got []string
	for range starters {
		got = append(got, <-answers)
	}
	slices.Sort(got)
	want := slices.Repeat([]string{"false <nil>"}, starters-1)
	if want = append(want, "true <nil>"); !slices.Equal(got, want) {
		t.Errorf("expected one to have started it and all to be content, found %q", got)
	}
	r, started := start(t, s, slow)
	if _, err := r.Wait(t.Context()); err != nil || started {
		t.Errorf("started again: %v, %v", started, err)
	}
	if computed := marks(t, s); len(computed) != 1 {
		t.Errorf("computed %d times: %q", len(computed), computed)
	}
}

func TestFinishedRunIsNotStarted(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	r, started := start(t, s, quick)
	if _, err := r.Wait(t.Context()); err != nil || !started {
		t.Fatalf("started %v, %v", started, err)
	}
	began := time.Now()
	r, started = start(t, s, quick)
	if _, err := r.Result(); err != nil || started || time.Since(began) > time.Second {
		t.Errorf("started %v, %v, after %v", started, err, time.Since(began))
	}
	if computed := marks(t, s); len(computed) != 1 {
		t.Errorf("computed %d times: %q", len(computed), computed)
	}
}

// The cell that started a run dies, and its whole process group with it; the
// run goes on, in a session of its own.
func TestRunOutlivesItsStarter(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	cmd := starter(s)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := s.Create(slow)
	if err != nil {
		t.Fatal(err)
	}
	for state := run.Pending; state != run.Running; state, err = r.State() {
		if time.Sleep(5 * time.Millisecond); err != nil || state == run.Finished {
			t.Fatalf("expected to see it running, found %s (%v)", state, err)
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, or just done
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var pid, sid int
	if _, err := fmt.Sscanf(marks(t, s)[0], "pid=%d sid=%d", &pid, &sid); err != nil || pid != sid {
		t.Errorf("expected process %d to lead its session, found %d (%v)", pid, sid, err)
	}
}

func TestEarlyDeathShowsTheLog(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	for _, c := range []struct {
		spec run.Spec
		says []string
	}{
		{crash, []string{"exit status 3", "cannot find libfoo.so", "before", "log.txt"}},
		{silent, []string{"all is well", "(nothing)"}},
	} {
		r, started, err := Local{Binary: os.Args[0]}.Start(t.Context(), s, c.spec)
		if err == nil || r == nil || started {
			t.Fatalf("%s: started %v, %v", c.spec.Experiment, started, err)
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: expected an error that says %q, found %v", c.spec.Experiment, part, err)
			}
		}
		if len(err.Error()) > 6<<10 {
			t.Errorf("%s: the error has %d bytes", c.spec.Experiment, len(err.Error()))
		}
	}
	if _, _, err := (Local{Binary: filepath.Join(s.Dir, "none")}).Start(t.Context(), s, quick); err == nil || !strings.Contains(err.Error(), "MOLEHILL_BIN") {
		t.Errorf("a command that is not there: %v", err)
	}
	if _, _, err := (Local{Binary: os.Args[0]}).Start(t.Context(), s, run.Spec{}); err == nil {
		t.Error("a spec without an experiment was started")
	}
}

// A run that failed is tried again when it is asked for again.
func TestFailedRunIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	for try := 1; try <= 2; try++ {
		r, _, err := Local{Binary: os.Args[0]}.Start(t.Context(), s, fails)
		if err == nil { // seen while it was running
			_, err = r.Wait(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "the loss is NaN") {
			t.Errorf("expected the failure, found %v", err)
		}
		if computed := marks(t, s); len(computed) != try {
			t.Errorf("computed %d times, expected %d", len(computed), try)
		}
	}
}

func TestContextEndsOnlyTheWaiting(t *testing.T) {
	t.Parallel()
	s := run.Store{Dir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, _, err := Local{Binary: os.Args[0]}.Start(ctx, s, quick)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
