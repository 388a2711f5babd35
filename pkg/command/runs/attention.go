package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// working reports whether a process starts the runs of any of the sweeps.
func working(sweeps []*run.Sweep) bool {
	for _, sweep := range sweeps {
		if busy, err := sweep.Working(); err == nil && busy {
			return true
		}
	}
	return false
}

// attention is paid to runs that are being made.
type attention struct {
	runs    []*run.Run
	labels  []string
	graphs  *graphs                // what tells of slow ones; may be nil
	working func() bool            // whether somebody starts those that wait
	why     func(r *run.Run) error // why one could not be made, nil if that is not known; may be nil
}

// pay shows how far the runs are and tells of each when it has come to rest, until
// all have: finished, failed, or waiting for nobody. It returns why those that are
// not finished are not, in the order of the runs.
func (a attention) pay(ctx context.Context, w io.Writer) (broken []error, err error) {
	began, told, rested := time.Now(), 0, make([]bool, len(a.runs))
	broken = make([]error, len(a.runs))
	line := statusLine()
	defer line("")
	for {
		looking := time.Now()
		busy := a.working() // before looking: who has just stopped has nothing left to do
		var queued map[string]string
		err := launch.Patiently(ctx, func(text string) { fmt.Fprintln(w, text) }, func() (err error) {
			queued, err = launch.Queued(ctx, a.runs...)
			return err
		})
		if err != nil {
			return broken, err
		}
		left, percent, running := 0, 0, 0
		for i, r := range a.runs {
			percent += percentOf(r, rested[i])
			if rested[i] {
				continue
			}
			a.graphs.look(r)
			state, err := r.State()
			if err == nil && state != run.Finished && a.why != nil {
				err = a.why(r)
			}
			switch {
			case err != nil:
				broken[i] = err
			case state == run.Running:
				left, running = left+1, running+1
				continue
			case state != run.Finished && (queued[r.ID] != "" || busy):
				left++
				continue
			case state != run.Finished:
				if broken[i] = launch.Await(ctx, r, func(string) {}); broken[i] == nil {
					_, broken[i] = restOf(r)
				}
			}
			rested[i] = true
			told++
			said := fmt.Sprintf("finished (%s in all)", time.Since(began).Round(time.Second))
			if broken[i] != nil {
				said = whyOf(broken[i])
			}
			line("")
			fmt.Fprintf(w, "%d/%d %s: %s\n", told, len(a.runs), a.labels[i], said)
		}
		if left == 0 {
			return broken, ctx.Err()
		}
		line(fmt.Sprintf("%d %% of %s: %d finished, %d computed now, %d queued", percent/len(a.runs), cli.Count(len(a.runs), "run", "runs"), told, running, len(queued)))
		pause := pauseAfter(time.Since(looking))
		if len(queued) > 0 {
			pause = launch.QueueInterval
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return broken, ctx.Err()
		}
	}
}

// pauseAfter is how long nobody looks after a look of so long. What looks at a hundred runs
// five times a second takes an eighth of a core from them; one that was long has waited for
// a cluster, or a disk, and takes nothing.
func pauseAfter(looked time.Duration) time.Duration {
	return min(max(200*time.Millisecond, 50*looked), 10*time.Second)
}

// whyOf is what is said of an error where its run has been named.
func whyOf(err error) string {
	if failed, ok := errors.AsType[*run.FailedError](err); ok {
		return "failed: " + failed.Why
	}
	return err.Error()
}

// unfinished names the runs that are not finished. Why was told of each.
func unfinished(runs []*run.Run, broken []error) error {
	var names []string
	recurring := 0
	for i, why := range broken {
		if why == nil {
			continue
		}
		names = append(names, run.Short(runs[i].ID))
		if failed, ok := errors.AsType[*run.FailedError](why); ok && failed.Recurs {
			recurring++
		}
	}
	again := "the same command makes them again"
	switch {
	case names == nil:
		return nil
	case recurring == len(names):
		again = "the same command would fail again"
	case recurring > 0:
		again += fmt.Sprintf(", of which %d would fail again", recurring)
	}
	return fmt.Errorf("%d of %s did not finish, for the reasons above: %s; %s", len(names), cli.Count(len(runs), "run", "runs"), strings.Join(names, ", "), again)
}

// percentOf is how much of a run is done.
func percentOf(r *run.Run, rested bool) int {
	if rested {
		return 100
	}
	if e, ok := r.Last(); ok {
		return 100 * min(e.Step, e.Total) / e.Total
	}
	return 0
}

// statusLine returns how to show a line that changes in place, or to take it away:
// on a terminal. Elsewhere nothing is shown.
func statusLine() func(text string) {
	if !term.IsTerminal(int(os.Stderr.Fd())) || os.Getenv("TERM") == "dumb" {
		return func(string) {}
	}
	return func(text string) { fmt.Fprintf(os.Stderr, "\r\x1b[K%s", text) }
}

// restOf is the result of a run that nobody computes, or why there is none.
func restOf(r *run.Run) (run.Result, error) {
	switch state, err := r.State(); {
	case err != nil:
		return run.Result{}, err
	case state == run.Finished:
		return r.Result()
	case state == run.Failed:
		return run.Result{}, r.Failure()
	default:
		return run.Result{}, errors.Join(fmt.Errorf("%s is %s, and nobody computes it; `molehill resume %[1]s` does", r.ID, state), r.Writable())
	}
}
