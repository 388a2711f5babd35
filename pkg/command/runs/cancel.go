package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/launch"
	"molehill/pkg/run"
)

func cancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN|SWEEP...",
		Short: "interrupt what is being computed, or take it from a cluster's queue; it can be continued",
		RunE: func(cmd *cobra.Command, args []string) error {
			var failed []error
			for _, called := range args {
				failed = append(failed, cancelCalled(cmd, called))
			}
			return errors.Join(failed...)
		},
	}
}

// cancelCalled cancels a run or a sweep.
func cancelCalled(cmd *cobra.Command, called string) error {
	runs, sweeps, err := findAll([]string{called})
	if err != nil {
		return err
	}
	if len(sweeps) > 0 {
		if err := launch.CancelSweep(cmd.Context(), sweeps[0], runs); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is interrupted; the same sweep again continues it\n", sweeps[0].ID)
		return nil
	}
	if err := launch.Cancel(cmd.Context(), runs[0]); err != nil {
		return err
	}
	ended, err := endsWithin(cmd.Context(), runs[0], 30*time.Second)
	if err != nil {
		return err
	}
	if !ended {
		fmt.Fprintf(cmd.OutOrStdout(), "%s is asked to stop, and does when its step is over; `molehill runs` tells\n", runs[0].ID)
		return nil
	}
	said := "is interrupted; `molehill resume %[1]s` continues it"
	if runs[0].Is(run.Finished) {
		said = "was finished before it could stop; `molehill show %[1]s` shows it"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%[1]s "+said+"\n", runs[0].ID)
	return err
}

// endsWithin waits until nobody computes a run any more, for so long at most: one that is
// asked to stop finishes its step and saves it.
func endsWithin(ctx context.Context, r *run.Run, patience time.Duration) (ended bool, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		if state, err := r.State(); err != nil || state != run.Running {
			return err == nil, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return false, nil
			}
			return false, ctx.Err()
		}
	}
}
