package experiment_test

import (
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/sampling"
)

// A run goes on if only the words have changed of what its promise leaves out, and the ε
// that was asked for beside the one proved; not with another promise, records or labels.
func TestARunIsBoundToItsPromiseAndRecords(t *testing.T) {
	promise := privacy.Statement{Mechanism: "Gaussian", Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne}, NoiseStd: 1, Steps: 3, NotCovered: []string{"time"}}
	rows, labels := []float32{1, 2}, []int{0}
	r, err := run.Store{Dir: t.TempDir()}.Create(run.Spec{Experiment: "a", Config: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	bind := func(s privacy.Statement, rows []float32, labels []int) error {
		t.Helper()
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Release() }()
		if err := r.ComputedOn("a backend", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Key(); err != nil {
			t.Fatal(err)
		}
		return experiment.Bind(r, s, rows, labels)
	}
	other, louder := promise, promise
	other.NotCovered, other.Asked = []string{"how long it takes"}, 2
	other.Sampling = sampling.Describe(sampling.All{}, 2) // which says as values what is said in words
	louder.NoiseStd = 2
	if err := bind(promise, rows, labels); err != nil {
		t.Fatal(err)
	}
	if err := bind(other, rows, labels); err != nil {
		t.Errorf("other words: %v", err)
	}
	for what, err := range map[string]error{
		"another promise": bind(louder, rows, labels), "another record": bind(promise, []float32{1, 3}, labels), "another label": bind(promise, rows, []int{1}),
	} {
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}
