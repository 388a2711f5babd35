package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// A watcher that was there from the start sees every event once.
// (TestWatcherForgetsWhatWasCutOff resumes the computation under its eyes.)
func TestWatch(t *testing.T) {
	t.Parallel()
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	watched, err := Open(r.Dir)
	ok(t, err)
	updates := watched.Watch(t.Context())
	if u := <-updates; u.State != Pending || u.Err != nil {
		t.Fatalf("expected pending first, found %+v", u)
	}
	go func() {
		reacquire(t, r)
		for step := 1; step <= 5; step++ {
			ok(t, r.Emit(Event{Step: step, Total: 5, Values: Values{"x": float64(step)}}))
			time.Sleep(30 * time.Millisecond)
		}
		ok(t, r.Emit(Event{Step: 5, Message: "done"}), r.Finish(Result{}))
	}()
	var seen []Event
	var last Update
	for last = range updates {
		if last.Err != nil || last.Rewound {
			t.Fatalf("unexpected %+v", last)
		}
		seen = append(seen, last.Events...)
	}
	if last.State != Finished || len(seen) != 6 || seen[5].Message != "done" || seen[0].Time.IsZero() {
		t.Errorf("ended %s with %v", last.State, seen)
	}
}

// A process that ends between taking the lock and telling of itself has interrupted the
// run: who waits for it is told.
func TestWhoWaitsIsToldOfAnEarlyEnd(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	lock, err := acquire(r.Dir)
	ok(t, err, sign(r.Dir))
	time.AfterFunc(100*time.Millisecond, func() { lock.Close() })
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if _, err := r.Wait(ctx); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("waiting ends with %v, want an interruption", err)
	}
	if state, err := r.State(); err != nil || state != Interrupted {
		t.Errorf("it is %s, %v", state, err)
	}
}

func TestWatcherForgetsWhatWasCutOff(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	emit := func(from, to int) {
		t.Helper()
		for step := from; step <= to; step++ {
			ok(t, r.Emit(Event{Step: step, Values: Values{"x": 1}}))
			if step == 2 {
				ok(t, r.Checkpoint(step, sized(1, 'a')))
			}
		}
		ok(t, r.holding.events.flush())
	}
	w := watcher{run: r}
	emit(1, 4)
	if u, news := w.poll(); !news || len(u.Events) != 4 || u.Rewound {
		t.Fatalf("first %+v", u)
	}
	if u, news := w.poll(); news {
		t.Fatalf("nothing happened, found %+v", u)
	}
	ok(t, r.Release())
	reacquire(t, r)
	restored(t, r)
	emit(3, 9) // longer than before: its length alone does not tell
	u, news := w.poll()
	if !news || !u.Rewound || len(u.Events) != 9 {
		t.Fatalf("expected all 9 events again, found %+v", u)
	}
	for i, e := range u.Events {
		if e.Step != i+1 {
			t.Errorf("event %d is of step %d", i, e.Step)
		}
	}
}

// An endless line is told of once, not with every look, and what comes after it is seen.
func TestWatcherPassesOverAnEndlessLine(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	endless := strings.Repeat("x", maxLine+1) + "\n"
	ok(t, os.WriteFile(r.path(eventsFile), []byte(endless), 0o644))
	w := watcher{run: r}
	if u, news := w.poll(); !news || u.Err == nil || !strings.Contains(u.Err.Error(), "molehill did not write this") {
		t.Errorf("first %+v; expected to hear of the line", u)
	}
	if u, news := w.poll(); news {
		t.Errorf("nothing happened, found %+v", u)
	}
	ok(t, os.WriteFile(r.path(eventsFile), []byte(endless+`{"step":1}`+"\n"), 0o644))
	if u, news := w.poll(); !news || u.Err != nil || len(u.Events) != 1 || u.Rewound {
		t.Errorf("then %+v; expected the event after it", u)
	}
	ok(t, os.WriteFile(r.path(eventsFile), []byte(`{"step":1}`+"\n"+endless), 0o644))
	w = watcher{run: r}
	if u, news := w.poll(); !news || u.Err == nil || len(u.Events) != 1 {
		t.Errorf("of an event and an endless line %+v; expected to hear of both", u)
	}
	if u, news := w.poll(); news {
		t.Errorf("after an event and an endless line nothing happened, found %+v", u)
	}
}

