package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/experiment"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// start asks for a run: it starts it in a process of its own, or finds the
// one that computes it, and watches.
func start() *cobra.Command {
	var (
		asked  asking
		where  placing
		called string
		detach bool
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "run an experiment, or continue it, or show it if it is finished",
		Long: `Run an experiment in a process of its own, and watch it. The same command again
finds the same run: it watches if it is being computed, continues if it was
interrupted, and answers at once if it is finished. Ctrl-C stops watching and
the computation; with --detach nothing is watched and nothing stopped, and
` + "`molehill watch`" + ` comes back to it.

` + "`molehill list experiments`" + ` tells which there are, and ` + "`molehill list EXPERIMENT`" + ` the
settings of one and what they mean, for --set.`,
		Example: "  molehill run sketch-flow --epsilon 1\n  molehill run dpswflow-r --preset paper --epsilon 10 --set published=true --set stack=false --set directions=70",
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := asked.request(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("name") {
				if err := run.CheckName(called); err != nil { // before anything is computed
					return err
				}
			}
			spec, err := request.Spec()
			if err != nil {
				return err
			}
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			place, err := where.place()
			if err != nil {
				return err
			}
			if _, err := Preview(cmd, store, spec); err != nil {
				return err
			}
			// Who is interrupted meanwhile has started a run, which Watch stops then.
			r, _, err := place.Start(context.WithoutCancel(cmd.Context()), store, spec)
			if r != nil && called != "" { // also one that failed at once
				if unnamed := giveName(cmd.ErrOrStderr(), store, r, called); err == nil {
					err = unnamed
				}
			}
			if err != nil {
				return plainly(err)
			}
			if !detach {
				if err := Watch(cmd, r); err != nil {
					return err
				}
			}
			return Describe(cmd.OutOrStdout(), r, asJSON)
		},
	}
	flags := cmd.Flags()
	asked.add(flags)
	where.add(flags)
	flags.StringVar(&called, "name", "", "a name to call the run by, instead of its ID")
	flags.BoolVar(&detach, "detach", false, "do not watch")
	flags.BoolVar(&asJSON, "json", false, "print the run as JSON")
	return cmd
}

// Preview tells what a run's keeper is told before it is paid for, and reports whether
// asking for it costs nothing more (experiment.Preview).
func Preview(cmd *cobra.Command, store run.Store, spec run.Spec) (again bool, err error) {
	return experiment.Preview(cmd.Context(), before(cmd.ErrOrStderr(), store, spec))
}

// before is a run that is asked for on a terminal.
func before(to io.Writer, store run.Store, spec run.Spec) experiment.Before {
	return experiment.Before{Store: store, Spec: spec, To: to, Work: Work}
}

// Work tells people on a terminal of work that takes long.
func Work(title string, steps int) experiment.Work { return cli.NewProgress(title, steps) }

// plainly is why a run failed, where it did before anybody could watch it, without what its
// process printed of that; and any other error.
func plainly(err error) error {
	if failed, ok := errors.AsType[*run.FailedError](err); ok {
		return failed
	}
	return err
}

func resume() *cobra.Command {
	var where placing
	var detach bool
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "go on with a run that was interrupted or has failed, from its last checkpoint",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := find(args[0])
			if err != nil {
				return err
			}
			place, err := where.place()
			if err != nil {
				return err
			}
			if _, err := place.Resume(context.WithoutCancel(cmd.Context()), r); err != nil { // as above
				return plainly(err)
			}
			if !detach {
				if err := Watch(cmd, r); err != nil {
					return err
				}
			}
			return Describe(cmd.OutOrStdout(), r, false)
		},
	}
	where.add(cmd.Flags())
	cmd.Flags().BoolVar(&detach, "detach", false, "do not watch")
	return cmd
}

// compute is what a started process runs: it computes the runs of directories, one
// after the other.
func compute() *cobra.Command {
	var inJob, more bool
	cmd := &cobra.Command{
		Use:    "compute DIRECTORY...",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := experiment.Keeping(cmd.Context())
			if more {
				return launch.Serve(ctx, args[0], func(dir string) error {
					return computeIn(ctx, cmd.ErrOrStderr(), dir, false)
				})
			}
			var failed []error
			for _, dir := range args {
				if err := ctx.Err(); err != nil {
					return errors.Join(append(failed, err)...)
				}
				failed = append(failed, computeIn(ctx, cmd.ErrOrStderr(), dir, inJob && requeued()))
			}
			return errors.Join(failed...)
		},
	}
	cmd.Flags().BoolVar(&more, "more", false, "compute further runs, which standard input names")
	cmd.Flags().BoolVar(&inJob, "in-job", false, "this process is a job of Slurm's")
	return cmd
}

// computeIn computes the run of a directory, unless another process does; a patient one
// waits for the lock.
func computeIn(ctx context.Context, log io.Writer, dir string, patient bool) error {
	r, err := run.Open(dir)
	if err != nil {
		return err
	}
	// The folder of runs is the one that this run lies in, whatever the environment of a
	// cluster's job says.
	if err := os.Setenv("MOLEHILL_RUNS", r.Store().Dir); err != nil {
		return err
	}
	switch err := acquire(ctx, r, patient); {
	case errors.Is(err, run.ErrFinished):
		return nil // another process was faster
	case errors.Is(err, run.ErrBusy) && !patient:
		owner, _ := r.Owner() // for the log alone
		fmt.Fprintf(log, "%s is computed by process %d on %s already\n", r.ID, owner.PID, owner.Host)
		return nil
	case err != nil:
		return err
	}
	return experiment.Compute(ctx, r)
}

// lease is how long a requeued job waits for a lock. Where the node died that computed
// before, a file server keeps its locks until their lease is over, 90 s as a rule.
const lease = 4 * time.Minute

// requeued reports whether the job of Slurm's that this process is in ran before.
func requeued() bool { return os.Getenv("SLURM_RESTART_COUNT") != "" }

// acquire is the run's Acquire, which a patient process repeats.
func acquire(ctx context.Context, r *run.Run, patient bool) error {
	for begun := time.Now(); ; {
		err := r.Acquire()
		if !errors.Is(err, run.ErrBusy) || !patient || time.Since(begun) > lease {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
