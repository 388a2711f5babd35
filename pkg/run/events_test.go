package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Progress that nobody can see is not written; values always are.
func TestEmitKeepsValuesAndThinsProgress(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	const n = 1000
	for step := 1; step <= n; step++ {
		ok(t, r.Emit(Event{Step: step, Total: n, Rate: math.Inf(1)}))
		if step%10 == 0 {
			ok(t, r.Emit(Event{Step: step, Values: Values{"loss": float64(step), "bad": math.NaN()}}))
		}
	}
	ok(t, r.Emit(Event{Step: n, Message: strings.Repeat("long", maxLine)}), r.Release())
	steps, loss, err := r.Curve("loss")
	if err != nil || len(steps) != n/10 || steps[0] != 10 || loss[n/10-1] != n {
		t.Errorf("curve: %d points, %v", len(steps), err)
	}
	if _, bad, _ := r.Curve("bad"); len(bad) != n/10 || !math.IsNaN(bad[0]) {
		t.Errorf("NaN does not survive: %v", bad)
	}
	if names, err := r.Curves(); err != nil || !slices.Equal(names, []string{"bad", "loss"}) {
		t.Errorf("curves: %q, %v", names, err)
	}
	events, _ := r.Events()
	if len(events) > n/2 {
		t.Errorf("%d events were written for %d with values", len(events), n/10)
	}
	if last := events[len(events)-1]; !strings.Contains(last.Message, "left out") {
		t.Errorf("an endless event was written: %.50s", last.Message)
	}
	if _, _, err := r.Curve("none"); err != nil {
		t.Error(err)
	}
}

// What no JSON number can say is read back as it was told.
func TestValuesAreReadBack(t *testing.T) {
	told := Values{"none": math.NaN(), "best": math.Inf(-1), "worst": math.Inf(1), "small": 5e-324, "large": -math.MaxFloat64, "zero": 0}
	text, err := json.Marshal(told)
	ok(t, err)
	var read Values
	ok(t, json.Unmarshal(text, &read))
	for name, want := range told {
		if got, ok := read[name]; !ok || got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s: %v is read back as %v from %s", name, want, got, text)
		}
	}
}

func TestDamagedEvents(t *testing.T) {
	line := func(step int) string { return fmt.Sprintf(`{"step":%d,"values":{"x":%d}}`+"\n", step, step) }
	for _, c := range []struct {
		name, content string
		read          int    // events that can still be read
		fault         string // part of the error of reading
		left          int    // events after resuming from step 2; -1: refused
	}{
		{"torn", line(1) + line(2) + `{"step":3,"val`, 2, "", 2},
		{"empty", "", 0, "", 0},
		{"zeros", line(1) + strings.Repeat("\x00", 4096), 1, "", 1},
		{"foreign line", line(1) + "hello\n" + line(2) + line(3), 3, "line 2 is no event", 2},
		{"wrong types", line(1) + `{"step":"one"}` + "\n[]\nnull\n" + `{"values":{"x":{}}}` + "\n", 1, "line 2 is no event", 1},
		{"endless line", line(1) + strings.Repeat("x", maxLine+1) + "\n" + line(2), 1, "line 2 passes", 1},
		{"foreign file", strings.Repeat("x", maxLine+1), 0, "line 1 passes", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := acquired(t, Spec{Experiment: "a"})
			ok(t, r.Checkpoint(2, sized(1, 'a')), r.Release())
			ok(t, os.WriteFile(r.path(eventsFile), []byte(c.content), 0o644))
			steps, _, err := r.Curve("x")
			if len(steps) != c.read || (err == nil) != (c.fault == "") {
				t.Errorf("read %v, %v; expected %d events and the error %q", steps, err, c.read, c.fault)
			}
			if err != nil && (!strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), r.path(eventsFile))) {
				t.Errorf("expected an error that names the file and says %q, found %v", c.fault, err)
			}
			if err := r.Acquire(); err != nil {
				if c.left >= 0 || !strings.Contains(err.Error(), "remove the file") {
					t.Errorf("resuming: %v", err)
				}
				return
			}
			if steps, _, _ := r.Curve("x"); len(steps) != c.left {
				t.Errorf("resumed with %v, expected %d events", steps, c.left)
			}
			ok(t, r.Emit(Event{Step: 3, Values: Values{"x": 3}}), r.Release())
			if steps, _, _ := r.Curve("x"); len(steps) != c.left+1 || steps[c.left] != 3 {
				t.Errorf("the next event is lost: %v", steps)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"time":"2025-01-01T00:00:00Z","step":1,"values":{"x":"NaN","y":1e300}}` + "\n{\"step\":2}\n{"))
	f.Add([]byte("null\n[]\n\x00\n{}\n"))
	path := filepath.Join(f.TempDir(), eventsFile)
	f.Fuzz(func(t *testing.T, content []byte) {
		read := func(from []byte) (events []Event) {
			scanned, _ := scanEvents(bytes.NewReader(from), func(e Event, end int64) {
				if events = append(events, e); end > int64(len(from)) {
					t.Fatalf("an event ends at %d of %d", end, len(from))
				}
			})
			if scanned > int64(len(from)) {
				t.Fatalf("scanned %d of %d bytes", scanned, len(from))
			}
			return events
		}
		events := read(content)
		ok(t, os.WriteFile(path, content, 0o644))
		l, err := openEventLog(path, 2)
		if err != nil {
			if len(events) > 0 {
				t.Fatalf("%d events, and %v", len(events), err)
			}
			return
		}
		ok(t, l.close())
		kept, err := os.ReadFile(path)
		ok(t, err)
		if !bytes.HasPrefix(content, kept) {
			t.Fatal("cutting off changed what stays")
		}
		for _, e := range read(kept) {
			if e.Step > 2 {
				t.Fatalf("step %d was not cut off", e.Step)
			}
		}
	})
}

// Whoever computes a run reads what it has just emitted.
func TestEventsThatWaitAreRead(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	for step := 1; step <= 3; step++ {
		if err := r.Emit(Event{Step: step}); err != nil {
			t.Fatal(err)
		}
		events, err := r.Events()
		if err != nil || len(events) != step || events[step-1].Step != step {
			t.Fatalf("after step %d: %+v, %v", step, events, err)
		}
	}
}
