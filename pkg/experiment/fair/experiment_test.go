package fair

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
)

// inSeconds are settings that finish in a second or less.
var inSeconds = map[string]string{"records": "2000", "held": "500", "steps": "20", "delta": "1e-4"}

func prepared(t *testing.T, name string, settings map[string]string) *run.Run {
	t.Helper()
	all := maps.Clone(inSeconds)
	maps.Copy(all, settings)
	t.Setenv(ledger.Variable, t.TempDir()+"/ledger.db")
	t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
	return experimenttest.Acquired(t, experiment.Request{Experiment: name, Seed: 1, Research: true, Settings: all})
}

func compute(t *testing.T, name string, settings map[string]string, interrupt int) *run.Run {
	t.Helper()
	return experimenttest.Computed(t, prepared(t, name, settings), interrupt)
}

// A training that was interrupted goes on to the same network, bit by bit, with each
// step told once.
func TestAnInterruptedTrainingEndsAsAnother(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	for name, settings := range map[string]map[string]string{
		"fair-classification": {"criterion": Odds},
		"fair-representation": {"common_noise": "true", "hidden": "8", "projections": "4"},
	} {
		whole, parts := compute(t, name, settings, 0), compute(t, name, settings, 9)
		if !bytes.Equal(experimenttest.Read(t, whole, network), experimenttest.Read(t, parts, network)) {
			t.Errorf("%s: interrupted, the training ended elsewhere", name)
		}
		_, want, err := whole.Curve("loss")
		if err != nil {
			t.Fatal(err)
		}
		if steps, got, err := parts.Curve("loss"); err != nil || len(got) != len(want) || got[len(got)-1] != want[len(want)-1] || steps[len(steps)-1] != len(want) {
			t.Errorf("%s: interrupted, %d losses are told, %v; want %d", name, len(got), err, len(want))
		}
	}
}

// More weight on fairness makes groups more alike, and less use of the predictions.
func TestAlphaBuysFairness(t *testing.T) {
	settings := func(alpha string) map[string]string {
		return map[string]string{"alpha": alpha, "steps": "250", "learning_rate": "0.2", "epsilon": "inf"}
	}
	without, with := experimenttest.Metrics(t, compute(t, "fair-classification", settings("0"), 0)), experimenttest.Metrics(t, compute(t, "fair-classification", settings("0.9"), 0))
	if !(with["parity gap"] < without["parity gap"]/3 && with["distance"] < without["distance"]/10 && with["KS"] < without["KS"]/2) {
		t.Errorf("fair: %v; not: %v", with, without)
	}
	if !(with["accuracy"] < without["accuracy"] && without["accuracy"] > 0.8) {
		t.Errorf("accuracy %v at α = 0.9, %v at 0; fairness is not for free", with["accuracy"], without["accuracy"])
	}
}

// Whatever is wrong with settings is said before a run is made.
func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		experiment, setting, value string
		says                       []string
	}{
		{"fair-classification", "alpha", "1.1", []string{"alpha is 1.1", "0 to 1"}},
		{"fair-classification", "alpha", "-0.1", []string{"alpha", "0 to 1"}},
		{"fair-classification", "output_limit", "0", []string{"output_limit", "above 0"}},
		{"fair-classification", "jacobian", "-1", []string{"jacobian", "above 0"}},
		{"fair-classification", "loss_limit", "0", []string{"loss_limit", "above 0"}},
		{"fair-classification", "public_sizes", "false", []string{"public_sizes=true", "number of records of each group"}},
		{"fair-classification", "unclipped", "true", []string{"unclipped", "--epsilon inf"}},
		{"fair-classification", "criterion", "fairness", []string{"criterion", Parity, Odds}},
		{"fair-classification", "share", "0", []string{"share", "above 0"}},
		{"fair-classification", "probability", "1.5", []string{"probability"}},
		{"fair-classification", "steps", "0", []string{"steps is 0"}},
		{"fair-classification", "dataset", "people", []string{"dataset", "biased"}},
		{"fair-classification", "delta", "0", []string{"δ"}},
		{"fair-classification", "learning_rate", "1e38", []string{"learning_rate is 1e+38", "at most 100"}},
		{"fair-adult-ermi", "learning_rate", "1e38", []string{"learning_rate is 1e+38", "at most 100"}},
		{"fair-regression", "criterion", Odds, []string{"fair-regression predicts no label", Parity}},
		{"fair-regression", "hidden", "0", []string{"hidden is 0"}},
	} {
		_, err := experiment.Request{Experiment: c.experiment, Settings: map[string]string{c.setting: c.value}}.Spec()
		for _, want := range c.says {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s = %s: %v; want it to say %q", c.setting, c.value, err, want)
			}
		}
	}
	if _, err := (experiment.Request{Experiment: "fair-classification", Settings: map[string]string{"public_sizes": "false", "epsilon": "inf"}}).Spec(); err != nil {
		t.Errorf("sizes that are not public, in a run that claims nothing: %v", err)
	}
	if _, err := (experiment.Request{Experiment: "fair-classification", Settings: map[string]string{"published": "true", "epsilon": "inf"}}).Spec(); err == nil {
		t.Error("the paper's noise for no budget")
	}
}

