package lab

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"molehill/pkg/run"
)

// underWay is a run that this process computes, with two images of 4 pixels
// each.
func underWay(t *testing.T) *Result {
	t.Helper()
	store := run.Store{Dir: t.TempDir()}
	r, err := store.Create(run.Spec{Experiment: "made-up", Version: "1", Preset: "quick", Config: json.RawMessage(`{"epsilon":1}`)})
	if err == nil {
		err = r.Acquire()
	}
	if err == nil {
		err = r.WriteTable("samples.npy", make([]float32, 8), 4)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Result{r}
}

// A name that no run knows is answered with those that there are.
func TestUnknownNamesAreAnsweredWithKnownOnes(t *testing.T) {
	r := underWay(t)
	c := Comparison{Runs: []*Result{r}, Labels: []string{""}}
	if err := c.measured("sliced W₂"); err != nil {
		t.Errorf("a run that is not finished may measure anything: %v", err)
	}
	err := errors.Join(
		r.Emit(run.Event{Step: 1, Total: 2, Values: run.Values{"loss": 1, "sliced W₂": 2}}),
		r.Finish(run.Result{Metrics: run.Values{"accuracy": 0.9, "sliced W₂": 2}}))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"a figure": {c.Curve("sliced W2").PNG(io.Discard), "none of the runs told of sliced W2; there is loss, sliced W₂"},
		"a metric": {c.measured("accuracy", "sliced W2"), "no run measured sliced W2; there is accuracy, sliced W₂"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", what, c.err, c.want)
		}
	}
	mixed := Comparison{Runs: []*Result{r, underWay(t)}, Labels: []string{"", ""}}
	if err := mixed.measured("FID"); err != nil {
		t.Errorf("one of the runs may still measure it: %v", err)
	}
}

func TestNoRunsAreSaid(t *testing.T) {
	if text := (List{}).Table().String(); !strings.Contains(text, "no runs yet") {
		t.Errorf("the table of no runs is %q", text)
	}
}
