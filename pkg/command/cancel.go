package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"molehill/pkg/run"
)

func cancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "interrupt a run that is being computed; it can be continued",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			r, err := store.Open(args[0])
			if err != nil {
				return err
			}
			if err := r.Cancel(); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), r.ID, "is interrupted; start it again to continue it")
			return nil
		},
	}
}
