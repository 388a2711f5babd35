package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A cluster that does not answer for a while is asked again; one that refuses, or is silent
// for long, is not.
func TestSilentClustersAreAskedAgain(t *testing.T) {
	before, interval := silence, again
	t.Cleanup(func() { silence, again = before, interval })
	silence, again = time.Minute, time.Millisecond
	asked, told := 0, 0
	say := func(string) { told++ }
	fails := func(times int, with error) func() error {
		asked = 0
		return func() error {
			if asked++; asked <= times {
				return with
			}
			return nil
		}
	}
	silent := &askError{command: "squeue", complaint: "Socket timed out on send/recv operation"}
	if err := Patiently(t.Context(), say, fails(3, silent)); err != nil || asked != 4 || told != 1 {
		t.Errorf("asked %d times, told %d times: %v", asked, told, err)
	}
	if err := Patiently(t.Context(), say, fails(3, &askError{command: "squeue", complaint: "Access/permission denied"})); err == nil || asked != 1 {
		t.Errorf("asked %d times where it is not allowed: %v", asked, err)
	}
	if err := Patiently(t.Context(), say, fails(3, ErrNoSlurm)); !errors.Is(err, ErrNoSlurm) || asked != 1 {
		t.Errorf("asked %d times where there is no cluster: %v", asked, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Patiently(ctx, say, fails(1000, silent)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	silence = 0
	if err := Patiently(t.Context(), say, fails(1000, silent)); !errors.Is(err, silent) || asked > 2 {
		t.Errorf("asked %d times for no longer than nothing: %v", asked, err)
	}
}

// What a builder that was killed has left goes with the next build, and what one that works
// has does not.
func TestBuildersLeaveNothingForLong(t *testing.T) {
	dir := t.TempDir()
	old, young, other := filepath.Join(dir, ".build-1"), filepath.Join(dir, ".build-2"), filepath.Join(dir, "molehill")
	for _, path := range []string{old, young, other} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.Chtimes(old, long, long), os.Chtimes(other, long, long)); err != nil {
		t.Fatal(err)
	}
	clean(dir)
	for path, stays := range map[string]bool{old: false, young: true, other: true} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v, want it there: %v", path, err, stays)
		}
	}
}
