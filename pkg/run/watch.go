package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// State is what a run is at the moment. No file holds it: it follows from which
// files there are and whether the lock is held, so it cannot be out of date.
type State string

// The states of a run.
const (
	Pending     State = "pending"     // no process has computed it yet
	Running     State = "running"     // a process is computing it
	Interrupted State = "interrupted" // the process ended before the run did
	Failed      State = "failed"      // the process gave up; see Failure
	Finished    State = "finished"    // see Result
)

// State returns the run's state.
func (r *Run) State() (State, error) {
	state, _, err := r.look()
	return state, err
}

// ErrDeleted says that the run's directory is gone.
var ErrDeleted = errors.New("its directory was deleted; what its releases cost stays spent, and the same run again makes new ones")

// look returns the state, and the number of processes that computed so far.
//
// The lock comes first: if it was free, whoever held it has written all it had
// to write, and the files tell the rest.
func (r *Run) look() (State, int, error) {
	held, err := locked(r.Dir)
	if err != nil {
		return "", 0, fmt.Errorf("run: state of %s: %w", r.ID, err)
	}
	record, err := readRecord(r.Dir)
	lives := len(record.Provenance)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !exists(r.Dir):
		return "", 0, fmt.Errorf("run: %s: %w", r.ID, ErrDeleted)
	case err != nil:
		return "", 0, err
	case exists(r.path(resultFile)):
		return Finished, lives, nil
	case held:
		return Running, lives, nil
	case exists(r.path(errorFile)):
		return Failed, lives, nil
	case lives == 0 && !signed(r.Dir): // one that ends before it has told of itself has signed
		return Pending, lives, nil
	}
	return Interrupted, lives, nil
}

// Is reports whether the run is in a state, as far as that can be told.
func (r *Run) Is(state State) bool {
	found, err := r.State()
	return err == nil && found == state
}

// Update is what a watcher sees of a run since the update before.
type Update struct {
	State  State
	Events []Event
	// Rewound says that the run was resumed from a checkpoint: forget the
	// events of earlier updates, Events has them all from the beginning.
	Rewound bool
	// Err says that the directory, or part of its events, cannot be read.
	Err error
}

// watchInterval is how often a watcher looks at the directory. Looking is
// cheaper than a notification service is to set up, and works on every file
// system, those of networks included.
const watchInterval = 100 * time.Millisecond

// Watch returns a channel with the run's events from its beginning, and its
// changes of state. The channel ends with ctx, or after the update that says
// that nothing is being computed any more: finished, failed, interrupted. A
// pending run is waited for.
func (r *Run) Watch(ctx context.Context) <-chan Update {
	updates := make(chan Update)
	go func() {
		defer close(updates)
		w := watcher{run: r}
		for {
			if u, news := w.poll(); news {
				select {
				case updates <- u:
				case <-ctx.Done():
					return
				}
				if u.State != Pending && u.State != Running {
					return
				}
			}
			select {
			case <-time.After(watchInterval):
			case <-ctx.Done():
				return
			}
		}
	}()
	return updates
}

// watcher is the reading position of one watch.
type watcher struct {
	run    *Run
	state  State
	lives  int
	offset int64 // of the first event not seen yet
}

// poll looks once. The state is read before the events, so that the update with
// the final state has the final events.
func (w *watcher) poll() (u Update, news bool) {
	state, lives, err := w.run.look()
	if err != nil {
		return Update{Err: err}, true
	}
	path := filepath.Join(w.run.Dir, eventsFile)
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	u.State = state
	if u.Rewound = w.offset > 0 && (lives != w.lives || size < w.offset); u.Rewound {
		w.offset = 0
	}
	if size > w.offset {
		before := w.offset
		u.Events, w.offset, u.Err = readEvents(path, before)
		if errors.Is(u.Err, errEndless) || u.Err != nil && w.offset == before {
			w.offset = max(size, w.offset) // what cannot be read is passed over: say so once
		}
	}
	news = u.Rewound || len(u.Events) > 0 || u.Err != nil || state != w.state
	w.state, w.lives = state, lives
	return u, news
}

// Wait watches until nothing is being computed any more, and returns the result
// or why there is none.
func (r *Run) Wait(ctx context.Context) (Result, error) {
	var last Update
	for last = range r.Watch(ctx) {
	}
	switch {
	case last.State == Finished:
		return r.Result()
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case last.State == Failed:
		return Result{}, r.Failure()
	case last.State == Interrupted:
		return Result{}, errors.Join(fmt.Errorf("run: %s was interrupted; start it again to go on from its last checkpoint (%s may say why)", r.ID, r.LogPath()), r.Writable())
	}
	return Result{}, last.Err
}

// Events returns all events so far, of a run that this process computes also those that
// wait to be written. With an error there may still be some: those that can be read.
func (r *Run) Events() ([]Event, error) {
	r.holding.write()
	events, _, err := readEvents(r.path(eventsFile), 0)
	if err != nil {
		return events, fmt.Errorf("run: %w", err)
	}
	return events, nil
}

// Curve returns the values that were emitted under name and the steps they
// belong to, in the order of computing, both [n]; empty if there are none.
func (r *Run) Curve(name string) (steps []int, values []float64, err error) {
	events, err := r.Events()
	for _, e := range events {
		if value, ok := e.Values[name]; ok {
			steps = append(steps, e.Step)
			values = append(values, value)
		}
	}
	return steps, values, err
}

// Curves returns the names of the run's curves, sorted. With an error there may still be
// some: those that can be read.
func (r *Run) Curves() (names []string, err error) {
	events, err := r.Events()
	told := map[string]bool{}
	for _, e := range events {
		for name := range e.Values {
			told[name] = true
		}
	}
	return slices.Sorted(maps.Keys(told)), err
}

// Recent returns the newest events, those of the last 64 KB of them: how far the
// computation is, without reading all that it told before.
func (r *Run) Recent() []Event {
	path := r.path(eventsFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	// The first line is torn unless it is the first of all, and passed over as no event.
	events, _, _ := readEvents(path, max(0, info.Size()-64<<10))
	return events
}

// Last returns the newest event that tells how far the computation is, false if
// there is none among the recent ones.
func (r *Run) Last() (Event, bool) {
	for _, e := range slices.Backward(r.Recent()) {
		if e.Total > 0 {
			return e, true
		}
	}
	return Event{}, false
}
