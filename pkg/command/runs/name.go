package runs

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/run"
)

func name() *cobra.Command {
	var take bool
	cmd := &cobra.Command{
		Use:     "name RUN NAME",
		Short:   "give a run a name to call it by, instead of its ID; a name that another run has moves",
		Example: "  molehill name sketch-flow@1a2b3c baseline\n  molehill name --remove baseline",
		Args: func(cmd *cobra.Command, args []string) error {
			if take {
				return cli.Expect(cmd, "NAME --remove", args)
			}
			return cli.Arguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if take {
				return takeName(cmd.OutOrStdout(), args[0])
			}
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
	cmd.Flags().BoolVar(&take, "remove", false, "take the name from its run, which keeps its ID and other names")
	return cmd
}

func takeName(w io.Writer, name string) error {
	store, err := run.DefaultStore()
	if err != nil {
		return err
	}
	id, err := store.Unname(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s is not called %s any more\n", id, name)
	return nil
}

// giveName names a run, and says from which other the name was taken.
func giveName(w io.Writer, store run.Store, r *run.Run, name string) error {
	before, err := store.Name(r, name)
	if err == nil && before != "" {
		fmt.Fprintf(w, "%s was the name of %s, which keeps its ID\n", name, before)
	}
	return err
}
