package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// Between taking the lock and signing it a process holds it namelessly; who asks for
// its name then waits for that, and does not where nobody holds it.
func TestOwnerOfALockThatIsNotSignedYet(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	lock, err := acquire(r.Dir)
	ok(t, err)
	signed := make(chan error)
	time.AfterFunc(100*time.Millisecond, func() { signed <- sign(r.Dir) })
	if owner, err := r.Owner(); err != nil || owner.PID != os.Getpid() {
		t.Errorf("asked before it has signed: %+v, %v", owner, err)
	}
	ok(t, <-signed, lock.Close(), os.Truncate(filepath.Join(r.Dir, lockFile), 0))
	if owner, err := r.Owner(); err == nil {
		t.Errorf("a lock that nobody holds, with nothing in it, is of %+v", owner)
	}
}

// What has to be done while nobody computes a run keeps everybody from it, and is not done
// while somebody does.
func TestWhileIdle(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	r := create(t, s, Spec{Experiment: "a"})
	done := errors.New("done")
	err := r.WhileIdle(func() error {
		if err := r.Acquire(); !errors.Is(err, ErrBusy) {
			t.Errorf("it is begun meanwhile: %v", err)
		}
		return done
	})
	if !errors.Is(err, done) {
		t.Errorf("%v; want what was returned", err)
	}
	if state, err := r.State(); err != nil || state != Pending {
		t.Errorf("it is %s, %v; nobody has computed it", state, err)
	}
	ok(t, r.Acquire())
	if err := r.WhileIdle(func() error { t.Error("called while it is computed"); return nil }); !errors.Is(err, ErrBusy) {
		t.Errorf("%v; want ErrBusy", err)
	}
	ok(t, r.Release())
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

// Progress that nobody can see is not written; values always are.
func TestEmitKeepsValuesAndThinsProgress(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	const n = 1000
	for step := 1; step <= n; step++ {
		ok(t, r.Emit(Event{Step: step, Total: n, Rate: math.Inf(1)}))
		if step%10 == 0 {
			ok(t, r.Emit(Event{Step: step, Values: Values{"loss": float64(step), "bad": math.NaN()}}))
		}
	}
	ok(t, r.Emit(Event{Step: n, Message: strings.Repeat("long", maxLine)}), r.Release())
	steps, loss, err := r.Curve("loss")
	if err != nil || len(steps) != n/10 || steps[0] != 10 || loss[n/10-1] != n {
		t.Errorf("curve: %d points, %v", len(steps), err)
	}
	if _, bad, _ := r.Curve("bad"); len(bad) != n/10 || !math.IsNaN(bad[0]) {
		t.Errorf("NaN does not survive: %v", bad)
	}
	if names, err := r.Curves(); err != nil || !slices.Equal(names, []string{"bad", "loss"}) {
		t.Errorf("curves: %q, %v", names, err)
	}
	events, _ := r.Events()
	if len(events) > n/2 {
		t.Errorf("%d events were written for %d with values", len(events), n/10)
	}
	if last := events[len(events)-1]; !strings.Contains(last.Message, "left out") {
		t.Errorf("an endless event was written: %.50s", last.Message)
	}
	if _, _, err := r.Curve("none"); err != nil {
		t.Error(err)
	}
}

func TestDamagedEvents(t *testing.T) {
	line := func(step int) string { return fmt.Sprintf(`{"step":%d,"values":{"x":%d}}`+"\n", step, step) }
	for _, c := range []struct {
		name, content string
		read          int    // events that can still be read
		fault         string // part of the error of reading
		left          int    // events after resuming from step 2; -1: refused
	}{
		{"torn", line(1) + line(2) + `{"step":3,"val`, 2, "", 2},
		{"empty", "", 0, "", 0},
		{"zeros", line(1) + strings.Repeat("\x00", 4096), 1, "", 1},
		{"foreign line", line(1) + "hello\n" + line(2) + line(3), 3, "line 2 is no event", 2},
		{"wrong types", line(1) + `{"step":"one"}` + "\n[]\nnull\n" + `{"values":{"x":{}}}` + "\n", 1, "line 2 is no event", 1},
		{"endless line", line(1) + strings.Repeat("x", maxLine+1) + "\n" + line(2), 1, "line 2 passes", 1},
		{"foreign file", strings.Repeat("x", maxLine+1), 0, "line 1 passes", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := acquired(t, Spec{Experiment: "a"})
			ok(t, r.Checkpoint(2, sized(1, 'a')), r.Release())
			ok(t, os.WriteFile(r.path(eventsFile), []byte(c.content), 0o644))
			steps, _, err := r.Curve("x")
			if len(steps) != c.read || (err == nil) != (c.fault == "") {
				t.Errorf("read %v, %v; expected %d events and the error %q", steps, err, c.read, c.fault)
			}
			if err != nil && (!strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), r.path(eventsFile))) {
				t.Errorf("expected an error that names the file and says %q, found %v", c.fault, err)
			}
			if err := r.Acquire(); err != nil {
				if c.left >= 0 || !strings.Contains(err.Error(), "remove the file") {
					t.Errorf("resuming: %v", err)
				}
				return
			}
			if steps, _, _ := r.Curve("x"); len(steps) != c.left {
				t.Errorf("resumed with %v, expected %d events", steps, c.left)
			}
			ok(t, r.Emit(Event{Step: 3, Values: Values{"x": 3}}), r.Release())
			if steps, _, _ := r.Curve("x"); len(steps) != c.left+1 || steps[c.left] != 3 {
				t.Errorf("the next event is lost: %v", steps)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"time":"2025-01-01T00:00:00Z","step":1,"values":{"x":"NaN","y":1e300}}` + "\n{\"step\":2}\n{"))
	f.Add([]byte("null\n[]\n\x00\n{}\n"))
	path := filepath.Join(f.TempDir(), eventsFile)
	f.Fuzz(func(t *testing.T, content []byte) {
		read := func(from []byte) (events []Event) {
			scanned, _ := scanEvents(bytes.NewReader(from), func(e Event, end int64) {
				if events = append(events, e); end > int64(len(from)) {
					t.Fatalf("an event ends at %d of %d", end, len(from))
				}
			})
			if scanned > int64(len(from)) {
				t.Fatalf("scanned %d of %d bytes", scanned, len(from))
			}
			return events
		}
		events := read(content)
		ok(t, os.WriteFile(path, content, 0o644))
		l, err := openEventLog(path, 2)
		if err != nil {
			if len(events) > 0 {
				t.Fatalf("%d events, and %v", len(events), err)
			}
			return
		}
		ok(t, l.close())
		kept, err := os.ReadFile(path)
		ok(t, err)
		if !bytes.HasPrefix(content, kept) {
			t.Fatal("cutting off changed what stays")
		}
		for _, e := range read(kept) {
			if e.Step > 2 {
				t.Fatalf("step %d was not cut off", e.Step)
			}
		}
	})
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

func FuzzCheckpoint(f *testing.F) {
	dir := f.TempDir()
	ok(f, writeCheckpoint(dir, 7, sized(100, 'a')))
	path := filepath.Join(dir, fmt.Sprintf(checkpointName, 7))
	sound, err := os.ReadFile(path)
	ok(f, err)
	f.Add(sound)
	f.Add(sound[:40])
	f.Fuzz(func(t *testing.T, content []byte) {
		ok(t, os.WriteFile(path, content, 0o644))
		c, err := readCheckpoint(path)
		if err == nil && (c.step != 7 || int(c.start+c.size) != len(content)-32) {
			t.Fatalf("accepted %+v of %d bytes", c, len(content))
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

// Whoever computes a run reads what it has just emitted.
func TestEventsThatWaitAreRead(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	for step := 1; step <= 3; step++ {
		if err := r.Emit(Event{Step: step}); err != nil {
			t.Fatal(err)
		}
		events, err := r.Events()
		if err != nil || len(events) != step || events[step-1].Step != step {
			t.Fatalf("after step %d: %+v, %v", step, events, err)
		}
	}
}
