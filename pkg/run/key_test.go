package run

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/atomicfile"
)

func TestBindHoldsAKeyToOnePurpose(t *testing.T) {
	for _, research := range []bool{false, true} {
		r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a", Research: research})
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		if err := r.Bind([]byte("these records")); err != nil {
			t.Fatal(err)
		}
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(r.Dir) // the process after a crash
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Acquire(); err != nil {
			t.Fatal(err)
		}
		if err := again.Bind([]byte("these records")); err != nil {
			t.Errorf("the same records: %v", err)
		}
		if err := again.Bind([]byte("other records")); err == nil || !strings.Contains(err.Error(), "began with") {
			t.Errorf("other records under the same noise: %v", err)
		}
	}
}

func TestKeyIDTellsKeysApart(t *testing.T) {
	ids := map[string]bool{}
	for _, spec := range []Spec{{Experiment: "a"}, {Experiment: "a"}, {Experiment: "a", Research: true, Seed: 1}, {Experiment: "a", Research: true, Seed: 2}} {
		r := create(t, Store{Dir: t.TempDir()}, spec)
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		id, err := r.KeyID()
		if err != nil || len(id) != 64 || ids[id] {
			t.Errorf("%+v: ID %q, %v; want 64 digits of its own", spec, id, err)
		}
		ids[id] = true
		if again, err := r.KeyID(); err != nil || again != id {
			t.Errorf("the same key is %s and %s, %v", id, again, err)
		}
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
		if id, err := r.KeyID(); !spec.Research && err == nil {
			t.Errorf("a process that does not compute the run has its key %s", id)
		}
	}
}

// A key of zeros is one that was being erased when its process was killed. Anybody could
// take its noise off.
func TestAnErasedKeyIsNone(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, os.WriteFile(filepath.Join(r.Dir, keyFile), make([]byte, 32), 0o600))
	if key, err := r.Key(); err == nil || !strings.Contains(err.Error(), "has been erased") {
		t.Errorf("key %x, %v", key, err)
	}
}

// A folder's name is no pattern.
func TestFinishInAnyFolder(t *testing.T) {
	for _, name := range []string{"[team]", "[team", "*"} {
		dir := filepath.Join(t.TempDir(), name)
		r := create(t, Store{Dir: dir}, Spec{Experiment: "a"})
		reacquire(t, r)
		_, _, err := r.Restore(nil)
		ok(t, err, r.Checkpoint(1, atomicfile.Content([]byte("state"))), r.Finish(Result{}))
		if left, err := checkpoints(r.Dir); err != nil || len(left) > 0 {
			t.Errorf("in %s a finished run keeps %v, %v", name, left, err)
		}
	}
}

func TestFinishLeavesNothingToGoOnWith(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Key(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Restore(nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Checkpoint(1, func(w io.Writer) error { _, err := w.Write([]byte("state")); return err }); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(r.Dir, "checkpoint-*"))
	if len(paths) != 1 {
		t.Fatalf("checkpoints %v", paths)
	}
	if info, err := os.Stat(paths[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a checkpoint's mode is %v, %v", info.Mode(), err)
	}
	key, err := os.ReadFile(filepath.Join(r.Dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(Result{}); err != nil {
		t.Fatal(err)
	}
	gone := func() {
		t.Helper()
		for _, pattern := range []string{"key", "checkpoint-*"} {
			if left, _ := filepath.Glob(filepath.Join(r.Dir, pattern)); len(left) > 0 {
				t.Errorf("a finished run keeps %v", left)
			}
		}
	}
	gone()
	// Killed between the result and the erasing of the key.
	if err := os.WriteFile(filepath.Join(r.Dir, "key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(); err != nil {
		t.Error(err)
	}
	gone()
}

// A run that is deleted leaves its key nowhere, not even under another name of its file.
func TestDeleteErasesTheKey(t *testing.T) {
	s, link := Store{Dir: t.TempDir()}, filepath.Join(t.TempDir(), "link")
	r := create(t, s, Spec{Experiment: "a"})
	reacquire(t, r)
	_, err := r.Key()
	ok(t, err, os.Link(r.path(keyFile), link), r.Release(), s.Delete(r.ID))
	if content, err := os.ReadFile(link); err != nil || !bytes.Equal(content, make([]byte, 32)) {
		t.Errorf("the key is %x, %v", content, err)
	}
}
