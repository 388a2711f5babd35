package runs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/launch"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// sweepPlan is what a sweep consists of: a table that is registered, or a grid.
type sweepPlan struct {
	name     string
	preset   string
	title    string
	varied   []string    // of a grid
	table    sweep.Sweep // nil for a grid
	requests []experiment.Request
	all      []experiment.Request // before some of them were chosen
	others   others               // of a table
	measures []wanted             // what finished runs are measured by
}

// planSweep reads what is asked for.
func planSweep(cmd *cobra.Command, name string, asked asking, grid []string, seeds int) (*sweepPlan, error) {
	if seeds > mostSeeds {
		return nil, fmt.Errorf("--seeds is %d, and at most %d can be asked for at once; --seed is the first of them", seeds, mostSeeds)
	}
	p := &sweepPlan{name: name, preset: asked.preset}
	table, noTable := sweep.Registry.Lookup(name)
	_, noExperiment := experiment.Registry.Lookup(name)
	said := slices.DeleteFunc([]string{"grid", "set", "epsilon", "seed", "research"}, func(flag string) bool { return !cmd.Flags().Changed(flag) })
	// A table may have the name of an experiment: who says what the runs are means that.
	if noTable == nil && (len(said) == 0 || noExperiment != nil) {
		if len(said) > 0 {
			return nil, fmt.Errorf("--%s is for grids of an experiment; %s says itself what its runs are, and --only chooses among them", said[0], name)
		}
		p.table, p.title = table, table.Describe().Summary
		p.requests = table.Requests(experiment.Preset(asked.preset), seeds)
		return p, nil
	}
	if noTable == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is a table, too: with --%s these are runs of the experiment; the table's are chosen by --seeds and --only alone (--only seed=4)\n", name, said[0])
	}
	if noExperiment != nil {
		var names []string
		for _, s := range sweep.Registry.All() {
			names = append(names, s.Describe().Name)
		}
		for _, e := range experiment.Registry.All() {
			names = append(names, e.Describe().Name)
		}
		return nil, &plugin.UnknownError{Kind: "table or experiment", Name: name, Nearest: plugin.Nearest(name, names), List: "molehill list"}
	}
	q, err := asked.request(name)
	if err != nil {
		return nil, err
	}
	axes, err := axesOf(grid, seeds)
	if err != nil {
		return nil, err
	}
	var over []string
	for _, a := range axes {
		if _, twice := q.Settings[a.name]; twice {
			return nil, fmt.Errorf("%s is set to %s and varies in --grid; give one of them", a.name, q.Settings[a.name])
		}
		p.varied = append(p.varied, a.name)
		over = append(over, a.name+" "+strings.Join(a.values, ", "))
	}
	if seeds > 1 {
		if slices.Contains(p.varied, "seed") {
			return nil, errors.New("--seeds and --grid seed=…; give one of them")
		}
		over = append(over, fmt.Sprintf("%d seeds", seeds))
	}
	p.title = name
	if len(over) > 0 {
		p.title += " over " + strings.Join(over, " and ")
	}
	if p.requests, err = requestsOf(q, axes, seeds); err != nil {
		return nil, err
	}
	return p, nil
}

// axis is a setting and its values.
type axis struct {
	name   string
	values []string
}

// Bounds of a sweep: beyond them somebody has mistyped.
const (
	mostRuns  = 100_000
	mostSeeds = 1000
)

func axesOf(grid []string, seeds int) (axes []axis, err error) {
	total := seeds
	for _, g := range grid {
		name, values, ok := strings.Cut(g, "=")
		if !ok || values == "" {
			return nil, fmt.Errorf("--grid %s: expected NAME=A,B,C", g)
		}
		fields, err := csv.NewReader(strings.NewReader(values)).Read()
		if err != nil {
			return nil, fmt.Errorf("--grid %s: %w; a value with a comma in it stands in quotes, NAME=A,\"B,C\"", g, err)
		}
		a := axis{name: name}
		for _, v := range fields {
			v = strings.TrimSpace(v)
			if name == "epsilon" {
				v = plainEpsilon(v)
			}
			if v == "" || slices.Contains(a.values, v) {
				return nil, fmt.Errorf("--grid %s: the value %q is empty or there twice", g, v)
			}
			a.values = append(a.values, v)
		}
		if slices.ContainsFunc(axes, func(b axis) bool { return b.name == name }) {
			return nil, fmt.Errorf("--grid %s: %s has values already; give them all in one", g, name)
		}
		axes = append(axes, a)
		if total *= len(a.values); total > mostRuns {
			return nil, fmt.Errorf("the grid has more than %d runs; vary fewer settings at once, or take fewer seeds", mostRuns)
		}
	}
	return axes, nil
}