// A foreign line that a watcher comes upon on the way is where it says.
func TestWatcherSaysWhereAForeignLineIs(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	const first = `{"step":1}` + "\n"
	ok(t, os.WriteFile(r.path(eventsFile), []byte(first), 0o644))
	w := watcher{run: r}
	if u, _ := w.poll(); len(u.Events) != 1 || u.Err != nil {
		t.Fatalf("first %+v", u)
	}
	ok(t, os.WriteFile(r.path(eventsFile), []byte(first+"hello\n"), 0o644))
	want := fmt.Sprintf("%s from byte %d on: line 1 is no event", r.path(eventsFile), len(first))
	if u, _ := w.poll(); u.Err == nil || !strings.Contains(u.Err.Error(), want) {
		t.Errorf("%v; want %s", u.Err, want)
	}
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	r := acquired(t, Spec{Experiment: "a"})
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	for u := range r.Watch(ctx) {
		if u.State != Running {
			t.Errorf("expected running, found %+v", u)
		}
	}
	if _, err := r.Wait(ctx); err != context.DeadlineExceeded {
		t.Errorf("expected the context's error, found %v", err)
	}
	ok(t, r.Release())
	if _, err := r.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("expected to hear of the interruption, found %v", err)
	}
	reacquire(t, r)
	ok(t, r.Fail(os.ErrInvalid))
	if _, err := r.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), os.ErrInvalid.Error()) {
		t.Errorf("expected the failure, found %v", err)
	}
	ok(t, os.RemoveAll(r.Dir))
	if _, err := r.Wait(t.Context()); err == nil {
		t.Error("a removed run was waited for")
	}
}

func FuzzRecord(f *testing.F) {
	r := create(f, Store{Dir: f.TempDir()}, Spec{Experiment: "a", Config: json.RawMessage(`{"a":[1,2.5,"x"]}`)})
	sound, err := os.ReadFile(r.path(recordFile))
	ok(f, err)
	f.Add(sound)
	f.Add([]byte(`{"format":1}`))
	f.Add([]byte(`{"format":1,"id":"a","spec":{"experiment":"a","config":1e400}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		ok(t, os.WriteFile(r.path(recordFile), content, 0o644))
		if opened, err := Open(r.Dir); err == nil {
			if name, err := opened.Spec.ID(); err != nil || name != opened.ID {
				t.Fatalf("opened %s whose spec is %s (%v)", opened.ID, name, err)
			}
		} else if !strings.Contains(err.Error(), r.Dir) {
			t.Fatalf("the error does not name the directory: %v", err)
		}
	})
}

// A run whose directory is removed under its feet ends, is said to be deleted to
// those who watch, and touches nothing of the one that takes its place.
func TestDeletedWhileComputedAndWatched(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	spec := Spec{Experiment: "a"}
	r := create(t, s, spec)
	reacquire(t, r)
	// Written at once: nothing of it looks at the directory before there is another.
	ok(t, r.Emit(Event{Step: 1, Total: 9, Values: Values{"x": 1}}), r.holding.events.flush())
	watched, err := Open(r.Dir)
	ok(t, err)
	updates := watched.Watch(t.Context())
	if u := <-updates; u.State != Running {
		t.Fatalf("it is %+v", u)
	}
	ok(t, os.RemoveAll(r.Dir))
	var last Update
	for last = range updates {
	}
	if !errors.Is(last.Err, ErrDeleted) {
		t.Errorf("watching ended with %+v", last)
	}
	if _, err := watched.Wait(t.Context()); !errors.Is(err, ErrDeleted) {
		t.Errorf("waiting ended with %v", err)
	}
	if err := watched.WriteFile("picture", sized(1, 'a')); !errors.Is(err, ErrDeleted) || exists(r.Dir) {
		t.Errorf("who looks at it has written a picture of nothing: %v", err)
	}

	again := create(t, s, spec)
	reacquire(t, again)
	key, err := again.Key()
	ok(t, err)
	for what, err := range map[string]error{
		"an artefact":  r.WriteFile("samples", sized(1, 'a')),
		"a checkpoint": r.Checkpoint(1, sized(1, 'a')),
		"a statement":  r.WritePrivacy("all is well"),
		"the result":   r.Finish(Result{}),
	} {
		if !errors.Is(err, ErrDeleted) {
			t.Errorf("the deleted run wrote %s: %v", what, err)
		}
	}
	for err = nil; err == nil; time.Sleep(time.Millisecond) {
		err = r.Emit(Event{Step: 2, Total: 9})
	}
	if !errors.Is(err, ErrDeleted) {
		t.Errorf("telling ended with %v", err)
	}
	if err := r.Fail(errors.New("gave up")); !errors.Is(err, ErrDeleted) {
		t.Errorf("failing: %v", err)
	}
	if now, err := again.Key(); err != nil || now != key {
		t.Errorf("the key of the run in its place has changed, %v", err)
	}
	ok(t, again.Finish(Result{}))
	if state, err := again.State(); state != Finished || err != nil {
		t.Errorf("the run in its place is %s, %v", state, err)
	}
	if _, err := os.Stat(again.path(errorFile)); err == nil {
		t.Error("it was given the error of the deleted one")
	}
}
