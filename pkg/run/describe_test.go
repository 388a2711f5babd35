package run

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
)

// Another backend rounds otherwise: what it would go on to would be neither what was
// promised nor hidden by noise that has been used.
func TestARunGoesOnWithItsBackend(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	reacquire(t, r)
	ok(t, r.Release()) // killed before it had one
	reacquire(t, r)
	ok(t, r.ComputedOn("Go", "rows"), r.ComputedOn("Go", "rows of a file"), r.Release())
	reacquire(t, r)
	if err := r.ComputedOn("XLA", "rows of a file"); err == nil || !strings.Contains(err.Error(), `on the backend "Go"`) || !strings.Contains(err.Error(), "GOMLX_BACKEND") {
		t.Errorf("%v does not say with what the run goes on", err)
	}
	ok(t, r.Release())
	reacquire(t, r)
	ok(t, r.ComputedOn("Go", "rows of a file")) // that it was refused elsewhere changes nothing
}

// So does another processor, unless everybody may know the noise, or there is none.
func TestARunGoesOnWithItsProcessor(t *testing.T) {
	for what, free := range map[string]bool{"secret": false, "research": true, "no key": true} {
		r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a", Research: what == "research"})
		reacquire(t, r)
		ok(t, r.ComputedOn("Go", "rows"))
		if what != "no key" {
			if _, err := r.Key(); err != nil {
				t.Fatal(err)
			}
		}
		record, err := readRecord(r.Dir)
		if err != nil {
			t.Fatal(err)
		}
		record.Provenance[0].CPU = "another processor"
		ok(t, writeAtomic(r.path(recordFile), 0o644, asJSON(record)), r.Release())
		reacquire(t, r)
		if err := r.ComputedOn("Go", "rows"); (err == nil) != free || err != nil && !strings.Contains(err.Error(), "computed on "+runtime.GOARCH+" another processor") {
			t.Errorf("%s: %v", what, err)
		}
		// One whose system names no processor is another all the same.
		record.Provenance[0].CPU, record.Provenance[0].Versions = "", map[string]string{"github.com/gomlx/gomlx": "v0.0.1"}
		ok(t, writeAtomic(r.path(recordFile), 0o644, asJSON(record)), r.Release())
		reacquire(t, r)
		if err := r.ComputedOn("Go", "rows"); (err == nil) != free {
			t.Errorf("%s, without a name: %v", what, err)
		}
	}
}

// From where it rested a run without a secret goes on with any backend, however often it
// was refused or failed elsewhere in between; from another checkpoint, and with a secret,
// it does not.
func TestARunAtRestGoesOnAnywhere(t *testing.T) {
	for _, secret := range []bool{false, true} {
		r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a", Research: !secret})
		nothing, anything := func(io.Writer) error { return nil }, func(int, io.Reader) error { return nil }
		goesOn := func(backend string, from int) {
			t.Helper()
			reacquire(t, r)
			ok(t, r.ComputedOn(backend, "rows"))
			if at, found, err := r.Restore(anything); err != nil || !found || at != from {
				t.Fatalf("restored %d, %v, %v; want %d", at, found, err, from)
			}
		}
		refused := func(backend string) {
			t.Helper()
			reacquire(t, r)
			if err := r.ComputedOn(backend, "rows"); err == nil {
				t.Errorf("secret %v: it went on with %s", secret, backend)
			}
			ok(t, r.Release())
		}
		reacquire(t, r)
		ok(t, r.ComputedOn("XLA", "rows"))
		if _, err := r.Key(); err != nil {
			t.Fatal(err)
		}
		ok(t, r.Checkpoint(3, nothing), r.Release()) // killed
		refused("Go")
		goesOn("XLA", 3)
		ok(t, r.Rest(5, nothing), r.Release())
		if secret {
			refused("Go")
			goesOn("XLA", 5)
			continue
		}
		goesOn("Go", 5)
		ok(t, r.Release()) // killed
		goesOn("XLA", 5)
		ok(t, r.Release())
		goesOn("Go", 5)
		ok(t, r.Checkpoint(7, nothing), r.Release())
		refused("XLA")
		goesOn("Go", 7)
	}
}

// Where the records come from may be known before the backend is: what is refused then has
// left nothing that opens the way.
func TestABackendIsRefusedAgain(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	reacquire(t, r)
	ok(t, r.ComputedOn("", "rows"), r.ComputedOn("XLA", "rows"), r.Release())
	for range 3 {
		reacquire(t, r)
		ok(t, r.ComputedOn("", "rows"))
		if err := r.ComputedOn("Go", "rows"); err == nil {
			t.Error("another backend went on")
		}
		ok(t, r.Release())
	}
	reacquire(t, r)
	ok(t, r.ComputedOn("", "rows"), r.ComputedOn("XLA", "rows"), r.Release())
}

// Only where a run was computed with its key matters: neither where it was before it had
// one, nor where it was refused.
func TestARunGoesOnWhereItsKeyWasUsed(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	elsewhere := func(computation int) {
		t.Helper()
		record, err := readRecord(r.Dir)
		ok(t, err)
		record.Provenance[computation].CPU = "another processor"
		ok(t, writeAtomic(r.path(recordFile), 0o644, asJSON(record)))
	}
	reacquire(t, r)
	ok(t, r.ComputedOn("Go", "rows"))
	elsewhere(0)
	ok(t, r.Release())
	reacquire(t, r)
	ok(t, r.ComputedOn("Go", "rows"))
	_, err := r.Key()
	ok(t, err, r.Release())
	reacquire(t, r)
	elsewhere(2)
	if err := r.ComputedOn("Go", "rows"); err == nil {
		t.Error("another processor went on with the key")
	}
	ok(t, r.Release())
	reacquire(t, r)
	ok(t, r.ComputedOn("Go", "rows"), r.Release())
}

// What a record that is damaged cannot take is an error: nothing is left out of it unsaid.
func TestWhatCannotBeDescribedIsSaid(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	sound, err := os.ReadFile(r.path(recordFile))
	ok(t, err)
	for _, damaged := range []string{"{", "null", string(sound[:bytes.Index(sound, []byte(`"provenance"`))]) + `"provenance": []}`} {
		ok(t, os.WriteFile(r.path(recordFile), []byte(damaged), 0o644))
		for what, err := range map[string]error{"ComputedOn": r.ComputedOn("Go", "rows"), "KeepReceipt": r.KeepReceipt("entry 1"), "Rest": r.Rest(1, sized(1, 'a'))} {
			if err == nil || !strings.Contains(err.Error(), recordFile) {
				t.Errorf("%s, with %.20q: %v; expected an error that names the file", what, damaged, err)
			}
		}
	}
	ok(t, os.WriteFile(r.path(recordFile), sound, 0o644), r.KeepReceipt("entry 1"))
}
