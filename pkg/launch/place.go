package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"molehill/pkg/run"
)

// Place is where runs compute: this machine ([Local]) or a cluster ([Slurm]).
type Place interface {
	// Start returns the run that spec determines, and whether it was started.
	Start(ctx context.Context, store run.Store, spec run.Spec) (r *run.Run, started bool, err error)
	// Resume is Start for a run that has a directory already.
	Resume(ctx context.Context, r *run.Run) (started bool, err error)
}

// Cancel interrupts a run wherever it is computed, or takes it from the queue in
// which it waits. It can be continued. Of a run whose job computes others too nothing
// is cancelled: they would be interrupted with it.
func Cancel(ctx context.Context, r *run.Run) error {
	jobs, states, err := jobsOf(ctx, []*run.Run{r})
	if err != nil {
		return err
	}
	job := jobs[r.ID]
	if !states[keyOf(job)].alive() {
		return r.Cancel()
	}
	switch state, err := r.State(); {
	case err != nil:
		return err
	case state == run.Finished:
		return fmt.Errorf("launch: cancelling %s: it is finished: %w", r.ID, run.ErrIdle)
	}
	others, err := sharing(r)
	if err != nil {
		return err
	}
	if err := alone(r, job, others); err != nil {
		return err
	}
	return cancelJobs(ctx, job.ID)
}

// alone refuses to cancel the job of a run that computes others too.
func alone(r *run.Run, job run.Job, others map[jobKey][]string) error {
	if ids := others[keyOf(job)]; len(ids) > 0 {
		return fmt.Errorf("launch: cancelling %s: its Slurm job %s computes %s too, which would be interrupted with it; cancel the sweep that they are of, or all of them with `scancel %[2]s`", r.ID, job.ID, strings.Join(ids, ", "))
	}
	return nil
}

// sharing returns, by job, the IDs of runs beside these that it computes or is going to.
func sharing(these ...*run.Run) (map[jobKey][]string, error) {
	all, err := these[0].Store().List()
	if err != nil {
		return nil, err
	}
	others := map[jobKey][]string{}
	for _, e := range all {
		if e.Err != nil || e.State == run.Finished || slices.ContainsFunc(these, func(r *run.Run) bool { return r.ID == e.ID }) {
			continue
		}
		job, found, err := e.Run.Job()
		if !found || err != nil {
			continue
		}
		if lives, err := e.Run.Provenance(); err == nil && (e.State == run.Running || len(lives) <= job.Lives) {
			others[keyOf(job)] = append(others[keyOf(job)], e.ID) // else the job is done with it
		}
	}
	return others, nil
}

// Queued says where runs stand that wait for a cluster, or were given to one and
// are not seen computing yet, by their IDs: "queued as Slurm job 12_0 (Priority)".
func Queued(ctx context.Context, runs ...*run.Run) (map[string]string, error) {
	var given []*run.Run
	for _, r := range runs {
		if _, found, err := r.Job(); err != nil || !found {
			continue // what cannot be read is told by who reads the run
		}
		if state, err := r.State(); err == nil && state != run.Running && state != run.Finished {
			given = append(given, r)
		}
	}
	if len(given) == 0 {
		return nil, nil
	}
	jobs, states, err := jobsOf(ctx, given)
	said := map[string]string{}
	for _, r := range given {
		if state := states[keyOf(jobs[r.ID])]; state.alive() {
			said[r.ID] = state.describe(jobs[r.ID].ID)
		}
	}
	return said, err
}
