package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molehill/pkg/run"
	"molehill/privacy"
)

// begun is a run that this process computes.
func begun(t *testing.T) *run.Run {
	t.Helper()
	store := run.Store{Dir: t.TempDir()}
	r, err := store.Create(run.Spec{Experiment: "made-up", Version: "1", Preset: "quick", Config: json.RawMessage(`{"epsilon":1}`)})
	if err == nil {
		err = r.Acquire()
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A run is called by what its statement proves, not by a setting that may be for a
// part of what it releases.
func TestTitleIsOfTheStatement(t *testing.T) {
	r := begun(t)
	if got := title(r, run.Event{}); got != "made-up, ε = 1" {
		t.Errorf("before it has a statement the run is %q", got)
	}
	statement := privacy.Statement{Sensitivity: privacy.Sensitivity{Relation: privacy.AddRemove}, Claims: []privacy.Claim{{Label: "as proved", Epsilon: 2, Sound: true}}}
	if err := r.WritePrivacy(statement); err != nil {
		t.Fatal(err)
	}
	if got := title(r, run.Event{}); got != "made-up, ε = 2" {
		t.Errorf("with a statement of 2 the run is %q", got)
	}
	if got := title(r, run.Event{Message: "encoding"}); got != "encoding" {
		t.Errorf("an event that has words is %q", got)
	}
}

// told is a bar that writes down what it shows.
type told struct{ lines *[]string }

func (b told) Set(step int, note string) {
	*b.lines = append(*b.lines, fmt.Sprint(step, " ", note))
}
func (b told) Done() { *b.lines = append(*b.lines, "done") }

// What a run says is shown whether or not it counts: words have a line of their own
// before steps and after them, and between steps are a note on their line.
func TestWordsOfARunAreShown(t *testing.T) {
	var lines []string
	teller := teller{run: begun(t), open: func(title string, total int) bar {
		lines = append(lines, fmt.Sprint(title, " ", total))
		return told{&lines}
	}}
	say := func(words string) run.Event { return run.Event{Message: words} }
	step := func(n int) run.Event { return run.Event{Step: n, Total: 9} }
	for _, events := range [][]run.Event{
		{say("long ago")}, {say("reading"), say("encoding: 1 of 2")}, {say("encoding: 2 of 2"), step(1), step(2)},
		{say("half way")}, {step(9)}, {say("decoding")}, {say("comparing")},
	} {
		teller.tell(events)
	}
	teller.finish()
	want := []string{
		"made-up, ε = 1 0", "0 long ago", "0 encoding: 1 of 2", "done",
		"made-up, ε = 1 9", "2 ", "2 half way", "9 ", "done",
		"made-up, ε = 1 0", "0 decoding", "0 comparing", "done",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("shown is\n%q, want\n%q", lines, want)
	}
}

// Who waits for a run that nobody computes is told so.
func TestNobodyWaitsForAPendingRunUnawares(t *testing.T) {
	r, err := run.Store{Dir: t.TempDir()}.Create(run.Spec{Experiment: "a"})
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = said
	defer func() { os.Stderr = before }()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := Run(ctx, r, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
	text, err := os.ReadFile(said.Name())
	if want := "no process computes it yet; waiting for one (`molehill resume " + run.Short(r.ID) + "` starts it)\n"; err != nil || strings.Count(string(text), want) != 1 {
		t.Errorf("%v: it is said %q, want %q once", err, text, want)
	}
}
