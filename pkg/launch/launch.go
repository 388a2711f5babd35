// Package launch starts runs: it gives a run that nobody computes a process of
// its own, on this machine or on a cluster, and leaves alone one that somebody
// does.
//
//	r, started, err := launch.Local{}.Start(ctx, store, spec)
//	for update := range r.Watch(ctx) { … }
//
// Any number of processes may start the same run at any time. The run's lock
// decides who computes; all others attach to what is going on.
package launch

import (
	"context"

	"molehill/pkg/run"
)

// Local starts runs on this machine. Binary is the molehill command to compute
// with, as "Binary compute DIR"; if it is empty [FindBinary] finds one, when it
// is needed.
type Local struct{ Binary string }

// Start returns the run that spec determines, finished or with a process that
// computes it; started says whether that process is ours. A run that failed or
// was interrupted goes on from its last checkpoint. An error says why there is
// no run, or why its process ended before it could compute, with the end of
// what it printed.
//
// The process has a session of its own: closing the notebook or the terminal
// stops nothing. Nor does ctx, which only ends the waiting. See [run.Run.Cancel].
func (l Local) Start(ctx context.Context, store run.Store, spec run.Spec) (r *run.Run, started bool, err error) {
	if r, err = store.Create(spec); err != nil {
		return nil, false, err
	}
	started, err = l.Resume(ctx, r)
	return r, started, err
}

// Resume is Start for a run that has a directory already.
func (l Local) Resume(ctx context.Context, r *run.Run) (started bool, err error) {
	if needed, err := needed(ctx, r); !needed {
		return false, err
	}
	w, err := l.spawn(ctx, r.LogPath(), false, "compute", r.Dir)
	if err != nil {
		return false, err
	}
	return w.await(ctx, r)
}

// needed reports whether a run needs a process: it is not finished, and nobody computes
// it or will.
func needed(ctx context.Context, r *run.Run) (bool, error) {
	switch state, err := r.State(); {
	case err != nil:
		return false, err
	case state == run.Finished:
		return false, r.Settle()
	case state == run.Running:
		return false, nil
	}
	queued, err := Queued(ctx, r)
	return err == nil && queued[r.ID] == "", err
}
