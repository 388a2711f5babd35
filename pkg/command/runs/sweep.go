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

	"molehill/pkg/compare"
	"molehill/pkg/experiment"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// sweeping are the flags of a sweep.
type sweeping struct {
	asking
	placing
	grid, only, measures, with []string
	seeds, jobs                int
	out                        string
	finished, detach, asJSON   bool
}

// sweepCommand makes all runs of a table, or of a grid of settings, and writes what they
// say.
func sweepCommand() *cobra.Command {
	var s sweeping
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
			p, err := s.plan(cmd, args[0])
			if err != nil {
				return err
			}
			return s.make(cmd, p)
		},
	}
	flags := cmd.Flags()
	s.asking.add(flags)
	s.placing.add(flags)
	flags.StringArrayVar(&s.grid, "grid", nil, "of an experiment: a setting and its values, NAME=A,B,C (repeatable: all combinations)")
	flags.IntVar(&s.seeds, "seeds", 1, "number of seeds, from --seed on")
	flags.IntVar(&s.jobs, "jobs", 2, "runs at a time; their seconds then hold the others' load. On a cluster there is no limit unless this sets one")
	flags.StringArrayVar(&s.only, "only", nil, "NAME=VALUE: only runs with this setting, experiment=NAME or seed=N (repeatable; values of one name add up)")
	flags.StringVar(&s.out, "out", "", "folder for the results (default: beside the runs)")
	flags.BoolVar(&s.finished, "finished", false, "make no run, only the table of those that are finished")
	flags.StringArrayVar(&s.measures, "measure", nil, "measure each run afterwards, as molehill measure does, by `NAME=ROWS`: fid=10000 for publications (repeatable)")
	flags.StringArrayVar(&s.with, "with", nil, "of a table that Molehill knows: a `FILE` results.json of runs made elsewhere, whose rows join the table (repeatable)")
	flags.BoolVar(&s.detach, "detach", false, "do not watch")
	flags.BoolVar(&s.asJSON, "json", false, "with --detach, print the sweep as JSON")
	return cmd
}

// plan is what is asked for, or what is wrong with that: before anything is made.
func (s *sweeping) plan(cmd *cobra.Command, name string) (*sweepPlan, error) {
	switch {
	case s.seeds < 1:
		return nil, fmt.Errorf("--seeds %d; take at least 1", s.seeds)
	case s.jobs < 1:
		return nil, fmt.Errorf("--jobs %d; take at least 1", s.jobs)
	}
	p, err := planSweep(cmd, name, s.asking, s.grid, s.seeds)
	if err != nil {
		return nil, err
	}
	if s.with != nil && p.table == nil {
		return nil, errors.New("--with is for a table that Molehill knows; a grid's runs are compared where they are")
	}
	if p.others, err = readOthers(s.with); err != nil {
		return nil, err
	}
	if err := p.others.check(name, p.requests); err != nil {
		return nil, err
	}
	p.all = p.requests
	if p.requests, err = chosen(p.requests, s.only); err != nil {
		return nil, err
	}
	if p.measures, err = measuresOf(s.measures, p.requests); err != nil {
		return nil, err
	}
	for _, flag := range []string{"with", "measure"} {
		if s.detach && cmd.Flags().Changed(flag) {
			return nil, fmt.Errorf("--%s with --detach: that is for when runs are finished, which --detach does not wait for; say it without --%[1]s, and then with --finished in place of --detach", flag)
		}
	}
	return p, nil
}

// make makes the runs, or finds those that are finished, and writes what they say.
func (s *sweeping) make(cmd *cobra.Command, p *sweepPlan) error {
	store, err := run.DefaultStore()
	if err != nil {
		return err
	}
	local, cluster, err := s.places()
	if err != nil {
		return err
	}
	if cluster != nil && !cmd.Flags().Changed("jobs") {
		s.jobs = 0 // no limit
	}
	if s.out == "" {
		if s.out, err = p.folder(); err != nil {
			return err
		}
		s.out = filepath.Join(filepath.Dir(store.Dir), "sweeps", s.out)
	}
	if s.finished {
		runs, err := finishedOf(store, p.requests)
		if err != nil {
			return err
		}
		if len(runs) == 0 && s.with == nil {
			return fmt.Errorf("none of the %d runs is finished: there is nothing to write", len(p.requests))
		}
		return p.write(cmd, store, runs, nil, s.out)
	}
	if !s.detach {
		if err := writable(s.out); err != nil {
			return err
		}
	}
	w, runs, err := p.create(cmd, store)
	if err != nil {
		return err
	}
	if s.detach {
		return leaveSweep(cmd, w, runs, local, cluster, s.jobs, s.asJSON)
	}
	broken, err := sweepRuns(cmd, w, runs, local, cluster, s.jobs)
	if err != nil {
		return err
	}
	return p.write(cmd, store, runs, broken, s.out)
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
	compared, err := compare.Runs(runs)
	if err != nil {
		return nil, err
	}
	ctx, say := cmd.Context(), cmd.ErrOrStderr()
	graphs := watchGraphs(say)
	if cluster != nil {
		submitted, err := cluster.Submit(ctx, w.ID, runs, jobs)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(say, "%d of %d runs are given to Slurm\n", submitted, len(runs))
		broken, err := attention{runs, compared.Labels, graphs, func() bool { return false }, nil}.pay(ctx, say)
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
	broken, err = attention{runs, compared.Labels, graphs,
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
		if r.Is(run.Finished) {
			runs = append(runs, r)
		}
	}
	return runs, nil
}