// requestsOf returns all combinations, the seeds of each one together.
func requestsOf(q experiment.Request, axes []axis, seeds int) (requests []experiment.Request, err error) {
	if len(axes) == 0 {
		for i := range seeds {
			one := q
			one.Seed += uint64(i)
			requests = append(requests, one)
		}
		return requests, nil
	}
	for _, value := range axes[0].values {
		one := q
		if axes[0].name == "seed" {
			if one.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
				return nil, fmt.Errorf("--grid seed=%s: expected numbers from 0 on", value)
			}
		} else {
			one.Settings = experiment.With(q.Settings, axes[0].name, value)
		}
		rest, err := requestsOf(one, axes[1:], seeds)
		if err != nil {
			return nil, err
		}
		requests = append(requests, rest...)
	}
	return requests, nil
}

// create finds every mistake in the requests before anything is made, and then
// makes the runs' directories and the sweep's. The keeper of private records is told of them
// as before one run, of all runs together no line twice.
func (p *sweepPlan) create(cmd *cobra.Command, store run.Store) (*run.Sweep, []*run.Run, error) {
	specs, told := make([]run.Spec, len(p.requests)), &news{to: cmd.ErrOrStderr()}
	for i, q := range p.requests {
		var err error
		if specs[i], err = q.Spec(); err != nil {
			return nil, nil, err
		}
		if p.table == nil {
			if _, err := experiment.Preview(cmd.Context(), before(told, store, specs[i])); err != nil {
				return nil, nil, err
			}
		}
	}
	return store.CreateSweep(p.name, p.title, p.varied, specs)
}

// news writes lines, but those that it has written before.
type news struct {
	to   io.Writer
	told map[string]bool
	rest string // the beginning of a line
}

func (n *news) Write(text []byte) (int, error) {
	n.rest += string(text)
	for {
		line, rest, whole := strings.Cut(n.rest, "\n")
		if !whole {
			return len(text), nil
		}
		n.rest = rest
		if n.told[line] {
			continue
		}
		if n.told == nil {
			n.told = map[string]bool{}
		}
		n.told[line] = true
		if _, err := fmt.Fprintln(n.to, line); err != nil {
			return 0, err
		}
	}
}

// folder is the name of the results' folder: a grid's is its own, and so is that of some
// of a table's runs, which do not take the place of all.
func (p *sweepPlan) folder() (string, error) {
	switch {
	case p.table == nil:
		ids, err := idsOf(p.requests)
		return run.SweepID(p.name, ids), err
	case len(p.requests) < len(p.all):
		ids, err := idsOf(p.requests)
		return run.SweepID(p.name+"-"+p.preset+"-part", ids), err
	}
	return p.name + "-" + p.preset, nil
}

// leaveSweep starts a sweep that nobody watches.
func leaveSweep(cmd *cobra.Command, w *run.Sweep, runs []*run.Run, local launch.Local, cluster *launch.Slurm, jobs int, asJSON bool) (err error) {
	if cluster != nil {
		_, err = cluster.Submit(cmd.Context(), w.ID, runs, jobs)
	} else {
		err = local.StartSweep(cmd.Context(), w, jobs)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(cmd.OutOrStdout(), w)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; `molehill watch %[1]s`, `molehill cancel %[1]s`, `molehill compare %[1]s`\n", w.ID, cli.Count(len(runs), "run", "runs"))
	return nil
}

// computeSweep is what a started process runs: it makes the runs of a sweep.
func computeSweep() *cobra.Command {
	var jobs int
	cmd := &cobra.Command{
		Use:    "compute-sweep DIRECTORY",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			store := run.Store{Dir: filepath.Dir(filepath.Dir(args[0]))}
			w, err := store.OpenSweep(filepath.Base(args[0]))
			if err != nil {
				return err
			}
			runs, gone := w.Open()
			if gone != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), gone) // deleted since; the others are made
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			err = launch.Local{Binary: self}.Sweep(cmd.Context(), w, runs, jobs, func(r *run.Run, err error) {
				if err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", r.ID, err)
				}
			})
			if errors.Is(err, run.ErrBusy) {
				return nil // another process was faster
			}
			return err
		},
	}
	cmd.Flags().IntVar(&jobs, "jobs", 2, "runs at a time")
	return cmd
}
