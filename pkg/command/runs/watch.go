package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/compare"
	"molehill/pkg/follow"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

func watch() *cobra.Command {
	return &cobra.Command{
		Use:   "watch RUN|SWEEP...",
		Short: "watch what is being computed; Ctrl-C stops watching and nothing else",
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, sweeps, err := findAll(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if len(runs) == 1 && len(sweeps) == 0 {
				err = follow.Run(ctx, runs[0], nil)
			} else {
				var compared compare.Comparison
				if compared, err = compare.Runs(runs); err == nil {
					attention := attention{runs: runs, labels: compared.Labels, working: func() bool { return working(sweeps) }}
					_, err = attention.pay(ctx, cmd.ErrOrStderr())
				}
			}
			if ctx.Err() != nil {
				fmt.Fprintln(cmd.OutOrStdout(), "stopped watching; what is computed goes on")
				return nil
			}
			if err != nil {
				return err
			}
			if len(runs) == 1 {
				if err := Describe(cmd.OutOrStdout(), runs[0], false); err != nil {
					return err
				}
				if state, err := runs[0].State(); err != nil || state == run.Failed {
					return errors.Join(err, runs[0].Failure())
				}
				return nil
			}
			compared, err := compare.Runs(runs)
			if err != nil {
				return err
			}
			table, err := compared.Table()
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), table)
			return nil
		},
	}
}

// Watch shows a run's progress until it ends. When the command is interrupted,
// it interrupts the run too: who wants to leave it running says --detach.
func Watch(cmd *cobra.Command, r *run.Run) error {
	graphs := watchGraphs(cmd.ErrOrStderr())
	if err := follow.Run(cmd.Context(), r, func() { graphs.look(r) }); err != nil && cmd.Context().Err() == nil {
		return err
	}
	if cmd.Context().Err() != nil {
		return &cli.Interrupted{Next: "the same command continues" + cancelled(r) + paid(r)}
	}
	state, err := r.State()
	switch {
	case err != nil:
		return err
	case state == run.Failed:
		return withReceipt(r, r.Failure())
	case state == run.Interrupted:
		return errors.Join(fmt.Errorf("%s was interrupted; the same command continues it%s", r.ID, paid(r)), r.Writable())
	}
	return nil
}

// paid is what an interrupted run has paid, "" if it has not.
func paid(r *run.Run) string {
	receipt, err := r.Receipt()
	if err != nil || receipt == "" {
		return ""
	}
	return fmt.Sprintf("\nIt has paid: %s. To continue costs nothing more", receipt)
}

// withReceipt adds to why a run failed what it has paid all the same.
func withReceipt(r *run.Run, failure error) error {
	receipt, err := r.Receipt()
	if failure == nil || err != nil || receipt == "" {
		return failure
	}
	again := "on the same data goes on from there at no further cost"
	if failed, ok := errors.AsType[*run.FailedError](failure); ok && failed.Recurs {
		again = "would fail again"
	}
	return fmt.Errorf("%w\nIt has paid: %s. The same request %s; with other data or settings it is another run, which pays for itself", failure, receipt, again)
}

// cancelled stops the computation, or takes it from the queue of a cluster.
func cancelled(r *run.Run) string {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second) // the command's has ended
	defer stop()
	if err := launch.Cancel(ctx, r); err != nil && !errors.Is(err, run.ErrIdle) {
		return fmt.Sprintf("; the run goes on: %v", err)
	}
	// Before, the same command would find a run that ends.
	if ended, err := endsWithin(ctx, r, 10*time.Second); !ended && err == nil {
		return "; the run stops at the end of its step, `molehill runs` says when"
	}
	return ""
}

// findAll opens runs, and the runs of sweeps.
func findAll(called []string) (runs []*run.Run, sweeps []*run.Sweep, err error) {
	store, err := run.DefaultStore()
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	add := func(r *run.Run) {
		if !seen[r.ID] {
			seen[r.ID] = true
			runs = append(runs, r)
		}
	}
	for _, c := range called {
		r, err := store.Open(c)
		if err == nil {
			add(r)
			continue
		}
		sweep, none := store.OpenSweep(c)
		switch {
		case none == nil && (errors.Is(err, run.ErrUnknown) || sweep.ID == c):
		case none == nil || errors.Is(none, run.ErrUnknown):
			return nil, nil, err // runs are what most people mean
		default:
			return nil, nil, none
		}
		sweeps = append(sweeps, sweep)
		of, _ := sweep.Open() // a deleted one is none of it any more
		for _, r := range of {
			add(r)
		}
	}
	return runs, sweeps, nil
}
