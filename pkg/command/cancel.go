package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

func cancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "interrupt a run that is being computed; it can be continued",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := find(args[0])
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
