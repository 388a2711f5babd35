// Package experimenttest helps to test experiments.
package experimenttest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	_ "molehill/privacy/ledger/sqlite" // ledgers of tests are files
)

// Prepared returns the run that q asks for, in a store of its own that goes
// with the test.
func Prepared(t *testing.T, q experiment.Request) *run.Run {
	t.Helper()
	return PreparedIn(t, run.Store{Dir: t.TempDir()}, q)
}

// PreparedIn is Prepared in a store that others are in, too.
func PreparedIn(t *testing.T, store run.Store, q experiment.Request) *run.Run {
	t.Helper()
	spec, err := q.Spec()
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ID is that of the run that q asks for.
func ID(t *testing.T, q experiment.Request) string {
	t.Helper()
	spec, err := q.Spec()
	if err != nil {
		t.Fatal(err)
	}
	id, err := spec.ID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Acquired is Prepared, to be computed by this process.
func Acquired(t *testing.T, q experiment.Request) *run.Run {
	t.Helper()
	r := Prepared(t, q)
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Computed computes a run that Acquired has returned. If interrupt is above 0 it is
// stopped when it next asks whether to go on after it has told of so many steps, and
// then goes on from its last checkpoint, or the one before: one that is told to stop may
// write a last one, as one that is killed does not.
func Computed(t *testing.T, r *run.Run, interrupt int) *run.Run {
	t.Helper()
	if interrupt > 0 {
		if err := experiment.Compute(&ending{t.Context(), r, interrupt}, r); !errors.Is(err, context.Canceled) {
			t.Fatalf("the run was faster than its interruption: %v", err)
		}
		if saved, _ := filepath.Glob(filepath.Join(r.Dir, "checkpoint-*")); len(saved) > 1 {
			if err := os.Remove(saved[len(saved)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		if _, found, err := r.Restore(func(int, io.Reader) error { return nil }); !found || err != nil {
			t.Fatalf("the run was interrupted before its first checkpoint, %v", err)
		}
	}
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Metrics are those of a finished run.
func Metrics(t *testing.T, r *run.Run) run.Values {
	t.Helper()
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result.Metrics
}

// ending is a context that ends with a step of a run.
type ending struct {
	context.Context
	run  *run.Run
	step int
}

func (c *ending) Err() error {
	events, err := c.run.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Step >= c.step {
			return context.Canceled
		}
	}
	return c.Context.Err()
}

// Read returns an artefact of a run.
func Read(t *testing.T, r *run.Run, name string) []byte {
	t.Helper()
	text, err := r.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Unnamed fails a test if a file of a run that others can read names one of these
// paths.
func Unnamed(t *testing.T, r *run.Run, paths ...string) {
	t.Helper()
	err := filepath.WalkDir(r.Dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o044 == 0 {
			return err
		}
		text, err := os.ReadFile(file)
		for _, path := range paths {
			if strings.Contains(string(text), path) {
				t.Errorf("%s can be read by others, and names %s", file, path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Refused checks that requests are refused before anything is made of them, in words that
// have those they stand under.
func Refused(t *testing.T, requests map[string]experiment.Request) {
	t.Helper()
	for want, q := range requests {
		spec, err := q.Spec()
		if err == nil {
			err = experiment.CheckUnread(spec)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
}
