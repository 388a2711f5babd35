package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"
)

// Loop is a computation of steps, one after another.
type Loop struct {
	Total int           // steps to make
	Later int           // steps that other parts of the run make after these, for watchers
	Every time.Duration // between checkpoints, where Interval has no other; 0 is 20 s
	Apart int           // it is saved after a multiple of so many steps alone, or the last; 0 is any
	// Step makes the step after done others. What it returns is told of the done+1, and nil
	// is nothing but how far the run is.
	Step func(done int) (Values, error)
	// Save writes the state after so many steps, to go on from.
	Save func(to io.Writer, done int) error
}

// usual is how much a process that is killed may have to compute again.
const usual = 20 * time.Second

// patience is how long steps go on to where they may stop. Containers and clusters kill what
// has not ended 10 and 30 s after they asked.
const patience = 5 * time.Second

// Run makes the steps after the first done ones, which Restore tells. It emits an event
// for each, and checkpoints now and then and after the last. When ctx ends it saves what
// there is, after up to Apart steps more, or those of a few seconds, and returns ctx's error:
// no step is made twice, whose numbers another device might round otherwise.
func (l Loop) Run(ctx context.Context, r *Run, done int) error {
	began, saved, first, every := time.Now(), time.Now(), done, Interval(cmp.Or(l.Every, usual))
	save := func(to io.Writer) error { return l.Save(to, done) }
	mayStop := func() bool { return done%max(1, l.Apart) == 0 }
	var asked time.Time // to stop
	for done < l.Total {
		err := ctx.Err()
		if err != nil && asked.IsZero() {
			asked = time.Now()
		}
		if err != nil && (mayStop() || time.Since(asked) > patience) {
			if done > 0 {
				err = cmp.Or(r.Rest(done, save), err)
			}
			return err
		}
		values, err := l.Step(done)
		if err != nil {
			return fmt.Errorf("step %d: %w", done+1, err)
		}
		done++
		event := Event{Step: done, Total: l.Total + l.Later, Rate: float64(done-first) / time.Since(began).Seconds(), Values: values}
		if err := r.Emit(event); err != nil {
			return err
		}
		if mayStop() && time.Since(saved) > every || done == l.Total {
			if err := r.Checkpoint(done, save); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
	return nil
}
