package runs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/experiment"
	"molehill/pkg/lab"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// sweep makes all runs of a table, or of a grid of settings, and writes what they
// say.
func sweep() *cobra.Command {
	var (
		asked   asking
		where   placing
		grid    []string
		seeds   int
		jobs    int
		only    []string
		out     string
		missing bool
		further []string
		with    []string
		detach  bool
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "sweep NAME",
		Short: "make all runs of a table, or of a grid of an experiment's settings, and the table",
		Long: `Make many runs, and write what they say: results.json with where and when each
was computed, report.md, and figures. NAME is a table that Molehill knows, whose
noise comes from the seeds, so that anyone can repeat the numbers; or an
experiment, with --grid for each setting that is to vary.

Runs that are finished are not made again, so the same command goes on after an
interruption, and --with takes up those of other machines. Ctrl-C interrupts the
runs too; with --detach nothing is watched,
and ` + "`molehill watch`, `molehill cancel` and `molehill compare`" + ` take the sweep's ID.
With --on slurm all runs are one array job. One that fails stops no other.

Each private run of a grid releases something of its own, and the ledger composes
them: a grid of 12 costs as much as 12 runs.`,
		Example: "  molehill sweep flows-table1\n  molehill sweep flows-table1 --preset paper --seeds 5 --out docs/results/flows-table1-paper\n  molehill sweep sketch-flow --grid epsilon=0.5,1,5 --grid bins=16,32 --seeds 3 --set dataset=glyphs\n  molehill sweep sketch-flow --grid epsilon=1,5 --on slurm --sbatch=--partition=gpu --detach",
		RunE: func(cmd *cobra.Command, args []string) error {
			if seeds < 1 {
				return fmt.Errorf("--seeds %d; take at least 1", seeds)
			}
			if jobs < 1 {
				return fmt.Errorf("--jobs %d; take at least 1", jobs)
			}
			p, err := planSweep(cmd, args[0], asked, grid, seeds)
			if err != nil {
				return err
			}
			if with != nil && p.table == nil {
				return fmt.Errorf("--with is for a table that Molehill knows; a grid's runs are compared where they are")
			}
			if p.others, err = readOthers(with); err != nil {
				return err
			}
			if err := p.others.check(args[0], p.requests); err != nil {
				return err
			}
			if detach && with != nil {
				return fmt.Errorf("--with with --detach: rows join when runs are finished, which --detach does not wait for; say it without --with, and then with --finished in place of --detach")
			}
			p.all = p.requests
			if p.requests, err = chosen(p.requests, only); err != nil {
				return err
			}
			measures, err := measuresOf(further, p.requests)
			if err != nil {
				return err
			}
			if detach && measures != nil {
				return fmt.Errorf("--measure with --detach: runs are measured when they are finished, which --detach does not wait for; say it without --measure, and then with --finished in place of --detach")
			}
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			local, cluster, err := where.places()
			if err != nil {
				return err
			}
			if cluster != nil && !cmd.Flags().Changed("jobs") {
				jobs = 0 // no limit
			}
			if out == "" {
				if out, err = p.folder(); err != nil {
					return err
				}
				out = filepath.Join(filepath.Dir(store.Dir), "sweeps", out)
			}
			if !missing && !detach {
				if err := writable(out); err != nil {
					return err
				}
			}
			var runs []*run.Run
			var w *run.Sweep
			var broken []error
			if missing {
				runs, err = finishedOf(store, p.requests)
			} else if w, runs, err = p.create(store); err == nil {
				if detach {
					return leaveSweep(cmd, w, runs, local, cluster, jobs, asJSON)
				}
				broken, err = sweepRuns(cmd, w, runs, local, cluster, jobs)
			}
			if err != nil {
				return err
			}
			if missing && len(runs) == 0 && with == nil {
				return fmt.Errorf("none of the %d runs is finished: there is nothing to write", len(p.requests))
			}
			return p.write(cmd, store, runs, broken, out, measures)
		},
	}
	flags := cmd.Flags()
	asked.add(flags)
	where.add(flags)
	flags.StringArrayVar(&grid, "grid", nil, "of an experiment: a setting and its values, NAME=A,B,C (repeatable: all combinations)")
	flags.IntVar(&seeds, "seeds", 1, "number of seeds, from --seed on")
	flags.IntVar(&jobs, "jobs", 2, "runs at a time; their seconds then hold the others' load. On a cluster there is no limit unless this sets one")
	flags.StringArrayVar(&only, "only", nil, "NAME=VALUE: only runs with this setting, experiment=NAME or seed=N (repeatable; values of one name add up)")
	flags.StringVar(&out, "out", "", "folder for the results (default: beside the runs)")
	flags.BoolVar(&missing, "finished", false, "make no run, only the table of those that are finished")
	flags.StringArrayVar(&further, "measure", nil, "measure each run afterwards, as molehill measure does, by `NAME=ROWS`: fid=10000 for publications (repeatable)")
	flags.StringArrayVar(&with, "with", nil, "of a table that Molehill knows: a `FILE` results.json of runs made elsewhere, whose rows join the table (repeatable)")
	flags.BoolVar(&detach, "detach", false, "do not watch")
	flags.BoolVar(&asJSON, "json", false, "with --detach, print the sweep as JSON")
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
			switch name {
			case "experiment":
				has = q.Experiment
			case "seed":
				has = strconv.FormatUint(q.Seed, 10)
			}
			keep = keep && slices.Contains(values, has)
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

// sweepRuns makes the runs, or finds them, here or on a cluster. broken says of each
// why it is not finished; one that fails is told and does not stop the others.
func sweepRuns(cmd *cobra.Command, w *run.Sweep, runs []*run.Run, local launch.Local, cluster *launch.Slurm, jobs int) (broken []error, err error) {
	compared, err := lab.CompareRuns(runs)
	if err != nil {
		return nil, err
	}
	ctx, say := cmd.Context(), cmd.ErrOrStderr()
	if cluster != nil {
		submitted, err := cluster.Submit(ctx, w.ID, runs, jobs)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(say, "%d of %d runs are given to Slurm\n", submitted, len(runs))
		broken, err := attention{runs, compared.Labels, func() bool { return false }, nil}.pay(ctx, say)
		if ctx.Err() != nil {
			later, stop := context.WithTimeout(context.Background(), 10*time.Second)
			defer stop()
			if cancelled := launch.CancelSweep(later, w, runs); !errors.Is(cancelled, run.ErrIdle) {
				err = errors.Join(err, cancelled)
			}
		}
		return broken, err
	}
	var why sync.Map // of run IDs
	var ended atomic.Bool
	made := make(chan error, 1)
	go func() {
		err := local.Sweep(ctx, w, runs, jobs, func(r *run.Run, err error) {
			if err != nil {
				why.Store(r.ID, err)
			}
		})
		if errors.Is(err, run.ErrBusy) { // started unseen, or from a notebook
			fmt.Fprintf(say, "another process makes these runs already; watching (`molehill cancel %s` stops it)\n", w.ID)
			err = nil
		}
		ended.Store(true)
		made <- err
	}()
	broken, err = attention{runs, compared.Labels,
		func() bool { return !ended.Load() || working([]*run.Sweep{w}) },
		func(r *run.Run) error { err, _ := why.Load(r.ID); failed, _ := err.(error); return failed },
	}.pay(ctx, say)
	return broken, errors.Join(err, <-made)
}

// idsOf are the IDs of the runs that requests are for.
func idsOf(requests []experiment.Request) (ids []string, err error) {
	for _, q := range requests {
		spec, err := q.Spec()
		if err != nil {
			return nil, err
		}
		id, err := spec.ID()
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// finishedOf returns the finished runs of requests.
func finishedOf(store run.Store, requests []experiment.Request) (runs []*run.Run, err error) {
	ids, err := idsOf(requests)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		r, err := run.Open(filepath.Join(store.Dir, id))
		if err != nil {
			continue // not made yet
		}
		if state, err := r.State(); err == nil && state == run.Finished {
			runs = append(runs, r)
		}
	}
	return runs, nil
}
