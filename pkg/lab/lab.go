// Package lab is the one import that most notebook cells need: it starts runs,
// watches them, and opens what they left.
//
//	r := lab.Run("sketch-flow", lab.Dataset("mnist"), lab.Epsilon(10))
//	viz.Show(r.Samples(64), r.Curve("sliced W₂"), r.Privacy())
//
// Several runs are put side by side by [Compare] and watched by [Watch]; [Sweep]
// makes those of a grid of settings; [Runs] lists what there is.
//
// A cell never computes an experiment itself. It asks the molehill program for
// a run and watches the run's directory, so a cell can be executed again, a
// kernel die and a browser close without losing work or spending budget twice.
//
// Mistakes and failures are shown below the cell and end it; a cell has nobody
// to return an error to.
package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"molehill/pkg/follow"
	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/viz"
)

// Option changes what is asked for.
type Option func(arguments []string) []string

func flag(words ...string) Option {
	return func(arguments []string) []string { return append(arguments, words...) }
}

// Dataset names the data set, "mnist" for example.
func Dataset(name string) Option { return Set("dataset", name) }

// Epsilon sets the ε that is to be proved. Inf asks for no privacy.
func Epsilon(epsilon float64) Option {
	return flag("--epsilon", strconv.FormatFloat(epsilon, 'g', -1, 64))
}

// Inf is ε = ∞.
var Inf = math.Inf(1)

// Set changes a setting by its name, as `molehill run --set` does.
func Set(name string, value any) Option { return flag("--set", name+"="+spelt(value)) }

// spelt is a value as settings are written: 1e6, a float64 in Go, may be a number of
// things.
func spelt(value any) string {
	if v, ok := value.(float64); ok && v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// Preset chooses "quick" (the default) or "paper".
func Preset(name string) Option { return flag("--preset", name) }

// Seed sets the seed of everything random but a release's noise.
func Seed(seed uint64) Option { return flag("--seed", strconv.FormatUint(seed, 10)) }

// Research takes the noise from the seed: repeatable by anyone, hence no
// protection for anybody.
func Research() Option { return flag("--research") }

// Name gives the run a name to open it by, on a terminal too. A name that another
// run has moves.
func Name(name string) Option { return flag("--name", name) }

// On says where to compute: "here", on this machine, or on "slurm", with options
// of sbatch's: lab.On("slurm", "--partition=gpu", "--gres=gpu:1").
func On(place string, options ...string) Option {
	words := []string{"--on", place}
	for _, option := range options {
		words = append(words, "--sbatch", option)
	}
	return flag(words...)
}

// Run starts an experiment, or attaches to the run that there is, shows its
// progress, and returns it when it is finished.
func Run(experiment string, options ...Option) *Result {
	r, err := start(experiment, options)
	if err == nil {
		err = wait(r)
	}
	return finished(r, err)
}

// Start starts an experiment, or attaches to the run that there is, and does
// not wait; Result.Wait does.
func Start(experiment string, options ...Option) *Result {
	return &Result{must(start(experiment, options))}
}

// Open returns a run by its ID, a name that it was given (Name), "experiment@digits"
// with some of the first digits of its ID, or the beginning of its ID.
func Open(id string) *Result {
	return &Result{must(must(run.DefaultStore()).Open(id))}
}

// Wait shows the run's progress and returns it when it is finished.
func (r *Result) Wait() *Result { return finished(r.Run, wait(r.Run)) }

func finished(r *run.Run, err error) *Result {
	return &Result{must(r, err)}
}

// fail shows an error and ends the cell. Outside a notebook, where Show is
// silent, the error goes to standard error.
func fail(err error) {
	if left, ok := errors.AsType[*leftError](err); ok {
		viz.Show("*" + left.Error() + "*") // no mistake of anybody's
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	viz.Show(err)
	os.Exit(1)
}

// must is a value for a cell; an error instead of it ends the cell.
func must[T any](value T, err error) T {
	if err != nil {
		fail(err)
	}
	return value
}

// start asks the molehill program for the run.
func start(experiment string, options []Option) (*run.Run, error) {
	arguments := []string{"run", experiment, "--detach", "--json"}
	for _, option := range options {
		arguments = option(arguments)
	}
	var answer struct{ Dir string }
	if err := ask(&answer, arguments...); err != nil {
		return nil, err
	}
	return run.Open(answer.Dir)
}

// program finds the molehill program once a cell.
var program = sync.OnceValues(func() (string, error) {
	ctx, stop := interruptible()
	defer stop()
	return launch.FindBinary(ctx)
})

// interruptible is for what an interrupted cell, or a kernel that ends, is to take with it:
// a build, or a program that measures.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// ask runs the molehill program and reads its JSON answer.
func ask(answer any, arguments ...string) error {
	binary, err := program()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	cmd := exec.CommandContext(ctx, binary, arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil && ctx.Err() != nil {
		return stopped(arguments[0])
	}
	if err != nil {
		said := mistake(complaint.String())
		if said == "" {
			said = err.Error()
		}
		return errors.New(said)
	}
	return json.Unmarshal(text, answer)
}

// stopped is what an interrupted cell is told of the command that it asked for: runs have
// processes of their own, which go on, and nothing else has.
func stopped(command string) error {
	if command == "run" || command == "sweep" {
		return errors.New("interrupted; what was begun goes on, and the same cell again comes back to it (`molehill runs` lists it, `molehill cancel RUN` stops it)")
	}
	return errors.New("interrupted; the same cell again begins anew")
}

// mistake is what the program ended with, of all that it said: notices, such as that it is
// slow here, go before.
func mistake(said string) string {
	const speaker = "molehill: "
	if at := strings.LastIndex("\n"+said, "\n"+speaker); at >= 0 {
		said = said[at+len(speaker):]
	}
	return strings.TrimSpace(said)
}

// leftError says that a cell was interrupted while it watched.
type leftError struct{ what, command string }

func (e *leftError) Error() string {
	return fmt.Sprintf("Stopped watching; %s goes on computing. Execute the cell again to come back, or stop it with `molehill cancel %s`.", e.what, e.command)
}

// wait watches the run to its end.
func wait(r *run.Run) error {
	if state, err := r.State(); err != nil || state == run.Finished {
		return err // nothing to show
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return settled(ctx, r, follow.Run(ctx, r, nil))
}

// settled says how a run has ended that was watched until done, or that it has
// not: then the cell that watches ends without a result.
func settled(ctx context.Context, r *run.Run, done error) error {
	if ctx.Err() != nil {
		return &leftError{run.Short(r.ID), run.Short(r.ID)}
	}
	state, err := r.State()
	switch {
	case done != nil:
		return done
	case err != nil:
		return err
	case state == run.Failed:
		return r.Failure()
	case state != run.Finished:
		return errors.Join(fmt.Errorf("%s is %s; execute the cell again to continue it", r.ID, state), r.Writable())
	}
	return nil
}