// Common noise is for research: a private run with it fails, and nothing is released.
func TestCommonNoiseIsNoSecret(t *testing.T) {
	t.Setenv(ledger.Variable, t.TempDir()+"/ledger.db")
	t.Setenv("GOMLX_BACKEND", "go")
	all := maps.Clone(inSeconds)
	all["common_noise"] = "true"
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "fair-classification", Seed: 1, Settings: all})
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "--research") {
		t.Errorf("a private run with common noise: %v", err)
	}
	if _, err := r.Privacy(); err == nil {
		t.Error("it has a statement")
	}
}

// Records that are somebody's: what is wrong with them costs nothing, a training is paid
// once, tells no losses, and does not go on with other records under the same noise.
func TestPrivateRecords(t *testing.T) {
	const name = "private-people"
	dataset.Register(name, "people of a test, as if they were somebody's", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return nil, errors.New("nobody looks at them")
	})
	spoil := func(*Records) {}
	sources[name] = func(c *Config) (train, test *Records, err error) {
		train, test, err = biased(c)
		spoil(train)
		return train, test, err
	}
	defer delete(sources, name)
	for _, c := range []struct {
		experiment string
		settings   map[string]string
	}{
		{"fair-regression", map[string]string{"hidden": "4", "projections": "2"}},
		{"fair-regression-1d-post", map[string]string{"hidden": "4", "bins": "8", "radii": "0.1"}},
		{"fair-adult-ermi", nil},
	} {
		t.Run(c.experiment, func(t *testing.T) {
			payOnce(t, prepared(t, c.experiment, experiment.With(c.settings, "dataset", name)), name, &spoil)
		})
	}
}

// payOnce computes a run whose records are spoilt at first.
func payOnce(t *testing.T, r *run.Run, name string, spoilt *func(*Records)) {
	t.Helper()
	var events string
	entries := func() int {
		l, err := ledger.Open(os.Getenv(ledger.Variable))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		history, err := l.History(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history.Entries {
			events += string(e.Event)
		}
		return len(history.Entries)
	}
	*spoilt = func(train *Records) { clear(train.Group) }
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "A = 1 is empty") || entries() != 0 {
		t.Errorf("an empty group: %v, %d entries", err, entries())
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	*spoilt = func(*Records) { interrupt() }
	if err := experiment.Compute(interrupted, r); err == nil || entries() != 0 {
		t.Errorf("interrupted before it was paid: %v, %d entries", err, entries())
	}
	for _, c := range []struct {
		what  string
		spoil func(*Records)
	}{
		{"another response", func(train *Records) { train.Response[7] = 0.123 }},
		{"another feature", func(train *Records) { train.X[7] = 0.123 }},
		{"another label", func(train *Records) { train.Label[7] = 1 - train.Label[7] }},
	} {
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		if c.what == "another response" && r.Spec.Experiment == "fair-adult-ermi" { // which looks at none
			c.spoil = func(train *Records) { train.Group[7] = 1 - train.Group[7] }
		}
		*spoilt = c.spoil
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "pay for a new one") || entries() != 0 {
			t.Errorf("%s under the same noise: %v, %d entries", c.what, err, entries())
		}
	}
	*spoilt = func(*Records) {}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, losses, err := r.Curve("loss"); err != nil || len(losses) > 0 || entries() != 2 { // reserved and committed
		t.Errorf("%d losses of private records are told, %v, %d entries", len(losses), err, entries())
	}
	// Histograms are paid for beside the training.
	if post := r.Spec.Experiment == "fair-regression-1d-post"; post != strings.Contains(events, `"pure"`) {
		t.Errorf("paid was %s", events)
	}
}

// With common noise, runs of a seed that differ in ε alone have the same start and
// batches, so that their first losses are the same, and noise of the same directions.
func TestRunsOfASeedDifferByTheScaleOfTheirNoise(t *testing.T) {
	steps := map[string][]float64{}
	for _, epsilon := range []string{"inf", "3", "1"} {
		r := compute(t, "fair-classification", map[string]string{"epsilon": epsilon, "common_noise": "true", "steps": "1", "alpha": "0"}, 0)
		_, losses, err := r.Curve("loss")
		if err != nil || len(losses) != 1 {
			t.Fatal(losses, err)
		}
		if text, err := r.Privacy(); err != nil || !strings.Contains(string(text), "common_noise") {
			t.Errorf("the statement does not say that noise is common: %s, %v", text, err)
		}
		m := experimenttest.Metrics(t, r)
		steps[epsilon] = []float64{losses[0], m["noise"], m["task loss"]}
	}
	inf, three, one := steps["inf"], steps["3"], steps["1"]
	if inf[0] != three[0] || inf[0] != one[0] {
		t.Errorf("first losses %v, %v, %v", inf[0], three[0], one[0])
	}
	// One small step along the same noise moves the loss in proportion to its size.
	if ratio, want := (one[2]-inf[2])/(three[2]-inf[2]), one[1]/three[1]; !(math.Abs(ratio/want-1) <= 0.1) {
		t.Errorf("noise of %v and %v moves the loss by %v and %v", three[1], one[1], three[2]-inf[2], one[2]-inf[2])
	}
}

// A training that nothing bounds diverges, and says so.
func TestTrainingsThatDiverge(t *testing.T) {
	experimenttest.Diverges(t, experiment.Request{Experiment: "fair-representation", Settings: experiment.With(inSeconds,
		"epsilon", "inf", "unclipped", "true", "learning_rate", "100")})
}
