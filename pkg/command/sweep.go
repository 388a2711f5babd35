package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

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
		jobs    int
		only    []string
		out     string
		missing bool
		fid     int
	)
	cmd := &cobra.Command{
		Use:   "sweep NAME",
		Short: "make all runs of a table, and the table",
		Long: `Make all runs of a table, and write the table: results.json
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
			if jobs < 1 {
				return fmt.Errorf("--jobs %d; take at least 1", jobs)
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
			rows, failed, err := sweepRuns(cmd, store, launch.Local{Binary: self}, requests, jobs, missing)
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
	flags.IntVar(&jobs, "jobs", 2, "runs at a time; their seconds then hold the others' load")
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

// sweepRuns makes the runs, jobs at a time, or finds them; the rows are in the
// order of the requests. A run that fails is told and does not stop the others.
func sweepRuns(cmd *cobra.Command, store run.Store, local launch.Local, requests []experiment.Request, jobs int, missing bool) (rows []experiment.Row, failed []error, err error) {
	var (
		began   = time.Now()
		found   = make([]*experiment.Row, len(requests))
		broken  = make([]error, len(requests))
		telling sync.Mutex
		told    int
	)
	tell := func(format string, values ...any) {
		telling.Lock()
		defer telling.Unlock()
		told++
		fmt.Fprintf(cmd.ErrOrStderr(), "%d/%d %s\n", told, len(requests), fmt.Sprintf(format, values...))
	}
	group, ctx := errgroup.WithContext(cmd.Context())
	group.SetLimit(jobs)
	for i, q := range requests {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			spec, err := q.Spec()
			if err != nil {
				return err
			}
			r, err := startOrOpen(ctx, store, local, spec, missing)
			if r == nil || err != nil {
				return err
			}
			if _, err := r.Wait(ctx); err != nil {
				if ctx.Err() != nil {
					return errors.Join(ctx.Err(), r.Cancel())
				}
				broken[i] = fmt.Errorf("%s (%s): %w", name(q), r.ID, err)
				tell("%s failed: %v", name(q), err)
				return nil
			}
			row, err := experiment.Finished(r)
			if err != nil {
				return err
			}
			found[i] = &row
			tell("%s, %.0f s (%s in all)", name(q), row.Seconds, time.Since(began).Round(time.Second))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for i := range requests {
		if found[i] != nil {
			rows = append(rows, *found[i])
		}
		if broken[i] != nil {
			failed = append(failed, broken[i])
		}
	}
	return rows, failed, nil
}

// startOrOpen starts a run, or if only finished ones are wanted looks for it; nil if it
// is not among them.
func startOrOpen(ctx context.Context, store run.Store, local launch.Local, spec run.Spec, missing bool) (*run.Run, error) {
	if !missing {
		r, _, err := local.Start(ctx, store, spec)
		return r, err
	}
	id, err := spec.ID()
	if err != nil {
		return nil, err
	}
	r, err := store.Open(id)
	if err != nil {
		return nil, nil // not made yet
	}
	if state, _ := r.State(); state != run.Finished {
		return nil, nil
	}
	return r, nil
}

// name is how a run of a sweep is told.
func name(q experiment.Request) string {
	text := q.Experiment
	for _, setting := range []string{"dataset", "epsilon"} {
		if value, ok := q.Settings[setting]; ok {
			text += fmt.Sprintf(", %s %s", setting, value)
		}
	}
	return fmt.Sprintf("%s, seed %d", text, q.Seed)
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
