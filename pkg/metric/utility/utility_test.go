package utility

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// Every classifier is registered under its name and refuses rows it cannot learn
// from, saying what is wrong with them.
func TestClassifiersRefuseBadRows(t *testing.T) {
	if faults := Registry.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
	for _, name := range []string{"logistic", "mlp", "cnn"} {
		c, err := Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if info := c.Describe(); info.Name != name || info.Summary == "" || info.Version == "" || info.Source == "" {
			t.Errorf("%s describes itself as %+v", name, info)
		}
		for want, spoil := range map[string]func(d *dataset.Dataset){
			"NaN in row 1, column 3":       func(d *dataset.Dataset) { d.X[67] = float32(math.NaN()) },
			"-Inf in row 2, column 0":      func(d *dataset.Dataset) { d.X[128] = float32(math.Inf(-1)) },
			"labels from 0 to 2, found 3":  func(d *dataset.Dataset) { d.Labels[4] = 3 },
			"labels from 0 to 2, found -1": func(d *dataset.Dataset) { d.Labels[4] = -1 },
			"0 labels":                     func(d *dataset.Dataset) { d.Labels = nil },
			"0 classes":                    func(d *dataset.Dataset) { d.Classes = nil },
			"found none":                   func(d *dataset.Dataset) { d.X, d.Labels = nil, []int{} },
			"whole rows":                   func(d *dataset.Dataset) { d.X = d.X[:len(d.X)-1] },
			"a label for each":             func(d *dataset.Dataset) { d.Labels = d.Labels[:3] },
			"found 0×8×1":                  func(d *dataset.Dataset) { d.Height = 0 },
		} {
			d := bars(10, 3, 1)
			spoil(d)
			if m, err := c.Fit(context.Background(), d, 1, nil); err == nil || m != nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "utility: ") {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
		if m, err := c.Fit(context.Background(), nil, 1, nil); err == nil || m != nil {
			t.Errorf("%s: nil rows are not refused", name)
		}
	}
}

func TestClassifiersRefuseBadSettings(t *testing.T) {
	training := func(change func(t *Training)) Training {
		t := DefaultTraining
		change(&t)
		return t
	}
	for want, c := range map[string]Classifier{
		"C = 0":             Logistic{Tolerance: 1, Iterations: 1},
		"tolerance of NaN":  Logistic{C: 1, Tolerance: math.NaN(), Iterations: 1},
		"of 0 iterations":   Logistic{C: 1, Tolerance: 1},
		"of 0 neurons":      MLP{Training: DefaultTraining},
		"0 and 3 filters":   CNN{Filters: [2]int{0, 3}, Training: DefaultTraining},
		"share 1 of":        CNN{Filters: [2]int{3, 3}, Dropout: 1, Training: DefaultTraining},
		"learning rate -1":  MLP{1, training(func(t *Training) { t.Rate = -1 })},
		"share 1 of the":    MLP{1, training(func(t *Training) { t.Holdout = 1 })},
		"batches of 0 rows": MLP{1, training(func(t *Training) { t.Batch = 0 })},
		"a patience of 0":   MLP{1, training(func(t *Training) { t.Patience = 0 })},
		"of 0 epochs":       MLP{1, training(func(t *Training) { t.Epochs = 0 })},
	} {
		if m, err := c.Fit(context.Background(), bars(10, 3, 1), 1, nil); err == nil || m != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	small := bars(10, 3, 1)
	small.Height, small.Width = 3, 8
	small.X = small.X[:240]
	if _, err := DefaultCNN.Fit(context.Background(), small, 1, nil); err == nil || !strings.Contains(err.Error(), "3×8") {
		t.Errorf("images of 3×8 for a CNN: %v", err)
	}
	if _, err := DefaultMLP.Fit(context.Background(), bars(1, 3, 1), 1, nil); err == nil || !strings.Contains(err.Error(), "1 row") {
		t.Errorf("one row for a network: %v", err)
	}
}

func TestModelsRefuseBadRows(t *testing.T) {
	d := bars(30, 3, 1)
	m := fitLogistic(t, DefaultLogistic, d)
	narrow := points(make([]float32, 63), 63, []int{1}, 3)
	if _, err := m.Predict(narrow); err == nil || !strings.Contains(err.Error(), "63 values for a model of 64") {
		t.Errorf("rows of another dimension: %v", err)
	}
	if _, err := m.Predict(nil); err == nil {
		t.Error("nil rows are not refused")
	}
	if _, err := Accuracy(m, bars(30, 4, 1)); err == nil || !strings.Contains(err.Error(), "3 classes for rows of 4") {
		t.Errorf("rows of other classes: %v", err)
	}
	unlabelled := bars(30, 3, 1)
	unlabelled.Labels = nil
	if _, err := Accuracy(m, unlabelled); err == nil {
		t.Error("accuracy on rows without labels is not refused")
	}
	unlabelled.X[0] = float32(math.NaN())
	if _, err := m.Predict(unlabelled); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("a NaN: %v", err)
	}
}

// A model of any package can be scored.
type always int

func (always) Classes() int { return 3 }
func (a always) Predict(x *dataset.Dataset) ([]int, error) {
	labels := make([]int, x.Len())
	for i := range labels {
		labels[i] = int(a)
	}
	return labels, nil
}

func TestAccuracyIsTheShareOfRightLabels(t *testing.T) {
	d := points(make([]float32, 8), 1, []int{0, 1, 1, 1, 1, 1, 1, 2}, 3)
	a, err := Accuracy(always(1), d)
	if err != nil || a.Value != 0.75 || !(math.Abs(a.StandardError-math.Sqrt(0.1875/8)) <= 1e-15) {
		t.Errorf("accuracy %+v (%v), want 0.75 ± %v", a, err, math.Sqrt(0.1875/8))
	}
}

func TestMajority(t *testing.T) {
	classes := []string{"a", "b", "c"}
	train := &dataset.Dataset{Classes: classes, Labels: []int{2, 0, 2, 1}}
	test := &dataset.Dataset{Classes: classes, Labels: []int{0, 2, 1, 0}}
	if got := Majority(train, test); got != 0.25 { // 2 is the most frequent, and right once of four
		t.Error(got)
	}
	if got := Majority(train, &dataset.Dataset{Classes: classes}); got != 0 {
		t.Error("without a row to test on:", got)
	}
	for _, label := range []int{-7, 3} {
		train.Labels[1] = label
		if got := Majority(train, test); !math.IsNaN(got) {
			t.Errorf("label %d of three classes: %v", label, got)
		}
	}
}

// guess is a classifier of somebody's own.
type guess struct{ Classifier }

func (guess) Describe() plugin.Info {
	return plugin.Info{Name: "guess", Summary: "always the first class", Version: "1"}
}

// A classifier that is registered can be measured by, behind what there is.
func TestRegisteredClassifiersAreMeasures(t *testing.T) {
	if got := Beside("mlp", "fid", "logistic", "cnn"); !slices.Equal(got, []string{"mlp", "fid", "logistic", "cnn"}) {
		t.Errorf("%v", got)
	}
	Registry.Register(guess{DefaultLogistic})
	if got := Beside("mlp", "fid", "logistic", "cnn"); !slices.Equal(got, []string{"mlp", "fid", "logistic", "cnn", "guess"}) {
		t.Errorf("%v", got)
	}
}
