package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// begun is a run that this process computes.
func begun(t *testing.T, store Store, research bool) *Run {
	t.Helper()
	r, err := store.Create(Spec{Experiment: "once", Version: "1", Preset: "quick", Research: research, Config: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	return r
}

// A release that was made is made of the same or not at all, also by a process that
// comes after, whatever the one before left of its last mark.
func TestReleasesAreOfOneThing(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	r := begun(t, store, false)
	one, other := [32]byte{1}, [32]byte{2}
	ok(t, r.Once("release a 0", one), r.Once("release a 0", one), r.Once("release a 1", other))
	refused := func(r *Run, name string, of [32]byte) {
		t.Helper()
		if err := r.Once(name, of); err == nil || !strings.Contains(err.Error(), "other values than when") {
			t.Errorf("%s of other values: %v", name, err)
		}
	}
	refused(r, "release a 0", other)
	path := r.path(keyOnce)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 2*markSize {
		t.Fatalf("%v, %v; want two marks that only the owner reads", info, err)
	}
	ok(t, r.Release())
	if err := r.Once("release a 2", one); !errors.Is(err, ErrNotHeld) {
		t.Errorf("a run that nobody computes released something: %v", err)
	}

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	ok(t, err)
	_, err = file.Write(make([]byte, 7)) // a mark that a crash has cut short
	ok(t, err, file.Close())
	again, err := store.Open(r.ID)
	ok(t, err, again.Acquire())
	refused(again, "release a 0", other)
	ok(t, again.Once("release a 1", other), again.Once("release a 2", one))
	if info, err := os.Stat(path); err != nil || info.Size() != 3*markSize {
		t.Errorf("%v, %v; want three marks", info, err)
	}
	refused(again, "release a 2", other)

	ok(t, again.Finish(Result{}))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a finished run keeps its marks: %v", err)
	}
	if err := again.Once("release a 3", one); !errors.Is(err, ErrNotHeld) {
		t.Errorf("a finished run released something: %v", err)
	}
	ok(t, os.WriteFile(path, make([]byte, markSize), 0o600)) // killed after its key was erased
	if err := again.Acquire(); !errors.Is(err, ErrFinished) || exists(path) {
		t.Errorf("a finished run keeps its marks: %v", err)
	}
}

// Nothing that may tell of a release is written before its mark is on the disk. Where
// that cannot be, nothing is.
func TestMarksAreOnTheDiskFirst(t *testing.T) {
	r := begun(t, Store{Dir: t.TempDir()}, false)
	ok(t, r.WriteFile("before", sized(10, 'a')), r.Once("release a 0", [32]byte{1}))
	if !r.holding.marks.fresh {
		t.Error("each mark is forced to the disk by itself")
	}
	ok(t, r.WriteFile("after", sized(10, 'a')))
	if r.holding.marks.fresh {
		t.Error("an artefact was written before the mark was on the disk")
	}
	ok(t, r.Once("release a 1", [32]byte{1}), r.holding.marks.file.Close()) // it cannot be synced
	for what, write := range map[string]func() error{
		"an artefact":  func() error { return r.WriteFile("artefact", sized(10, 'a')) },
		"a checkpoint": func() error { return r.Checkpoint(1, sized(10, 'a')) },
		"an event": func() error {
			_ = r.Emit(Event{Step: 1, Values: Values{"loss": 1}}) // tells of earlier attempts
			return r.holding.events.flush()
		},
		"a result": func() error { return r.Finish(Result{Note: "it is 1"}) },
	} {
		if err := write(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s was written: %v", what, err)
		}
	}
	if names, err := r.Artefacts(); err != nil || len(names) != 2 {
		t.Errorf("artefacts %q, %v; want the two of before", names, err)
	}
	if events, err := r.Events(); err != nil || len(events) != 0 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if _, err := r.Result(); err == nil {
		t.Error("there is a result")
	}
	if err := r.Fail(errors.New("it is 1")); !errors.Is(err, os.ErrClosed) || exists(r.path(errorFile)) {
		t.Errorf("a failure was written: %v", err)
	}
}

// Of many that release at once each release is of one thing.
func TestOnceOfMany(t *testing.T) {
	r := begun(t, Store{Dir: t.TempDir()}, false)
	var made atomic.Int64
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for step := range 20 {
				if r.Once(fmt.Sprint("release ", step), [32]byte{byte(k)}) == nil {
					made.Add(1)
				}
			}
		})
	}
	all.Wait()
	if info, err := os.Stat(r.path(keyOnce)); err != nil || info.Size() != 20*markSize || made.Load() != 20 {
		t.Errorf("%d releases of 20, %v, %v", made.Load(), info, err)
	}
}

// The same releases of two runs leave nothing in common: marks are hashed under the key.
func TestMarksTellNothing(t *testing.T) {
	texts := map[string]bool{}
	for range 2 {
		r := begun(t, Store{Dir: t.TempDir()}, false)
		ok(t, r.Once("release a 0", [32]byte{1}))
		text, err := os.ReadFile(r.path(keyOnce))
		ok(t, err)
		texts[string(text[:16])], texts[string(text[16:])] = true, true
	}
	if len(texts) != 4 {
		t.Errorf("%d different hashes of 4", len(texts))
	}
	r := begun(t, Store{Dir: t.TempDir()}, true)
	ok(t, r.Once("release a 0", [32]byte{1}), r.Once("release a 0", [32]byte{2}))
	if _, err := os.Stat(r.path(keyOnce)); !os.IsNotExist(err) {
		t.Errorf("a research run keeps marks: %v", err)
	}
}

// What is the owner's is in a folder that is the owner's, below one that is not.
func TestOwnFoldersAreClosed(t *testing.T) {
	r := begun(t, Store{Dir: t.TempDir()}, true)
	nothing := func(io.Writer) error { return nil }
	ok(t, r.WriteOwn("measures/keeper-only/copies.json", nothing), r.WriteFile("measures/fid.json", nothing))
	for name, want := range map[string]fs.FileMode{"measures": 0o755, "measures/keeper-only": 0o700, "measures/fid.json": 0o644, "measures/keeper-only/copies.json": 0o600} {
		if info, err := os.Stat(r.path(artefactDir + "/" + name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", name, info, err, want)
		}
	}
	if os.Geteuid() == 0 {
		t.Skip("the superuser lists all folders")
	}
	ok(t, os.Chmod(r.path(artefactDir+"/measures/keeper-only"), 0))
	t.Cleanup(func() { os.Chmod(r.path(artefactDir+"/measures/keeper-only"), 0o700) })
	if names, err := r.Artefacts(); err != nil || len(names) != 1 {
		t.Errorf("others see %v, %v; want what is not the owner's", names, err)
	}
}
