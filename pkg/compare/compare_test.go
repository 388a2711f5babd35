package compare

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"molehill/pkg/run"
	"molehill/viz"
)

// underWay is a run that this process computes.
func underWay(t *testing.T) *run.Run {
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

// compared is Runs for runs whose names can be read.
func compared(t *testing.T, runs ...*run.Run) Comparison {
	t.Helper()
	c, err := Runs(runs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drawn is Against for what some of the runs have.
func drawn(t *testing.T, c Comparison, setting, metric string) viz.Curves {
	t.Helper()
	figure, err := c.Against(setting, metric)
	if err != nil {
		t.Fatal(err)
	}
	return figure
}

// A name that no run knows is an error, which says those that there are.
func TestUnknownNamesAreAnsweredWithKnownOnes(t *testing.T) {
	r := underWay(t)
	if table, err := compared(t, r).Table("sliced W₂"); err != nil || !strings.Contains(table.String(), "sliced W₂") {
		t.Errorf("a run that is not finished may measure anything: %v\n%s", err, table)
	}
	err := errors.Join(
		r.Emit(run.Event{Step: 1, Total: 2, Values: run.Values{"loss": 1, "sliced W₂": 2}}),
		r.Finish(run.Result{Metrics: run.Values{"accuracy": 0.9, "sliced W₂": 2}}))
	if err != nil {
		t.Fatal(err)
	}
	c := compared(t, r)
	_, table := c.Table("accuracy", "sliced W2")
	_, rows := c.Rows("sliced W2")
	_, summary := c.Summary("sliced W2")
	_, metric := c.Against("epsilon", "sliced W2")
	_, setting := c.Against("colour", "accuracy")
	_, images := c.Samples(4)
	const unmeasured = "no run measured sliced W2; there is accuracy, sliced W₂"
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"a figure":                {c.Curve("sliced W2").PNG(io.Discard), "none of the runs told of sliced W2; there is loss, sliced W₂"},
		"a table":                 {table, unmeasured},
		"a table's rows":          {rows, unmeasured},
		"a summary":               {summary, unmeasured},
		"a metric of a picture":   {metric, unmeasured},
		"a setting of a picture":  {setting, "no run has a setting colour"},
		"images that nobody made": {images, "none of the runs has made images yet"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", what, c.err, c.want)
		}
	}
	if _, ok := c.Overview([]string{"colour"}); ok {
		t.Error("there is a picture against a setting that no run has")
	}
	if _, err := compared(t, r, underWay(t)).Summary("FID"); err != nil {
		t.Errorf("one of the runs may still measure it: %v", err)
	}
}

func TestNoRunsAreSaid(t *testing.T) {
	if table, err := List(nil); err != nil || !strings.Contains(table.String(), "no runs yet") {
		t.Errorf("the table of no runs is %q, %v", table, err)
	}
}

// The seconds of a run that was stopped and went on are those of both computations, and not
// those between.
func TestSecondsAreOfAllThatWasComputed(t *testing.T) {
	r := underWay(t)
	const while = 150 * time.Millisecond
	time.Sleep(while)
	if err := r.Rest(1, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(while)
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(run.Result{}); err != nil {
		t.Fatal(err)
	}
	lives, err := r.Provenance()
	if err != nil || len(lives) != 2 {
		t.Fatalf("%d computations, %v", len(lives), err)
	}
	table, err := compared(t, r).Rows()
	if err != nil {
		t.Fatal(err)
	}
	all := time.Since(lives[0].Started) - while
	seconds, ok := table.Rows[0][len(table.Header)-1].(float64)
	if !ok || seconds < while.Seconds()-0.05 || seconds > all.Seconds()+0.05 {
		t.Errorf("%v s, want from %v to %v", table.Rows[0], while, all)
	}
}
