package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"

	"molehill/pkg/compare"
	"molehill/pkg/follow"
	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/pkg/run/draw"
	"molehill/viz"
)

// Cancel interrupts the run, on this machine or on a cluster, or takes it from
// the queue. It can be continued: start it again.
func (r *Result) Cancel() {
	if err := launch.Cancel(context.Background(), r.Run); err != nil && !errors.Is(err, run.ErrIdle) {
		fail(err)
	}
}

// Name gives the run a name to open it by; a name that another run has moves.
func (r *Result) Name(name string) *Result {
	must(r.Run.Store().Name(r.Run, name))
	return r
}

// Watch shows the run's progress, its curves and the images that it has made so
// far, all changing in place, until nothing is computed any more. Interrupt the
// cell to stop watching; the run goes on.
func (r *Result) Watch() *Result {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var picture viz.Live
	var shown [2]any // what the picture was drawn from
	var seldom pace
	look := func() {
		if !gonbui.IsNotebook {
			return
		}
		e, _ := r.Last()
		if state := [2]any{r.Changed("samples.npy"), e.Step}; state != shown {
			shown = state
			if figure := r.soFar(); figure != nil {
				picture.Update(figure)
			}
		}
	}
	err := settled(ctx, r.Run, follow.Run(ctx, r.Run, func() { seldom.do(look) }))
	look()
	picture.Done()
	return finished(r.Run, err)
}

// soFar is a curve and the images of a run at the moment, nil if there are none.
func (r *Result) soFar() viz.Figure {
	const shown = 36
	var cells []viz.Figure
	var heads []string
	// The curve comes first: a row of panels has its scale at the left.
	if curve := (compare.Comparison{Runs: []*run.Run{r.Run}, Labels: []string{""}}).Figure(); len(curve.Lines) > 0 && len(curve.Lines[0].Y) > 1 {
		cells, heads = append(cells, curve), append(heads, curve.Title)
	}
	if grid, err := draw.Images(r.Run, "samples.npy", shown); err == nil {
		cells, heads = append(cells, grid), append(heads, "generated so far")
	}
	switch len(cells) {
	case 0:
		return nil
	case 1:
		return cells[0]
	}
	return viz.Panels{Cells: cells, Cols: heads, Columns: len(cells)}
}

// pace keeps what is slow to a fifth of the time: a curve is read anew from all events, which
// on its way through a long run takes a core from who computes it.
type pace struct{ next time.Time }

// do calls what is due, and reports whether it was.
func (p *pace) do(what func()) (due bool) {
	began := time.Now()
	if began.Before(p.next) {
		return false
	}
	what()
	p.next = time.Now().Add(4 * time.Since(began))
	return true
}

const (
	boardInterval = 500 * time.Millisecond // how often a board of several runs is looked at
	mostLines     = 8                      // of runs whose curves are drawn while they are watched
)

// Watch shows several runs at once, their curves in one figure and how they stand
// in one table, both changing in place, until none is computed or waits any more.
// Interrupt the cell to stop watching; the runs go on.
func Watch(runs ...*Result) Comparison {
	c := Compare(runs...)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := c.watch(ctx, func() bool { return false }); err != nil {
		fail(err)
	}
	return c
}

// watch shows the board until every run has come to rest and nobody is working
// on them.
func (c *Comparison) watch(ctx context.Context, working func() bool) error {
	var figure, table viz.Live
	defer table.Done()
	defer figure.Done()
	var seldom pace
	redraw := func() {
		if drawn := c.Figure(); len(drawn.Lines) > 0 {
			figure.Update(drawn)
		}
	}
	steps := -1
	for {
		busy := working() // before looking: who has just stopped has nothing left to do
		sum, running, queued := c.look()
		rest := running+queued == 0 && !busy
		if gonbui.IsNotebook {
			if sum != steps && len(c.Runs) <= mostLines {
				if rest {
					seldom = pace{}
				}
				if seldom.do(redraw) {
					steps = sum
				}
			}
			table.Update(c.board())
		}
		if rest {
			return nil
		}
		pause := boardInterval
		if queued > 0 {
			pause = launch.QueueInterval
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			var ids []string
			for _, r := range c.Runs {
				ids = append(ids, run.Short(r.ID))
			}
			return &leftError{fmt.Sprintf("what is computed of %d runs", len(ids)), strings.Join(ids, " ")}
		}
	}
}

// look sees how the runs stand: a number that changes with their steps, and how
// many of them are computed here, or in the hands of a cluster.
func (c *Comparison) look() (steps, running, queued int) {
	c.States, queued = launch.Standing(context.Background(), c.Comparison.Runs...)
	for _, r := range c.Runs {
		switch state, _ := r.State(); state { // one that cannot be read is at rest
		case run.Running:
			running++
		case run.Finished:
			steps++
		}
		if e, ok := r.Last(); ok {
			steps += e.Step
		}
	}
	return steps, running, queued
}

// board is a table of how runs stand, with the newest value of their curves.
func (c *Comparison) board() viz.Table {
	t := viz.Table{Header: []string{"", "state", "step", "rate", "left", "now"}}
	for i, r := range c.Runs {
		row := []any{c.Labels[i], c.States[i]}
		if e, ok := r.Last(); ok {
			row = append(row, fmt.Sprintf("%d of %d", e.Step, e.Total))
			if state, _ := r.State(); state == run.Running && e.Rate > 0 {
				left := time.Duration(float64(e.Total-e.Step) / e.Rate * float64(time.Second))
				row = append(row, fmt.Sprintf("%.3g/s", e.Rate), left.Round(time.Second).String())
			} else {
				row = append(row, "", "")
			}
			row = append(row, r.newest())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// newest is the newest value of the run's first curve, "sliced W₂ 0.012".
func (r *Result) newest() string {
	for _, e := range slices.Backward(r.Recent()) {
		if text := follow.Note(e); text != "" {
			return text
		}
	}
	return ""
}
