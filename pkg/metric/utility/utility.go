// Package utility measures what synthetic labelled rows are good for: how well a
// classifier that has learned from them alone does on real ones.
//
//	model, err := utility.Fit(ctx, "logistic", synthetic, 1, nil)
//	accuracy, err := utility.Accuracy(model, test)
//
// The classifiers are those of Cao et al. 2021, D.2. What
// they see is what is in the rows: bring synthetic and real ones to the same
// range, [0, 1] for images.
package utility

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"molehill/pkg/dataset"
	"molehill/pkg/metric"
	"molehill/pkg/plugin"
)

// Classifier learns labels.
type Classifier interface {
	plugin.Plugin
	// Fit learns from the labelled rows of train. Classes without rows are
	// allowed. The same rows and seed give the same model on the same backend.
	// say, if not nil, is told of each iteration or epoch. A context that ends
	// ends Fit with the context's error.
	Fit(ctx context.Context, train *dataset.Dataset, seed uint64, say func(Progress)) (Model, error)
}

// Progress is how far a Fit has come.
type Progress struct {
	Step  int     `json:"step"`  // iterations or epochs made
	Limit int     `json:"limit"` // of them; most trainings end before
	Loss  float64 `json:"loss"`  // what is minimised, in nats; for networks its mean over the epoch
	// Holdout is the accuracy on rows held out of training, in networks, and
	// BestHoldout the best so far.
	Holdout     float64 `json:"holdout,omitempty"`
	BestHoldout float64 `json:"best_holdout,omitempty"`
}

// Model is a classifier that has learned.
type Model interface {
	// Classes is the number of classes that it tells apart.
	Classes() int
	// Predict returns a label for each row of x, [n], whatever labels x has.
	Predict(x *dataset.Dataset) ([]int, error)
}

// Registry holds the classifiers.
var Registry = plugin.Registry[Classifier]{Kind: "classifier"}

func init() {
	Registry.Register(DefaultLogistic)
	Registry.Register(DefaultMLP)
	Registry.Register(DefaultCNN)
}

// Accuracy is the share of the rows of test that the model labels rightly, with
// the standard error of a share of independent rows. Higher is better.
func Accuracy(m Model, test *dataset.Dataset) (metric.Value, error) {
	if err := check(test); err != nil {
		return metric.Value{}, err
	}
	if len(test.Classes) != m.Classes() {
		return metric.Value{}, fmt.Errorf("utility: a model of %d classes for rows of %d; train and test on the same classes", m.Classes(), len(test.Classes))
	}
	labels, err := m.Predict(test)
	if err != nil {
		return metric.Value{}, err
	}
	if len(labels) != test.Len() {
		return metric.Value{}, fmt.Errorf("utility: the model gives %d labels to %d rows; Predict returns one for each", len(labels), test.Len())
	}
	return metric.Agreement(labels, test.Labels), nil
}

// Majority is the accuracy on test of always saying the most frequent label of train:
// what a model has to exceed to have learned anything. Where a label of train is none of
// its classes it is NaN.
func Majority(train, test *dataset.Dataset) float64 {
	counts, best := make([]int, len(train.Classes)), 0
	for _, label := range train.Labels {
		if label < 0 || label >= len(counts) {
			return math.NaN()
		}
		if counts[label]++; counts[label] > counts[best] {
			best = label
		}
	}
	right := 0
	for _, label := range test.Labels {
		if label == best {
			right++
		}
	}
	return float64(right) / float64(max(1, len(test.Labels)))
}

// check says what is wrong with labelled rows.
func check(d *dataset.Dataset) error {
	switch {
	case d == nil:
		return errors.New("utility: no rows; give a data set")
	case len(d.Classes) == 0 || d.Labels == nil:
		return fmt.Errorf("utility: data set %q has %d labels and %d classes; label its rows and name all its classes", d.Name, len(d.Labels), len(d.Classes))
	}
	if err := d.Check(); err != nil {
		return fmt.Errorf("utility: %w", err)
	}
	return nil
}

// checkRows says why x does not have rows of dim values.
func checkRows(x *dataset.Dataset, dim int) error {
	if x == nil {
		return errors.New("utility: no rows to label; give a data set")
	}
	if err := x.Check(); err != nil {
		return fmt.Errorf("utility: %w", err)
	}
	if x.Dim() != dim {
		return fmt.Errorf("utility: rows of %d values for a model of %d; bring them to the layout that it was trained on", x.Dim(), dim)
	}
	return nil
}

// finish turns a panic of graph building, on layers that do not fit the rows,
// into an error.
func finish(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("utility: %v", v)
	}
}

// Beside returns names of measures, and behind them those of the classifiers that are
// registered besides.
func Beside(measures ...string) []string {
	for _, c := range Registry.All() {
		if name := c.Describe().Name; !slices.Contains(measures, name) {
			measures = append(measures, name)
		}
	}
	return measures
}
