package swae

import (
	"slices"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// What public images teach is where the private steps go on from: the same parameters,
// which reconstruct better than the first ones if that is asked for (α = 0), and bring
// codes nearer to the prior if that is (α = 1).
func TestAPublicStartIsHandedOn(t *testing.T) {
	splits, err := few()
	if err != nil {
		t.Fatal(err)
	}
	for alpha, metric := range map[float64]string{0: Reconstruction, 1: ToPrior} {
		c := config(experiment.Quick)
		c.Alpha, c.Start, c.StartSteps, c.Batch, c.Projections, c.LearningRate = alpha, "nobodys-glyphs", 20, 10, 6, 0.01
		tr := untrained(t, &c, &data{backend: goBackend(t), held: splits.Test})
		first, err := tr.quality(100)
		if err != nil {
			t.Fatal(err)
		}
		b, err := newPretraining(t.Context(), tr, func(run.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		defer b.trainer.Close()
		for step := range c.StartSteps {
			if err := b.learn(step); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.handOver(tr); err != nil {
			t.Fatal(err)
		}
		then, err := tr.quality(100)
		if err != nil {
			t.Fatal(err)
		}
		if !(then[metric] < 0.85*first[metric]) {
			t.Errorf("α = %v: before %v, after %v", alpha, first, then)
		}
		learned, err := b.trainer.Params()
		if err != nil {
			t.Fatal(err)
		}
		handed, err := tr.learner.Params()
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range learned {
			if !slices.Equal(p.Value, handed[i].Value) {
				t.Errorf("α = %v: %s was handed on with other values", alpha, p.Name)
			}
		}
	}
}

// With supervision a start that knows another number of classes is refused, before
// anything is paid.
func TestAStartOfOtherClassesIsRefused(t *testing.T) {
	c := config(experiment.Quick)
	c.Supervision, c.Labels, c.Start, c.StartSteps = 30, 0, "nobodys-glyphs", 4
	tr := untrained(t, &c, &data{backend: goBackend(t), private: &dataset.Dataset{Classes: make([]string, 3)}})
	_, err := newPretraining(t.Context(), tr, func(run.Event) {})
	if err == nil || !strings.Contains(err.Error(), "which has 10 classes, and mnist has 3") {
		t.Errorf("error %v", err)
	}
}
