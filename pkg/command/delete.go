package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"molehill/pkg/run"
)

func deleteRun() *cobra.Command {
	return &cobra.Command{
		Use:   "delete RUN",
		Short: "delete a run's directory; what its releases cost stays spent",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			if err := store.Delete(args[0]); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), args[0], "is deleted. If anything of a private run was seen, its ε stays spent; the same run again makes new releases and spends as much once more.")
			return nil
		},
	}
}
