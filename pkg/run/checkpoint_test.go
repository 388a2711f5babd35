package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// restored returns the step and the content of what Restore finds, "" if nothing.
func restored(t *testing.T, r *Run) (int, string) {
	t.Helper()
	var content []byte
	step, found, err := r.Restore(func(_ int, in io.Reader) (err error) {
		content, err = io.ReadAll(in)
		return err
	})
	if err != nil || found != (content != nil) {
		t.Fatalf("Restore: found %v, %q, %v", found, content, err)
	}
	return step, string(content)
}

func TestCheckpointsFallBackWhenDamaged(t *testing.T) {
	damages := map[string]func(path string, content []byte) error{
		"a flipped bit": func(path string, c []byte) error { c[len(c)/2] ^= 1; return os.WriteFile(path, c, 0o644) },
		"cut off":       func(path string, c []byte) error { return os.WriteFile(path, c[:len(c)-1], 0o644) },
		"longer":        func(path string, c []byte) error { return os.WriteFile(path, append(c, 0), 0o644) },
		"empty":         func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o644) },
		"another step": func(path string, _ []byte) error {
			return os.Rename(filepath.Join(filepath.Dir(path), "checkpoint-000000000002"), path)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			r := acquired(t, Spec{Experiment: "a"})
			for step := 1; step <= 4; step++ {
				ok(t, r.Emit(Event{Step: step, Values: Values{"x": float64(step)}}))
				ok(t, r.Checkpoint(step, sized(step, 'a')))
			}
			ok(t, r.Release())
			paths, _ := checkpoints(r.Dir)
			if len(paths) != keptCheckpoints {
				t.Fatalf("expected %d checkpoints to be kept, found %v", keptCheckpoints, paths)
			}
			if name == "another step" { // a sound file under a wrong name
				ok(t, writeCheckpoint(r.Dir, 2, sized(2, 'a')))
			}
			content, err := os.ReadFile(paths[0])
			ok(t, err, damage(paths[0], content))

			reacquire(t, r)
			if step, content := restored(t, r); step != 3 || content != "aaa" {
				t.Fatalf("expected step 3, found step %d with %q", step, content)
			}
			if steps, _, err := r.Curve("x"); err != nil || !reflect.DeepEqual(steps, []int{1, 2, 3}) {
				t.Fatalf("expected the events to end with step 3, found %v (%v)", steps, err)
			}
			ok(t, r.Checkpoint(4, sized(9, 'b')), r.Release())
			reacquire(t, r)
			if step, content := restored(t, r); step != 4 || content != "bbbbbbbbb" {
				t.Errorf("expected the new step 4, found step %d with %q", step, content)
			}
		})
	}
}

// What cannot be read is not damaged: it stays where it is, and nothing begins anew.
func TestACheckpointThatCannotBeReadStays(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.Checkpoint(1, sized(1, 'a')), r.Checkpoint(2, sized(2, 'a')), r.Release())
	unreadable := filepath.Join(r.Dir, "checkpoint-000000000003")
	ok(t, os.Mkdir(unreadable, 0o755)) // which the system refuses to read, even to root
	if err := r.Acquire(); err == nil || !strings.Contains(err.Error(), unreadable) {
		t.Errorf("%v; expected an error that names the checkpoint", err)
	}
	ok(t, os.Remove(unreadable))
	reacquire(t, r)
	if step, content := restored(t, r); step != 2 || content != "aa" {
		t.Errorf("step %d with %q; expected the second", step, content)
	}
}

func TestNoCheckpointMeansFromTheBeginning(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.Emit(Event{Step: 1, Values: Values{"x": 1}}), r.Release())
	reacquire(t, r)
	if step, content := restored(t, r); step != 0 || content != "" {
		t.Errorf("restored step %d, %q from nothing", step, content)
	}
	if events, err := r.Events(); err != nil || len(events) > 0 {
		t.Errorf("expected no events, found %v (%v)", events, err)
	}
}

func TestCheckpointsOnlyGrow(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	broken := errors.New("cannot save")
	if err := r.Checkpoint(3, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("expected the error of save, found %v", err)
	}
	ok(t, r.Checkpoint(5, sized(1, 'a')), r.Release())
	reacquire(t, r)
	if err := r.Checkpoint(6, sized(1, 'a')); err == nil || !strings.Contains(err.Error(), "Restore") {
		t.Errorf("a computation that began anew overtook a checkpoint: %v", err)
	}
	restored(t, r)
	if err := r.Checkpoint(4, sized(1, 'a')); err == nil {
		t.Error("step 4 was accepted after step 5")
	}
	if _, _, err := r.Restore(func(int, io.Reader) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("expected the error of load, found %v", err)
	}
	// Callbacks may tell watchers what they are doing.
	ok(t, r.Checkpoint(7, func(io.Writer) error { return r.Emit(Event{Step: 7, Message: "saving"}) }))
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
