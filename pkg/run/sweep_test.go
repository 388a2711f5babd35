package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSweepIsItsRuns(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	specs := []Spec{{Experiment: "flow", Seed: 1}, {Experiment: "flow", Seed: 2}, {Experiment: "flow", Seed: 1}}
	w, runs, err := s.CreateSweep("flow", "flow over 2 seeds", []string{"seed"}, specs)
	ok(t, err)
	if len(runs) != 2 || len(w.Runs) != 2 || w.Runs[1] != runs[1].ID {
		t.Fatalf("%d runs, %v; want the two that differ", len(runs), w.Runs)
	}
	slices.Reverse(specs)
	again, _, err := s.CreateSweep("flow", "another title", nil, specs)
	if err != nil || again.ID != w.ID || again.Title != w.Title {
		t.Errorf("the same runs are %+v, %v; want %s", again, err, w.ID)
	}
	other, _, err := s.CreateSweep("flow", "", nil, specs[:1])
	if err != nil || other.ID == w.ID {
		t.Errorf("other runs are %+v, %v", other, err)
	}
	if entries, err := s.List(); err != nil || len(entries) != 2 {
		t.Errorf("the store lists %d, %v; want the 2 runs", len(entries), err)
	}
	for called, want := range map[string]string{w.ID: w.ID, Short(w.ID): w.ID, other.ID[:12]: other.ID} {
		if found, err := s.OpenSweep(called); err != nil || found.ID != want {
			t.Errorf("%q opens %+v, %v; want %s", called, found, err, want)
		}
	}
	if _, err := s.OpenSweep("flow-"); err == nil || !strings.Contains(err.Error(), "each of 2 sweeps") {
		t.Errorf("opening the beginning of two: %v", err)
	}
	if _, err := s.OpenSweep("nothing"); !errors.Is(err, ErrUnknown) {
		t.Errorf("opening none: %v", err)
	}

	ok(t, w.Acquire())
	if err := again.Acquire(); !errors.Is(err, ErrBusy) {
		t.Errorf("two start the runs of one sweep: %v", err)
	}
	if busy, err := again.Working(); !busy || err != nil {
		t.Errorf("working: %v, %v", busy, err)
	}
	ok(t, w.Release())
	if err := again.Cancel(); !errors.Is(err, ErrIdle) {
		t.Errorf("cancelling what nobody makes: %v", err)
	}
}

func TestBrokenSweepsAreLeftOut(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	w, _, err := s.CreateSweep("flow", "", nil, []Spec{{Experiment: "flow"}})
	ok(t, err)
	path := filepath.Join(w.Dir, sweepFile)
	whole, err := os.ReadFile(path)
	ok(t, err)
	for _, text := range []string{"", "{", "null", `{"format":1}`, strings.Replace(string(whole), w.Runs[0], "../"+w.Runs[0], 1), strings.Replace(string(whole), w.ID, "x", 1)} {
		ok(t, os.WriteFile(path, []byte(text), 0o644))
		if sweeps, err := s.Sweeps(); err != nil || len(sweeps) != 0 {
			t.Errorf("%.40q is the sweep %v, %v", text, sweeps, err)
		}
		if _, err := s.OpenSweep(w.ID); err == nil || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), path) {
			t.Errorf("%.40q, asked for by its ID: %v; want an error that names the file", text, err)
		}
	}
	if _, _, err := s.CreateSweep("flow", "", nil, nil); err == nil {
		t.Error("a sweep of no runs")
	}
	if _, _, err := s.CreateSweep("../up", "", nil, []Spec{{Experiment: "flow"}}); err == nil {
		t.Error("a sweep out of its folder")
	}
}

func TestLastEventIsFoundAtTheEnd(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	if e, found := r.Last(); found {
		t.Errorf("nothing was told, found %+v", e)
	}
	for step := 1; step <= 3000; step++ {
		ok(t, r.Emit(Event{Step: step, Total: 3000, Values: Values{"x": float64(step)}}))
	}
	ok(t, r.Emit(Event{Message: "measuring"}), r.holding.events.flush())
	if e, found := r.Last(); !found || e.Step != 3000 {
		t.Errorf("found %+v", e)
	}
	if n := len(r.Recent()); n < 100 || n > 1500 {
		t.Errorf("%d recent events, want those of 64 KB", n)
	}
}
