// Package experimenttest helps to test experiments.
package experimenttest

import (
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// Prepared returns the run that q asks for, in a store of its own that goes
// with the test.
func Prepared(t *testing.T, q experiment.Request) *run.Run {
	t.Helper()
	spec, err := q.Spec()
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Store{Dir: t.TempDir()}.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
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
