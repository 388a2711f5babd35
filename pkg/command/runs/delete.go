package runs

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/run"
)

func remove() *cobra.Command {
	return &cobra.Command{
		Use:   "delete RUN|SWEEP",
		Short: "delete a run's directory, or the list of runs that a sweep is; what releases cost stays spent",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, store, err := find(args[0])
			if store.Dir == "" {
				return err
			}
			if sweep, none := store.OpenSweep(args[0]); none == nil && errors.Is(err, run.ErrUnknown) {
				return forget(cmd.OutOrStdout(), store, sweep, args[0])
			}
			if err := store.Delete(args[0]); err != nil { // also of a run that cannot be opened
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), args[0], "is deleted. If anything of a private run was seen, its ε stays spent; the same run again makes new releases and spends as much once more.")
			return nil
		},
	}
}

// forget deletes a sweep that is called by its whole ID.
func forget(w io.Writer, store run.Store, sweep *run.Sweep, called string) error {
	if called != sweep.ID {
		return fmt.Errorf("%s calls the sweep %s; give the whole ID to delete it", called, sweep.ID)
	}
	if err := store.DeleteSweep(sweep); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s is deleted. What it had started, %s, stays.\n", sweep.ID, cli.Count(len(sweep.Runs), "run", "runs"))
	return nil
}
