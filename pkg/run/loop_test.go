package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// counting is a computation whose state is how many steps it has made, and which notes
// which those were.
type counting struct {
	made []int
	last int    // the step in which it is told to stop
	stop func() // tells it
}

func (c *counting) loop(total int) Loop {
	return Loop{Total: total, Later: 2, Every: time.Hour,
		Step: func(done int) (Values, error) {
			c.made = append(c.made, done)
			if done+1 == c.last {
				c.stop()
			}
			if done%2 == 0 {
				return nil, nil
			}
			return Values{"steps": float64(done + 1)}, nil
		},
		Save: func(to io.Writer, done int) error {
			_, err := fmt.Fprint(to, done)
			return err
		},
	}
}

// A loop that is told to stop saves the step that it has come to, and goes on from there;
// no step is made twice, and none is left out.
func TestALoopGoesOnWhereItStopped(t *testing.T) {
	for _, at := range []int{1, 3} {
		r := acquired(t, Spec{Experiment: "a"})
		ok(t, r.ComputedOn("a backend", ""))
		if done, _ := restored(t, r); done != 0 {
			t.Fatalf("a new run begins at step %d", done)
		}
		ctx, stop := context.WithCancel(t.Context())
		c := &counting{last: at, stop: stop}
		if err := c.loop(5).Run(ctx, r, 0); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped: %v", err)
		}
		ok(t, r.Release())
		reacquire(t, r)
		ok(t, r.ComputedOn("another backend", "")) // as it is at rest
		done, state := restored(t, r)
		if done != at || state != fmt.Sprint(at) {
			t.Fatalf("it goes on from step %d, %q; want %d", done, state, at)
		}
		ok(t, c.loop(5).Run(t.Context(), r, done), r.Release())
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(c.made, want) {
			t.Errorf("made %v, want %v", c.made, want)
		}
		events, err := r.Events()
		ok(t, err)
		var told []float64
		for _, e := range events {
			if e.Step > 0 && e.Total != 7 {
				t.Errorf("step %d of %d, want of 7", e.Step, e.Total)
			}
			if v, ok := e.Values["steps"]; ok {
				told = append(told, v)
			}
		}
		if !slices.Equal(told, []float64{2, 4}) {
			t.Errorf("told %v, want of steps 2 and 4", told)
		}
		reacquire(t, r)
		ok(t, r.ComputedOn("another backend", ""))
		if done, state := restored(t, r); done != 5 || state != "5" {
			t.Errorf("after the last step: %d, %q", done, state)
		}
	}
}

// A loop that is stopped before its first step has nothing to save, and one whose step
// fails says which.
func TestALoopThatDoesNotBegin(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.ComputedOn("a backend", ""))
	restored(t, r)
	ended, stop := context.WithCancel(t.Context())
	stop()
	c := &counting{}
	if err := c.loop(5).Run(ended, r, 0); !errors.Is(err, context.Canceled) || len(c.made) > 0 {
		t.Errorf("made %v, %v", c.made, err)
	}
	l := c.loop(5)
	l.Step = func(int) (Values, error) { return nil, errors.New("no") }
	if err := l.Run(t.Context(), r, 0); err == nil || !strings.Contains(err.Error(), "step 1: no") {
		t.Error(err)
	}
}

// Checkpoints come as often as the environment asks for.
func TestALoopSavesAsOftenAsAsked(t *testing.T) {
	t.Setenv(IntervalVariable, "0s")
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.ComputedOn("a backend", ""))
	restored(t, r)
	l, saved := (&counting{}).loop(3), []int(nil)
	l.Save = func(_ io.Writer, done int) error {
		saved = append(saved, done)
		return nil
	}
	ok(t, l.Run(t.Context(), r, 0))
	if !slices.Equal(saved, []int{1, 2, 3}) {
		t.Errorf("saved after %v", saved)
	}
	// Where it may only be saved after every other step, it is, and after the last.
	l.Total, l.Apart, saved = 7, 2, nil
	ok(t, l.Run(t.Context(), r, 3))
	if !slices.Equal(saved, []int{4, 6, 7}) {
		t.Errorf("saved after %v", saved)
	}
	// Told to stop, it makes the steps up to there.
	ctx, stop := context.WithCancel(t.Context())
	step := l.Step
	l.Step, saved = func(done int) (Values, error) {
		if done == 10 {
			stop()
		}
		return step(done)
	}, nil
	l.Total = 15
	if err := l.Run(ctx, r, 8); !errors.Is(err, context.Canceled) || !slices.Equal(slices.Compact(saved), []int{10, 12}) {
		t.Errorf("stopped in the eleventh step it was saved after %v, and says %v", saved, err)
	}
}

// Told to stop, it goes on to where it may for some seconds and no longer: who asked kills
// it then. Where nobody says how often, it saves every 20 seconds.
func TestALoopIsInTime(t *testing.T) {
	t.Setenv(IntervalVariable, "")
	synctest.Test(t, func(t *testing.T) {
		r := acquired(t, Spec{Experiment: "a"})
		ok(t, r.ComputedOn("a backend", ""))
		restored(t, r)
		ctx, stop := context.WithCancel(t.Context())
		var saved []int
		l := Loop{Total: 1000, Apart: 100,
			Step: func(done int) (Values, error) {
				if time.Sleep(time.Second); done == 2 {
					stop()
				}
				return nil, nil
			},
			Save: func(_ io.Writer, done int) error {
				saved = append(saved, done)
				return nil
			},
		}
		began := time.Now()
		if err := l.Run(ctx, r, 0); !errors.Is(err, context.Canceled) || !slices.Equal(saved, []int{9}) {
			t.Errorf("asked after 3 s it was saved after %v steps, %v later: %v", saved, time.Since(began), err)
		}
		l.Total, l.Apart, saved = 60, 0, nil
		ok(t, l.Run(t.Context(), r, 9))
		if !slices.Equal(saved, []int{30, 51, 60}) {
			t.Errorf("saved after %v", saved)
		}
	})
}
