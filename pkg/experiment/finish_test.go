package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// lengthy has a result that needs space, and counts how often it ran.
type lengthy struct{ ran *int }

func (lengthy) Describe() plugin.Info { return plugin.Info{Name: "lengthy", Version: "1"} }
func (lengthy) Config(experiment.Preset) experiment.Config {
	return &struct{ noConfig }{}
}
func (l lengthy) Run(context.Context, *run.Run, experiment.Config) (run.Result, error) {
	*l.ran++
	return run.Result{Note: strings.Repeat("long ", 1<<18)}, nil
}

type noConfig struct{}

func (noConfig) Check() error { return nil }

// A run whose result finds no space has failed, and nobody computes it any more: the
// process may live on. With space it is finished.
//
// The limit is on all files of a process, so that it is one of its own: `go test` writes one.
func TestAFullDiskAtTheEndFailsTheRun(t *testing.T) {
	const own = "MOLEHILL_TEST_FULL_DISK"
	if os.Getenv(own) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), own+"=1")
		if said, err := c.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, said)
		}
		return
	}
	ran := 0
	experiment.Registry.Register(lengthy{&ran})
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "lengthy"})
	signal.Ignore(syscall.SIGXFSZ)
	full := func(at uint64) {
		t.Helper()
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: at, Max: unix.RLIM_INFINITY}); err != nil {
			t.Fatal(err)
		}
	}
	defer full(unix.RLIM_INFINITY)
	for _, limit := range []uint64{1 << 17, 0} { // without space for the error too
		full(limit)
		err := experiment.Compute(t.Context(), r)
		if err == nil || !strings.Contains(err.Error(), "result.json") {
			t.Errorf("a limit of %d: %v", limit, err)
		}
		full(unix.RLIM_INFINITY)
		if state, err := r.State(); err != nil || state == run.Running || state == run.Finished {
			t.Errorf("a limit of %d: the run is %s (%v)", limit, state, err)
		}
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
	}
	// Who is interrupted before it begins does not begin.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := experiment.Compute(ctx, r); !errors.Is(err, context.Canceled) || ran != 2 {
		t.Errorf("%v after %d computations", err, ran)
	}
	if state, err := r.State(); err != nil || state == run.Running {
		t.Errorf("the run is %s (%v)", state, err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// stopped is interrupted while it runs, and then cannot write where it was.
type stopped struct {
	name string
	stop context.CancelFunc
	then error
}

func (s stopped) Describe() plugin.Info { return plugin.Info{Name: s.name, Version: "1"} }
func (stopped) Config(experiment.Preset) experiment.Config {
	return &struct{ noConfig }{}
}
func (s stopped) Run(context.Context, *run.Run, experiment.Config) (run.Result, error) {
	s.stop()
	return run.Result{}, s.then
}

// Who interrupts a run is told that its last state could not be kept, and is told nothing
// twice.
func TestAnInterruptionTellsWhatItCouldNotKeep(t *testing.T) {
	for name, c := range map[string]struct {
		then error
		want string
	}{
		"stopped-full":  {syscall.ENOSPC, "context canceled\nno space left on device"},
		"stopped-clean": {fmt.Errorf("step 3: %w", context.Canceled), "context canceled"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		experiment.Registry.Register(stopped{name, cancel, c.then})
		r := experimenttest.Acquired(t, experiment.Request{Experiment: name})
		if err := experiment.Compute(ctx, r); err == nil || err.Error() != c.want {
			t.Errorf("%s: %q, want %q", name, err, c.want)
		}
	}
}
