package lab

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/viz"
)

// Grid names a setting that varies over a sweep, and its values:
// lab.Grid("epsilon", 0.5, 1, 5). A text with commas in it is one value.
func Grid(name string, values ...any) Option {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = spelt(v)
	}
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(texts) // a Builder takes all
	w.Flush()
	return flag("--grid", name+"="+strings.TrimSuffix(line.String(), "\n"))
}

// Seeds repeats every setting of a sweep with so many seeds.
func Seeds(n int) Option { return flag("--seeds", strconv.Itoa(n)) }

// Jobs is how many runs of a sweep this machine computes at a time, 2 if it is not
// said.
func Jobs(n int) Option { return flag("--jobs", strconv.Itoa(n)) }

// Swept is a sweep: its runs, whatever their state.
type Swept struct {
	Comparison
	ID    string
	sweep *run.Sweep
}

// Sweep makes the runs of a grid of settings, or attaches to those that there are,
// shows how they stand, and returns them when all have come to rest:
//
//	s := lab.Sweep("sketch-flow", lab.Grid("epsilon", 0.5, 1, 5), lab.Seeds(3))
//	viz.Show(s.Summary(), s.Against("epsilon", "sliced W₂"))
//
// A process of its own starts the runs: interrupt the cell, close the browser, come
// back by executing the cell again. Runs that are finished are not made again.
func Sweep(experiment string, options ...Option) *Swept {
	return StartSweep(experiment, options...).Wait()
}

// StartSweep is Sweep without waiting; Swept.Wait does.
func StartSweep(experiment string, options ...Option) *Swept {
	arguments := []string{"sweep", experiment, "--detach", "--json"}
	for _, option := range options {
		arguments = option(arguments)
	}
	var answer struct{ ID string }
	if err := ask(&answer, arguments...); err != nil {
		fail(err)
	}
	return OpenSweep(answer.ID)
}

// OpenSweep returns a sweep by its ID, or the beginning of one.
func OpenSweep(id string) *Swept {
	w := must(must(run.DefaultStore()).OpenSweep(id))
	runs, _ := w.Open() // a deleted one is none of it any more
	if len(runs) == 0 {
		fail(fmt.Errorf("all runs of the sweep %s were deleted", w.ID))
	}
	return &Swept{compared(runs), w.ID, w}
}

// Wait shows how the runs stand until all have come to rest, and says which of
// them have failed or ended unfinished. Interrupt the cell to stop watching; the runs go on.
func (s *Swept) Wait() *Swept {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.watch(ctx, s.working); err != nil {
		if left, ok := errors.AsType[*leftError](err); ok {
			left.what = "the sweep " + s.ID
			left.command = s.ID
		}
		fail(err)
	}
	for i, r := range s.Runs {
		err := r.Failure()
		if state, no := r.State(); err == nil && (no != nil || state != run.Finished) {
			err = cmp.Or(no, errors.Join(fmt.Errorf("it is %s, as what computed it has ended; the same sweep continues it", state), r.Writable()))
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", s.Labels[i], err)
			fmt.Fprintln(os.Stderr, "lab:", err)
			viz.Show(err)
		}
	}
	return s
}

// working reports whether a process starts runs of the sweep.
func (s *Swept) working() bool {
	busy, err := s.sweep.Working()
	return err == nil && busy
}

// Cancel interrupts the runs that are computed, and starts no others. The same
// sweep again goes on.
func (s *Swept) Cancel() {
	if err := launch.CancelSweep(context.Background(), s.sweep, s.Comparison.Comparison.Runs); err != nil && !errors.Is(err, run.ErrIdle) {
		fail(err)
	}
}
