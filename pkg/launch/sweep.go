package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"molehill/pkg/run"
)

// Sweep makes the runs of a sweep, jobs at a time, for this process; the runs themselves
// are computed by jobs others, each of which computes one after the other. tell is called
// with each that has come to its end, nil if it is finished. One that fails does not stop
// the others. When ctx ends those that are computed are interrupted. It returns
// run.ErrBusy while another process makes them.
func (l Local) Sweep(ctx context.Context, w *run.Sweep, runs []*run.Run, jobs int, tell func(r *run.Run, err error)) (err error) {
	if err := w.Acquire(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Release()) }()
	workers := pool{local: l}
	defer workers.dismiss()
	var group errgroup.Group
	group.SetLimit(max(jobs, 1))
	for _, r := range runs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			worker, err := workers.resume(ctx, r)
			if err == nil {
				err = Await(ctx, r, func(string) {})
			}
			if err == nil {
				_, err = r.Wait(ctx)
			}
			if ctx.Err() != nil && worker != nil && !worker.idle {
				if worker.stop(); !worker.gone {
					return ctx.Err() // it ends after its step; asked twice it would end within it
				}
			}
			workers.back(ctx, worker)
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), stop(r))
			}
			tell(r, err)
			return nil
		})
	}
	return group.Wait()
}

// patience is how long a run may take to end that was asked to: a step of it.
const patience = 10 * time.Second

// stop interrupts a run that is computed here, and waits for its end.
func stop(r *run.Run) error {
	if err := r.Cancel(); errors.Is(err, run.ErrIdle) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	_, _ = r.Wait(ctx) // how it stands then is for others to say
	return nil
}

// StartSweep gives a sweep a process of its own that makes its runs, jobs at a
// time, unless one does already: Binary's "compute-sweep DIR --jobs N".
func (l Local) StartSweep(ctx context.Context, w *run.Sweep, jobs int) (err error) {
	if working, err := w.Working(); working || err != nil {
		return err
	}
	p, err := l.spawn(ctx, w.LogPath(), false, "compute-sweep", w.Dir, "--jobs", strconv.Itoa(jobs))
	if err != nil {
		return err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case exit := <-p.ends: // it may have had nothing to do
			if exit.err != nil {
				return fmt.Errorf("launch: the process that was to make the runs of %s ended at once: %w\nit printed, to %s:\n%s", w.ID, exit.err, w.LogPath(), logTail(w.LogPath(), p.log))
			}
			return nil
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if working, err := w.Working(); working || err != nil {
			return err
		}
	}
}

// CancelSweep stops the process that starts a sweep's runs, which interrupts those
// that it has started, and then whatever else computes them, or will. It returns
// run.ErrIdle if there was nothing to stop.
func CancelSweep(ctx context.Context, w *run.Sweep, runs []*run.Run) error {
	idle := true
	if !slices.ContainsFunc(runs, func(r *run.Run) bool { return !r.Is(run.Finished) }) {
		return fmt.Errorf("launch: cancelling %s: all its runs are finished: %w", w.ID, run.ErrIdle)
	}
	switch err := w.Cancel(); {
	case err == nil:
		idle = false
		// It asks its runs itself; asked twice they would end at once.
		for busy := true; busy && err == nil; {
			select {
			case <-time.After(50 * time.Millisecond):
				busy, err = w.Working()
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			return fmt.Errorf("launch: cancelling %s: %w", w.ID, err)
		}
	case !errors.Is(err, run.ErrIdle):
		return err
	}
	// Those in the queue first, in one go: else each that ends makes room for another.
	jobs, states, err := jobsOf(ctx, runs)
	if err != nil {
		return err
	}
	others, err := sharing(runs...)
	if err != nil {
		return err
	}
	var failed []error
	var queued []string
	for _, r := range runs {
		job, found := jobs[r.ID]
		if !found || !states[keyOf(job)].alive() {
			continue
		}
		if err := alone(r, job, others); err != nil {
			failed = append(failed, err)
		} else if !slices.Contains(queued, job.ID) {
			queued = append(queued, job.ID)
		}
	}
	if len(queued) > 0 {
		idle = false
		if err := cancelJobs(ctx, queued...); err != nil {
			return err
		}
	}
	for _, r := range runs {
		if job, found := jobs[r.ID]; found && states[keyOf(job)].alive() {
			continue
		}
		switch err := r.Cancel(); {
		case err == nil:
			idle = false
		case !errors.Is(err, run.ErrIdle):
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 && idle {
		return fmt.Errorf("launch: cancelling %s: %w", w.ID, run.ErrIdle)
	}
	return errors.Join(failed...)
}
