package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/lab"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

func watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch RUN|SWEEP...",
		Short: "watch what is being computed; Ctrl-C stops watching and nothing else",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, sweeps, err := findAll(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if len(runs) == 1 && len(sweeps) == 0 {
				err = lab.Follow(ctx, runs[0])
			} else {
				var compared lab.Comparison
				if compared, err = lab.CompareRuns(runs); err == nil {
					attention := attention{runs: runs, labels: compared.Labels, working: func() bool { return working(sweeps) }}
					_, err = attention.pay(ctx, cmd.ErrOrStderr())
				}
			}
			if ctx.Err() != nil {
				fmt.Fprintln(cmd.OutOrStdout(), "stopped watching; what is computed goes on")
				return nil
			}
			if err != nil {
				return err
			}
			if len(runs) == 1 {
				return describe(cmd.OutOrStdout(), runs[0], false)
			}
			compared, err := lab.CompareRuns(runs)
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), compared.Table())
			return nil
		},
	}
}

// findAll opens runs, and the runs of sweeps.
func findAll(called []string) (runs []*run.Run, sweeps []*run.Sweep, err error) {
	store, err := run.DefaultStore()
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	add := func(r *run.Run) {
		if !seen[r.ID] {
			seen[r.ID] = true
			runs = append(runs, r)
		}
	}
	for _, c := range called {
		r, err := store.Open(c)
		if err == nil {
			add(r)
			continue
		}
		sweep, none := store.OpenSweep(c)
		switch {
		case none == nil && (errors.Is(err, run.ErrUnknown) || sweep.ID == c):
		case none == nil || errors.Is(none, run.ErrUnknown):
			return nil, nil, err // runs are what most people mean
		default:
			return nil, nil, none
		}
		sweeps = append(sweeps, sweep)
		for _, id := range sweep.Runs {
			if r, err := store.Open(id); err == nil { // a deleted one is none of it any more
				add(r)
			}
		}
	}
	return runs, sweeps, nil
}

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
		busy := a.working() // before looking: who has just stopped has nothing left to do
		queued, err := launch.Queued(ctx, a.runs...)
		if err != nil {
			return broken, err
		}
		left, percent, running := 0, 0, 0
		for i, r := range a.runs {
			percent += percentOf(r, rested[i])
			if rested[i] {
				continue
			}
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
				said = broken[i].Error()
			}
			line("")
			fmt.Fprintf(w, "%d/%d %s: %s\n", told, len(a.runs), a.labels[i], said)
		}
		if left == 0 {
			return broken, ctx.Err()
		}
		line(fmt.Sprintf("%d %% of %d runs: %d finished, %d computed now, %d queued", percent/len(a.runs), len(a.runs), told, running, len(queued)))
		pause := 200 * time.Millisecond
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
	info, err := os.Stderr.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
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
		return run.Result{}, fmt.Errorf("%s is %s, and nobody computes it; `molehill resume %[1]s` does", r.ID, state)
	}
}

func resume() *cobra.Command {
	var where placing
	var detach bool
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "go on with a run that was interrupted or has failed, from its last checkpoint",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := find(args[0])
			if err != nil {
				return err
			}
			place, err := where.place()
			if err != nil {
				return err
			}
			if _, err := place.Resume(cmd.Context(), r); err != nil {
				return err
			}
			if !detach {
				if err := watch(cmd, r); err != nil {
					return err
				}
			}
			return describe(cmd.OutOrStdout(), r, false)
		},
	}
	where.add(cmd.Flags())
	cmd.Flags().BoolVar(&detach, "detach", false, "do not watch")
	return cmd
}

func compareCommand() *cobra.Command {
	var figure, curve string
	var metrics []string
	cmd := &cobra.Command{
		Use:     "compare RUN|SWEEP...",
		Short:   "several runs in one table, and with --figure their curves in one picture",
		Example: "  molehill compare baseline sketch-flow@1a2b3c --figure curves.png",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, _, err := findAll(args)
			if err != nil {
				return err
			}
			compared, err := lab.CompareRuns(runs)
			if err != nil {
				return err
			}
			have := compared.Metrics()
			for _, name := range metrics {
				if !strings.Contains("\x00"+strings.Join(have, "\x00")+"\x00", "\x00"+name+"\x00") {
					return fmt.Errorf("--metric %s: none of the runs has measured that; they have %s", name, strings.Join(have, ", "))
				}
			}
			fmt.Fprint(cmd.OutOrStdout(), compared.Table(metrics...))
			if figure == "" {
				return nil
			}
			drawn := compared.Figure()
			if curve != "" {
				drawn = compared.Curve(curve)
			}
			if len(drawn.Lines) == 0 {
				return fmt.Errorf("no curve to draw; the runs have told of %s", strings.Join(append(compared.Curves(), "no more"), ", "))
			}
			if err := drawn.Save(figure); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), figure)
			return nil
		},
	}
	cmd.Flags().StringVar(&figure, "figure", "", "a .png, .svg or .pdf file to draw a curve of the runs into")
	cmd.Flags().StringVar(&curve, "curve", "", "which curve to draw (default: the one that most runs have)")
	cmd.Flags().StringArrayVar(&metrics, "metric", nil, "only this metric (repeatable)")
	return cmd
}
