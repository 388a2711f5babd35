package tables

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
)

// A training that was interrupted goes on to the same generator and the same rows.
func TestAnInterruptedTrainingEndsAsAnother(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	data, schema := people(t, 300, nil)
	q := request(data, schema, "2", "method", Sinkhorn, "width", "8")
	q.Research = true // the same noise in both
	whole := experimenttest.Computed(t, experimenttest.Acquired(t, q), 0)
	parts := experimenttest.Computed(t, experimenttest.Acquired(t, q), 7)
	for _, name := range []string{training.GeneratorFile, "synthetic.csv"} {
		if !bytes.Equal(experimenttest.Read(t, whole, name), experimenttest.Read(t, parts, name)) {
			t.Errorf("interrupted, %s is another", name)
		}
	}
}

// What cannot be paid for, or cannot be, is found before anything is spent.
func TestATrainingThatCannotBeSpendsNothing(t *testing.T) {
	for says, more := range map[string][]string{
		"one step alone":   {"noise", "0.05", "epsilon", "0.01", "batch", "20"},
		"at most all":      {"batch", "51"},
		"take at least":    {"entropy", "1e-30"},
		"lost in the grid": {"epsilon", "1e-12", "batch", "50", "steps", "1000000"},
	} {
		data, schema := people(t, 50, nil)
		r := experimenttest.Acquired(t, request(data, schema, "1", append([]string{"method", Sinkhorn}, more...)...))
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v; want it to say %q", more, err, says)
		}
		if l, err := ledger.Open(os.Getenv("MOLEHILL_LEDGER")); err == nil {
			if history, err := l.History(t.Context(), "own/people"); err == nil && len(history.Entries) > 0 {
				t.Errorf("%v: %d entries of the ledger", more, len(history.Entries))
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A learning rate without measure gives a table all the same: nothing that records
// hold, or that the noise draws, decides whether one comes.
func TestATrainingThatDivergesEnds(t *testing.T) {
	data, schema := people(t, 100, nil)
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "1", "method", Sinkhorn, "learning_rate", "1000", "steps", "30")), 0)
	if rows := bytes.Count(experimenttest.Read(t, r, "synthetic.csv"), []byte("\n")); rows != 101 {
		t.Errorf("%d lines", rows)
	}
}
