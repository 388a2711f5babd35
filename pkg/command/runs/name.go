package runs

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"molehill/pkg/run"
)

func name() *cobra.Command {
	return &cobra.Command{
		Use:   "name RUN NAME",
		Short: "give a run a name to call it by, instead of its ID; a name that another run has moves",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, store, err := find(args[0])
			if err != nil {
				return err
			}
			if err := giveName(cmd.ErrOrStderr(), store, r, args[1]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is called %s\n", r.ID, args[1])
			return nil
		},
	}
}

// giveName names a run, and says from which other the name was taken.
func giveName(w io.Writer, store run.Store, r *run.Run, name string) error {
	before, err := store.Name(r, name)
	if err == nil && before != "" {
		fmt.Fprintf(w, "%s was the name of %s, which keeps its ID\n", name, before)
	}
	return err
}
