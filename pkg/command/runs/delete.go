package runs

import (
	"fmt"

	"github.com/spf13/cobra"
)

func remove() *cobra.Command {
	return &cobra.Command{
		Use:   "delete RUN",
		Short: "delete a run's directory; what its releases cost stays spent",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, store, err := find(args[0])
			if store.Dir == "" {
				return err
			}
			if err == nil && r.ID != args[0] {
				return fmt.Errorf("%s calls %s; give the whole ID to delete it", args[0], r.ID)
			}
			if err := store.Delete(args[0]); err != nil { // also of a run that cannot be opened
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), args[0], "is deleted. If anything of a private run was seen, its ε stays spent; the same run again makes new releases and spends as much once more.")
			return nil
		},
	}
}
