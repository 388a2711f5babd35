package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/compare"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

func list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "the runs there are, newest first",
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			if asJSON {
				summaries := make([]Summary, 0, len(entries))
				queued := queuedOf(entries)
				for _, entry := range entries {
					s, err := Summary{ID: entry.ID, Dir: filepath.Join(store.Dir, entry.ID)}, entry.Err
					if err == nil {
						s, err = summarize(entry.Run)
					}
					if err != nil { // a broken one is told of, as without --json
						s.Unread = err.Error()
					}
					s.Queued = queued[s.ID]
					summaries = append(summaries, s)
				}
				return cli.JSON(cmd.OutOrStdout(), summaries)
			}
			if len(entries) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "no runs in %s yet; start one with `molehill run sketch-flow`\n", store.Dir)
				return nil
			}
			if readable := readableOf(entries); len(readable) > 0 {
				t, err := compare.List(readable)
				if err != nil {
					return err
				}
				fmt.Fprint(cmd.OutOrStdout(), t)
			}
			for _, entry := range entries {
				if entry.Err != nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s cannot be read: %v\n", entry.ID, entry.Err)
				} else if _, err := entry.Run.Privacy(); err != nil && !errors.Is(err, fs.ErrNotExist) {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s is not believed: %v\n", entry.ID, err)
				}
			}
			return tellSweeps(cmd.OutOrStdout(), store)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func readableOf(entries []run.Entry) (runs []*run.Run) {
	for _, entry := range entries {
		if entry.Err == nil {
			runs = append(runs, entry.Run)
		}
	}
	return runs
}

// queuedOf says which runs a cluster has, if it answers.
func queuedOf(entries []run.Entry) map[string]string {
	queued, _ := launch.Queued(context.Background(), readableOf(entries)...)
	return queued
}

// tellSweeps lists the sweeps there are.
func tellSweeps(w io.Writer, store run.Store) error {
	sweeps, err := store.Sweeps()
	for _, sweep := range sweeps {
		finished := 0
		runs, _ := sweep.Open()
		for _, r := range runs {
			if r.Is(run.Finished) {
				finished++
			}
		}
		doing := ""
		if working([]*run.Sweep{sweep}) {
			doing = ", going on"
		}
		fmt.Fprintf(w, "sweep %s  %s: %d of %d runs finished%s\n", sweep.ID, sweep.Title, finished, len(sweep.Runs), doing)
	}
	return err
}
