package runs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/atomicfile"
	"molehill/pkg/compare"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/pkg/run/draw"
	"molehill/viz"
)

// wanted is a measure of finished runs, and how many generated rows it takes of each.
type wanted struct {
	name string
	rows int
}

// measuresOf reads NAME=ROWS, and refuses what not all of the runs can be measured by
// before any is made.
func measuresOf(texts []string, requests []experiment.Request) (all []wanted, err error) {
	for _, text := range texts {
		name, count, _ := strings.Cut(text, "=")
		rows, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("--measure %s: expected NAME=ROWS, such as fid=10000", text)
		}
		for _, q := range requests {
			if err := experiment.CheckMeasure(q.Experiment, name, rows); err != nil {
				return nil, fmt.Errorf("--measure %s: %w", text, err)
			}
		}
		all = append(all, wanted{name, rows})
	}
	return all, nil
}

// measureAll measures the runs that have not been, and returns their rows with it.
func measureAll(cmd *cobra.Command, store run.Store, rows []sweep.Row, name string, count int) ([]sweep.Row, error) {
	measured := make([]sweep.Row, len(rows))
	say, done := teller()
	defer done()
	ctx := experiment.Keeping(cmd.Context())
	for i, row := range rows {
		r, err := store.Open(row.Run)
		if err != nil {
			return nil, err
		}
		found, err := experiment.Measure(ctx, r, name, count, say)
		if err != nil {
			return nil, err
		}
		done()
		fmt.Fprintf(cmd.ErrOrStderr(), "%d/%d %s of %s, %.0f s\n", i+1, len(rows), name, row.Run, found.Seconds)
		if found.NonPrivate && !row.Research {
			fmt.Fprintf(cmd.ErrOrStderr(), "   for its keeper alone: `molehill measure %s %s --rows %d` shows it, the table does not\n", row.Run, name, count)
		}
		if measured[i], err = sweep.Finished(r); err != nil {
			return nil, err
		}
	}
	return measured, nil
}

// samplesIn returns the images of a store's runs.
func samplesIn(store run.Store) sweep.Samples {
	return func(row sweep.Row) (viz.Images, bool) {
		r, err := store.Open(row.Run)
		if err != nil {
			return viz.Images{}, false
		}
		grid, err := draw.Images(r, "samples.npy", math.MaxInt)
		return grid, err == nil
	}
}

// report writes a sweep's results into a folder, and returns the pictures there that are of
// what was there before: those of runs that are not at hand are not drawn again.
func report(s sweep.Sweep, rows []sweep.Row, store run.Store, out string) (old []string, err error) {
	shown, err := s.Report(rows, samplesIn(store))
	if err != nil {
		return nil, err
	}
	if err := writeResults(out, rows, shown.Page(s.Describe()), shown.Figures); err != nil {
		return nil, err
	}
	found, err := fs.Glob(os.DirFS(out), "*.png")
	for _, name := range found {
		if shown.Figures[name] == nil {
			old = append(old, name)
		}
	}
	return old, err
}

// writeResults writes what runs say, for programs and for people.
func writeResults(out string, rows []sweep.Row, page string, figures map[string]viz.Figure) error {
	text, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("%w; --out names another folder for the results", err)
	}
	if err := os.WriteFile(filepath.Join(out, "results.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	for name, figure := range figures {
		if err := figure.Save(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "report.md"), []byte(page), 0o644)
}

// write writes the results of those that are finished into a folder, and says why
// the others are not.
func (p *sweepPlan) write(cmd *cobra.Command, store run.Store, runs []*run.Run, broken []error, out string) error {
	var rows []sweep.Row
	for _, r := range runs {
		if !r.Is(run.Finished) {
			continue
		}
		row, err := sweep.Finished(r)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	var err error
	for _, m := range p.measures {
		if rows, err = measureAll(cmd, store, rows, m.name, m.rows); err != nil {
			return err
		}
	}
	made := len(rows)
	var said, old []string
	if p.table != nil {
		rows, said = p.others.join(rows, p.all)
		old, err = report(p.table, rows, store, out)
	} else {
		err = p.writeGrid(cmd, runs, rows, out)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "results of %d of %d runs are in %s\n", made, len(p.requests), out)
	for _, s := range said {
		fmt.Fprintln(cmd.ErrOrStderr(), s)
	}
	if len(old) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "not drawn again, and of what was there before: %s\n", strings.Join(old, ", "))
	}
	if p.others != nil {
		fmt.Fprintf(cmd.OutOrStdout(), "%d rows with those made elsewhere\n", len(rows))
	}
	return unfinished(runs, broken)
}

// writeGrid writes the tables of a grid, and a picture of its first metric.
func (p *sweepPlan) writeGrid(cmd *cobra.Command, runs []*run.Run, rows []sweep.Row, out string) error {
	c, err := compare.Runs(runs)
	if err != nil {
		return err
	}
	summary, err := c.Summary()
	if err != nil {
		return err
	}
	all, err := c.Rows()
	if err != nil {
		return err
	}
	page := fmt.Sprintf("# %s\n\n%s\n## Every run\n\n%s", p.title, summary.Markdown(), all.Markdown())
	figures := map[string]viz.Figure{}
	if figure, ok := c.Overview(p.varied); ok {
		figures["overview.png"] = figure
		page = strings.Replace(page, "\n## Every run", "\n![overview](overview.png)\n\n## Every run", 1)
	}
	if err := writeResults(out, rows, page, figures); err != nil {
		return err
	}
	fmt.Fprint(cmd.OutOrStdout(), summary)
	return nil
}

// writable makes a folder for results, and says before anything is computed if it cannot be
// written to.
func writable(out string) error {
	err := os.MkdirAll(out, 0o755)
	if err == nil {
		err = atomicfile.Writable(out)
	}
	if err != nil {
		return fmt.Errorf("the results of the sweep: %w; nothing was computed, and nothing paid: --out names another folder", err)
	}
	return nil
}
