package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunsAreCalledByManyNames(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	first, second := create(t, s, Spec{Experiment: "flow", Seed: 1}), create(t, s, Spec{Experiment: "flow", Seed: 2})
	other := create(t, s, Spec{Experiment: "flow-r", Seed: 1})
	if before, err := s.Name(first, "baseline"); before != "" || err != nil {
		t.Fatalf("named: %q, %v", before, err)
	}
	digits := func(r *Run) string { return r.ID[len(r.ID)-12:] }
	for called, want := range map[string]*Run{
		first.ID: first, "baseline": first, Short(second.ID): second, "flow@" + digits(first)[:4]: first,
		"@" + digits(other)[:6]: other, "flow-r@": other, "flow-r": other, second.ID[:len("flow-")+5]: second,
	} {
		if r, err := s.Open(called); err != nil || r.ID != want.ID {
			t.Errorf("%q opens %v, %v; want %s", called, r, err, want.ID)
		}
	}
	for called, says := range map[string]string{
		"flow@": "may be each of 2 runs", "baselin": "nearest: baseline", "flow-r@zz": "nearest: " + other.ID, "": "unknown run", "../x": "unknown run",
	} {
		if r, err := s.Open(called); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q opens %v, %v; want an error that says %q", called, r, err, says)
		}
	}

	// A name moves, and goes with its run.
	if before, err := s.Name(second, "baseline"); before != first.ID || err != nil {
		t.Errorf("moved from %q, %v; want %s", before, err, first.ID)
	}
	if names, err := s.Names(); err != nil || len(names) != 1 || names[second.ID][0] != "baseline" {
		t.Errorf("names %v, %v", names, err)
	}
	if entries, err := s.List(); err != nil || len(entries) != 3 {
		t.Errorf("the list has %d entries, %v; want the 3 runs and no folder of names", len(entries), err)
	}
	ok(t, s.Delete(second.ID))
	if names, err := s.Names(); len(names) != 0 || err != nil {
		t.Errorf("the deleted run has left %v, %v", names, err)
	}
	if _, err := s.Open("baseline"); !errors.Is(err, ErrUnknown) {
		t.Errorf("the name of a deleted run: %v", err)
	}
	// Removed by hand, the run leaves a name that says so.
	_, err := s.Name(first, "mine")
	ok(t, err)
	ok(t, os.RemoveAll(first.Dir))
	if _, err := s.Open("mine"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), first.ID) {
		t.Errorf("the name of a removed run: %v", err)
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	r := create(t, s, Spec{Experiment: "flow"})
	for _, name := range []string{"", ".hidden", "a/b", "../up", "a b", "flow@12", r.ID, strings.Repeat("x", 65)} {
		if _, err := s.Name(r, name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	// A file that is no name, and one that points out of the store.
	dir := filepath.Join(s.Dir, nameDir)
	ok(t, os.MkdirAll(dir, 0o755))
	ok(t, os.WriteFile(filepath.Join(dir, "evil"), []byte("../../etc-0123456789ab\n"), 0o644))
	if _, err := s.Open("evil"); err == nil || !strings.Contains(err.Error(), "expected the ID") {
		t.Errorf("a name that points elsewhere opens: %v", err)
	}
	// And a folder, which no name is in.
	ok(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	if _, err := s.Open("folder"); err == nil || !strings.Contains(err.Error(), `the name "folder"`) || !strings.Contains(err.Error(), "expected a file") {
		t.Errorf("a folder as a name opens: %v", err)
	}
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Errorf("names %v, %v", names, err)
	}
}
