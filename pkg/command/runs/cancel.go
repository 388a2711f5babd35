package runs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"molehill/pkg/launch"
)

func cancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN|SWEEP...",
		Short: "interrupt what is being computed, or take it from a cluster's queue; it can be continued",
		Args:  cobra.MinimumNArgs(1),
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
	fmt.Fprintf(cmd.OutOrStdout(), "%s is interrupted; `molehill resume %[1]s` continues it\n", runs[0].ID)
	return nil
}
