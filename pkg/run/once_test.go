package run

import (
	"encoding/json"
	"os"
	"strings"
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
	once, err := r.Once()
	ok(t, err)
	one, other := [32]byte{1}, [32]byte{2}
	ok(t, once("release a 0", one), once("release a 0", one), once("release a 1", other))
	refused := func(once func(string, [32]byte) error, name string, of [32]byte) {
		t.Helper()
		if err := once(name, of); err == nil || !strings.Contains(err.Error(), "other values than before") {
			t.Errorf("%s of other values: %v", name, err)
		}
	}
	refused(once, "release a 0", other)
	path := r.path(keyOnce)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 2*markSize {
		t.Fatalf("%v, %v; want two marks that only the owner reads", info, err)
	}
	ok(t, r.Release())

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	ok(t, err)
	_, err = file.Write(make([]byte, 7)) // a mark that a crash has cut short
	ok(t, err, file.Close())
	again, err := store.Open(r.ID)
	ok(t, err, again.Acquire())
	later, err := again.Once()
	ok(t, err)
	refused(later, "release a 0", other)
	ok(t, later("release a 1", other), later("release a 2", one))
	if info, err := os.Stat(path); err != nil || info.Size() != 3*markSize {
		t.Errorf("%v, %v; want three marks", info, err)
	}
	third, err := again.Once()
	ok(t, err)
	refused(third, "release a 2", other)

	ok(t, again.Finish(Result{}))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a finished run keeps its marks: %v", err)
	}
	if err := third("release a 3", one); err == nil {
		t.Error("a finished run released something")
	}
}

// The same releases of two runs leave nothing in common: marks are hashed under the key.
func TestMarksTellNothing(t *testing.T) {
	texts := map[string]bool{}
	for range 2 {
		r := begun(t, Store{Dir: t.TempDir()}, false)
		once, err := r.Once()
		ok(t, err, once("release a 0", [32]byte{1}))
		text, err := os.ReadFile(r.path(keyOnce))
		ok(t, err)
		texts[string(text[:16])], texts[string(text[16:])] = true, true
	}
	if len(texts) != 4 {
		t.Errorf("%d different hashes of 4", len(texts))
	}
	r := begun(t, Store{Dir: t.TempDir()}, true)
	once, err := r.Once()
	ok(t, err, once("release a 0", [32]byte{1}), once("release a 0", [32]byte{2}))
	if _, err := os.Stat(r.path(keyOnce)); !os.IsNotExist(err) {
		t.Errorf("a research run keeps marks: %v", err)
	}
}
