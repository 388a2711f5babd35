package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/experiment"
	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/viz"
)

// sweep makes all runs of a table and writes what they say.
func sweep() *cobra.Command {
	var (
		preset  string
		seeds   int
		only    []string
		out     string
		missing bool
		fid     int
	)
	cmd := &cobra.Command{
		Use:   "sweep NAME",
		Short: "make all runs of a table, and the table",
		Long: `Make all runs of a table, one after the other, and write the table: results.json
with where and when each was computed, report.md, and figures. Runs that are
finished are not made again, so the same command goes on after an interruption.
The noise comes from the seeds, so that anyone can repeat the numbers; such runs
protect nobody and say so.`,
		Example: "  molehill sweep flows-table1\n  molehill sweep flows-table1 --preset paper --seeds 5 --out docs/results/flows-table1-paper",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := experiment.Sweeps.Lookup(args[0])
			if err != nil {
				return err
			}
			if seeds < 1 {
				return fmt.Errorf("--seeds %d; take at least 1", seeds)
			}
			requests, err := chosen(s.Requests(experiment.Preset(preset), seeds), only)
			if err != nil {
				return err
			}
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if out == "" {
				out = filepath.Join(filepath.Dir(store.Dir), "sweeps", args[0]+"-"+preset)
			}
			rows, failed, err := sweepRuns(cmd, store, launch.Local{Binary: self}, requests, missing)
			if err != nil {
				return err
			}
			if fid > 0 {
				if rows, err = measureAll(cmd, store, rows, "fid", fid); err != nil {
					return err
				}
			}
			if err := report(s, rows, store, out); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d of %d runs are in %s\n", len(rows), len(requests), out)
			return errors.Join(failed...)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&preset, "preset", string(experiment.Quick), "quick or paper")
	flags.IntVar(&seeds, "seeds", 1, "number of seeds, from 1 on")
	flags.StringArrayVar(&only, "only", nil, "NAME=VALUE: only runs with this setting, or experiment=NAME (repeatable; values of one name add up)")
	flags.StringVar(&out, "out", "", "folder for the results (default: beside the runs)")
	flags.BoolVar(&missing, "finished", false, "make no run, only the table of those that are finished")
	flags.IntVar(&fid, "fid", 0, "measure the runs' FID by this many images each, 10000 for publications (most of a tenth of a second an image on two cores)")
	return cmd
}

// chosen keeps the requests that every name in only allows.
func chosen(requests []experiment.Request, only []string) ([]experiment.Request, error) {
	allowed := map[string][]string{}
	for _, o := range only {
		name, value, ok := strings.Cut(o, "=")
		if !ok {
			return nil, fmt.Errorf("--only %s: expected NAME=VALUE", o)
		}
		allowed[name] = append(allowed[name], value)
	}
	var kept []experiment.Request
	for _, q := range requests {
		keep := true
		for name, values := range allowed {
			has := q.Settings[name]
			if name == "experiment" {
				has = q.Experiment
			}
			found := false
			for _, v := range values {
				found = found || v == has
			}
			keep = keep && found
		}
		if keep {
			kept = append(kept, q)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("no run has %s; without --only there are %d", strings.Join(only, " and "), len(requests))
	}
	return kept, nil
}

// sweepRuns makes the runs, or finds them. A run that fails is told and does not
// stop the others.
func sweepRuns(cmd *cobra.Command, store run.Store, local launch.Local, requests []experiment.Request, missing bool) (rows []experiment.Row, failed []error, err error) {
	began := time.Now()
	for i, q := range requests {
		spec, err := q.Spec()
		if err != nil {
			return nil, nil, err
		}
		var r *run.Run
		if missing {
			id, err := spec.ID()
			if err != nil {
				return nil, nil, err
			}
			if r, err = store.Open(id); err != nil {
				continue // not made yet
			}
			if state, _ := r.State(); state != run.Finished {
				continue
			}
		} else if r, _, err = local.Start(cmd.Context(), store, spec); err != nil {
			return nil, nil, err
		}
		name := fmt.Sprintf("%s %s ε = %s, seed %d", q.Experiment, q.Settings["dataset"], q.Settings["epsilon"], q.Seed)
		if _, err := r.Wait(cmd.Context()); err != nil {
			if cmd.Context().Err() != nil {
				return nil, nil, errors.Join(cmd.Context().Err(), r.Cancel())
			}
			failed = append(failed, fmt.Errorf("%s (%s): %w", name, r.ID, err))
			fmt.Fprintf(cmd.ErrOrStderr(), "%d/%d %s failed: %v\n", i+1, len(requests), name, err)
			continue
		}
		row, err := experiment.Finished(r)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
		fmt.Fprintf(cmd.ErrOrStderr(), "%d/%d %s, %.0f s (%s in all)\n", i+1, len(requests), name, row.Seconds, time.Since(began).Round(time.Second))
	}
	return rows, failed, nil
}

// measureAll measures the runs that have not been, and returns their rows with it.
func measureAll(cmd *cobra.Command, store run.Store, rows []experiment.Row, name string, count int) ([]experiment.Row, error) {
	measured := make([]experiment.Row, len(rows))
	say, done := teller()
	defer done()
	for i, row := range rows {
		r, err := store.Open(row.Run)
		if err != nil {
			return nil, err
		}
		found, err := experiment.Measure(cmd.Context(), r, name, count, say)
		if err != nil {
			return nil, err
		}
		done()
		fmt.Fprintf(cmd.ErrOrStderr(), "%d/%d %s of %s, %.0f s\n", i+1, len(rows), name, row.Run, found.Seconds)
		if measured[i], err = experiment.Finished(r); err != nil {
			return nil, err
		}
	}
	return measured, nil
}

// samplesIn returns the images of a store's runs.
func samplesIn(store run.Store) experiment.Samples {
	return func(row experiment.Row) (viz.Images, bool) {
		r, err := store.Open(row.Run)
		if err != nil {
			return viz.Images{}, false
		}
		pixels, columns, err := r.Table("samples.npy")
		if err != nil {
			return viz.Images{}, false
		}
		grid, err := viz.SquareImages(pixels, columns)
		return grid, err == nil
	}
}

// report writes a sweep's results into a folder.
func report(s experiment.Sweep, rows []experiment.Row, store run.Store, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "results.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	shown, err := s.Report(rows, samplesIn(store))
	if err != nil {
		return err
	}
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n\n%s\n", s.Describe().Name, s.Describe().Summary)
	for _, t := range shown.Tables {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n", t.Title, viz.Table{Header: t.Header, Rows: t.Rows, Caption: t.Caption}.Markdown())
	}
	for name, figure := range shown.Figures {
		if err := figure.Save(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "report.md"), []byte(page.String()), 0o644)
}
