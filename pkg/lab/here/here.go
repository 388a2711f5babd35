// Package here computes experiments in the very process of a notebook cell:
// those whose code no other program has, because the cell declares it.
//
//	type scatter struct{}
//	// … Describe, Config and Run: an experiment.Experiment
//
//	%%
//	r := here.Run(scatter{}, lab.Epsilon(1))
//	viz.Show(r.Curve("distance"), r.Privacy())
//
// The run is one like all others: a directory with its lock, events,
// checkpoints and statement, visible from every terminal and notebook, paid for
// in the same ledger. Interrupt the cell, or lose the kernel, and executing the
// cell again goes on from the last checkpoint. Only no terminal can start it, and
// it ends with its kernel (a closed browser does not stop one).
//
// A change of the code is another run: its version has a digest of the
// declarations that the experiment is made of.
package here

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"molehill/pkg/experiment"
	"molehill/pkg/follow"
	"molehill/pkg/lab"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	_ "molehill/privacy/ledger/postgres" // what is computed here is paid here
	_ "molehill/privacy/ledger/sqlite"
	"molehill/viz"
)

// Run computes an experiment in this process and shows its progress, and returns
// the run when it is finished: at once if it was. Where another process computes
// the same run it is watched. Mistakes and failures are shown below the cell and
// end it.
func Run(e experiment.Experiment, options ...lab.Option) *lab.Result {
	r, err := start(e, caller(), options)
	if err == nil {
		var ours bool
		if ours, err = compute(r); err == nil && !ours {
			return (&lab.Result{Run: r}).Wait()
		}
	}
	if _, ok := errors.AsType[*leftError](err); ok {
		fmt.Fprintln(os.Stderr, "here:", err)
		viz.Show("*" + err.Error() + "*") // no mistake of anybody's
		os.Exit(130)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "here:", err)
		viz.Show(err)
		os.Exit(1)
	}
	return &lab.Result{Run: r}
}

// leftError says that a cell was interrupted while it computed.
type leftError struct{ what string }

func (e *leftError) Error() string {
	return e.what + ". Execute the cell again to go on from its last checkpoint."
}

// place is where the code of an experiment is: a package, and its folder.
type place struct{ path, dir string }

// caller is the package that called Run.
func caller() place {
	pc, file, _, ok := runtime.Caller(2)
	if !ok {
		return place{}
	}
	return place{plugin.PackageOf(runtime.FuncForPC(pc).Name()), filepath.Dir(file)}
}

// start registers the experiment in this process and makes, or finds, the run
// that is asked for.
func start(e experiment.Experiment, home place, options []lab.Option) (*run.Run, error) {
	name, err := register(e, home)
	if err != nil {
		return nil, err
	}
	request, called, err := parse(name, options)
	if err != nil {
		return nil, err
	}
	spec, err := request.Spec()
	if err != nil {
		return nil, err
	}
	store, err := run.DefaultStore()
	if err != nil {
		return nil, err
	}
	if err := experiment.CheckNew(store, spec); err != nil {
		return nil, err
	}
	r, err := store.Create(spec)
	if err == nil && called != "" {
		_, err = store.Name(r, called)
	}
	return r, err
}

// register makes e known to this process, with a digest of its code.
func register(e experiment.Experiment, home place) (name string, err error) {
	err = plugin.Guard("experiment", fmt.Sprintf("%T", e), "Describe", func() error {
		name = e.Describe().Name
		return nil
	})
	if err != nil {
		return "", err
	}
	mine := experiment.Here{Experiment: e, Code: digest(e, home)}
	there, err := experiment.Registry.Lookup(name)
	if _, ok := errors.AsType[*plugin.UnknownError](err); ok {
		experiment.Registry.Register(mine)
		there, err = experiment.Registry.Lookup(name)
	}
	if err != nil {
		return "", err
	}
	if before, ok := there.(experiment.Here); !ok || before.Code != mine.Code {
		return "", fmt.Errorf("experiment %q: another one of this name is registered in this process; give yours another name", name)
	}
	return name, nil
}

// parse reads options as `molehill run` does. called is the name that the run is
// to have, "" for none.
func parse(name string, options []lab.Option) (request experiment.Request, called string, err error) {
	request = experiment.Request{Experiment: name, Settings: map[string]string{}}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("preset", "", func(value string) error {
		request.Preset = experiment.Preset(value)
		return nil
	})
	flags.Uint64Var(&request.Seed, "seed", 1, "")
	flags.BoolVar(&request.Research, "research", false, "")
	flags.StringVar(&called, "name", "", "")
	var twice error
	set := func(setting, to string) error {
		if before, given := request.Settings[setting]; given && twice == nil {
			twice = fmt.Errorf("%s is set to %s, and to %s; give one of them", setting, before, to)
		}
		request.Settings[setting] = to
		return nil
	}
	flags.Func("epsilon", "", func(value string) error { return set("epsilon", value) })
	flags.Func("set", "", func(value string) error {
		setting, to, _ := strings.Cut(value, "=")
		return set(setting, to)
	})
	flags.Func("on", "", func(place string) error {
		if place != "here" {
			return fmt.Errorf("only this process has the code of %s; leave lab.On out, or make a plug-in of it: `molehill new plugin %[1]s`", name)
		}
		return nil
	})
	var arguments []string
	for _, option := range options {
		arguments = option(arguments)
	}
	if err = flags.Parse(arguments); err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("found %q", flags.Args())
	}
	if err != nil {
		return request, "", fmt.Errorf("an option that has no meaning for what a cell computes itself: %w", err)
	}
	return request, called, twice
}

// compute computes the run if nobody does; ours is false where somebody else
// does.
func compute(r *run.Run) (ours bool, err error) {
	switch err := r.Acquire(); {
	case errors.Is(err, run.ErrFinished):
		return true, nil
	case errors.Is(err, run.ErrBusy):
		return false, nil
	case err != nil:
		return false, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process wherever it is
	computed := make(chan error, 1)
	go func() { computed <- experiment.Compute(ctx, r) }()
	// Watching ends with the computation, not with ctx: what is shown last is how
	// far it came.
	_ = follow.Run(context.Background(), r, nil) // the computation's own error says more
	if err := <-computed; !errors.Is(err, context.Canceled) {
		return true, err
	}
	return true, &leftError{fmt.Sprintf("%s is interrupted%s", run.Short(r.ID), lastStep(r))}
}

// lastStep says how far a run has come.
func lastStep(r *run.Run) string {
	events, err := r.Events()
	if err != nil || len(events) == 0 {
		return ""
	}
	last := events[len(events)-1]
	if last.Total < 1 {
		return fmt.Sprintf(" after step %d", last.Step)
	}
	return fmt.Sprintf(" after step %d of %d", last.Step, last.Total)
}
