package launch

import (
	"context"
	"errors"
	"fmt"

	"molehill/pkg/run"
)

// Standing says how each of some runs stands, for people: "finished", "running, 45 %", or
// where it waits; and how many of them are in the hands of a cluster.
func Standing(ctx context.Context, runs ...*run.Run) (states []string, queued int) {
	// A cluster that does not answer is no reason not to say what is known.
	waiting, silent := Queued(ctx, runs...)
	for _, r := range runs {
		states = append(states, standing(r, waiting[r.ID], silent != nil))
	}
	return states, len(waiting)
}

// standing is Standing for one run; waits says where, "" if it does not.
func standing(r *run.Run, waits string, silent bool) string {
	state, err := r.State()
	switch {
	case errors.Is(err, run.ErrDeleted):
		return "deleted"
	case err != nil:
		return "unreadable"
	case waits != "":
		return waits
	}
	said := string(state)
	if state == run.Running || state == run.Interrupted || state == run.Failed {
		if e, ok := r.Last(); ok {
			said += fmt.Sprintf(", %d %%", 100*e.Step/e.Total)
		}
	}
	if _, given, _ := r.Job(); given && silent && state != run.Finished && state != run.Running {
		said += " (Slurm does not answer)"
	}
	return said
}
