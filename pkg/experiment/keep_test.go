package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"molehill/pkg/experiment"
)

// Runs of one process share the last value of a kind that fits, and no more than that.
func TestLast(t *testing.T) {
	var log []string
	want := func(ctx context.Context, kind, value string) {
		t.Helper()
		got, done, err := experiment.Last(ctx, kind, func(last string) bool { return last == value }, func() (string, error) {
			log = append(log, "make "+value)
			return value, nil
		}, func(last string) { log = append(log, "shut "+last) })
		if err != nil || got != value {
			t.Fatalf("%q, %v; expected %q", got, err, value)
		}
		done()
	}
	said := func(lines ...string) {
		t.Helper()
		if !slices.Equal(log, lines) {
			t.Errorf("%q; expected %q", log, lines)
		}
		log = nil
	}

	alone := t.Context()
	want(alone, "net", "a")
	want(alone, "net", "a")
	said("make a", "shut a", "make a", "shut a")

	ctx := experiment.Keeping(t.Context())
	want(ctx, "net", "a")
	want(ctx, "net", "a")
	want(ctx, "rows", "r") // another kind
	want(ctx, "net", "a")
	want(ctx, "net", "b")
	want(ctx, "net", "a")
	want(ctx, "rows", "r")
	said("make a", "make r", "shut a", "make b", "shut b", "make a")

	want(experiment.Keeping(t.Context()), "net", "a") // another process
	said("make a")
}

// What could not be made is not kept, nor what it was to replace.
func TestLastOfWhatFails(t *testing.T) {
	ctx := experiment.Keeping(t.Context())
	shut := 0
	ask := func(value int, err error) (int, error) {
		got, done, failed := experiment.Last(ctx, "number", func(last int) bool { return last == value },
			func() (int, error) { return value, err }, func(int) { shut++ })
		done()
		return got, failed
	}
	if got, err := ask(1, nil); got != 1 || err != nil {
		t.Fatal(got, err)
	}
	if _, err := ask(2, errors.New("none")); err == nil {
		t.Error("a failure was not told")
	}
	if shut != 1 {
		t.Errorf("%d values are closed; expected that of 1", shut)
	}
	for _, value := range []int{2, 1} {
		if got, err := ask(value, fmt.Errorf("not %d again", value)); err == nil {
			t.Errorf("%d was kept", got)
		}
	}
}
