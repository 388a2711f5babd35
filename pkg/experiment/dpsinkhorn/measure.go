package dpsinkhorn

import (
	"context"
	"fmt"
	"strings"

	"molehill/models/semidebiased"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/metric"
	"molehill/pkg/metric/utility"
	"molehill/pkg/run"
	"molehill/privacy/noise"
)

// Measures implements experiment.Measurer: the classifiers of 001 D.2, FID, whether
// rows are copies of private ones, and the bias and variance of gradients.
func (e Experiment) Measures() []string {
	return utility.Beside("logistic", "mlp", "cnn", "fid", "copies", "bias")
}

// Called implements experiment.Renaming.
func (Experiment) Called(name string) []string { return fid.Called(name) }

// Measure implements experiment.Measurer.
func (e Experiment) Measure(ctx context.Context, r *run.Run, config experiment.Config, name string, count int, say func(run.Event)) (found experiment.Measured, err error) {
	c := config.(*Config)
	rows, err := load(ctx, c, say)
	if err != nil {
		return found, err
	}
	t, err := newTraining(c, rows, noise.Seeded(r.Spec.Seed))
	if err != nil {
		return found, err
	}
	defer t.generator.Close()
	if err := restore(r, t); err != nil {
		return found, err
	}
	found = experiment.Measured{Values: run.Values{}, Rows: count, Computed: run.Provenance{Backend: rows.Backend.String()}}
	if name == "bias" {
		err := t.measureBias(ctx, &found, r.Spec.Seed, say)
		return found, err
	}
	made, err := t.generate(count)
	if err != nil {
		return found, err
	}
	if name == "copies" {
		err := measureCopies(ctx, &found, rows, made)
		return found, err
	}
	images, err := rows.images(ctx, made.Points, made.Labels)
	if err != nil {
		return found, err
	}
	if name == "fid" {
		err = measureFID(ctx, r, &found, rows, images, say)
	} else {
		err = accuracies(ctx, name, images, rows.Held, r.Spec.Seed, func(p utility.Progress) {
			say(run.Event{Message: fmt.Sprintf("%s: hold-out accuracy %.3f", name, p.BestHoldout), Step: p.Step, Total: p.Limit})
		}, found.Values)
	}
	return found, err
}

// accuracies are those on held-out images of classifiers that have learned from generated
// ones, as they are and darkened.
func accuracies(ctx context.Context, name string, images, held *dataset.Dataset, seed uint64, say func(utility.Progress), to run.Values) error {
	for mark, of := range scored(images) {
		model, err := utility.Fit(ctx, name, of, seed, say)
		if err != nil {
			return err
		}
		accuracy, err := utility.Accuracy(model, held)
		if err != nil {
			return err
		}
		to[name+" accuracy"+mark] = accuracy.Value
	}
	return nil
}

// measureFID measures FID of images, as they are and darkened.
func measureFID(ctx context.Context, r *run.Run, found *experiment.Measured, rows *Rows, images *dataset.Dataset, say func(run.Event)) error {
	score, err := fid.Open(ctx, rows.Backend, say)
	if err != nil {
		return err
	}
	for mark, of := range scored(images) {
		value, err := score.Distance(ctx, r, of, rows.Held, strings.ReplaceAll(mark, " ", "-"))
		if err != nil {
			return err
		}
		found.Values[score.Name()+mark], found.Note = value.Value, value.Note
	}
	return nil
}

// restore reads the network that a finished run has left.
func restore(r *run.Run, t *training) error {
	file, err := r.Artefact(artefact)
	if err != nil {
		return err
	}
	defer file.Close()
	result, err := r.Result()
	if err != nil {
		return err
	}
	return t.generator.Restore(file, int(result.Metrics["steps"]))
}

// measureCopies compares generated rows with private and held-out ones: for the keeper of
// the records.
func measureCopies(ctx context.Context, found *experiment.Measured, rows *Rows, made semidebiased.Batch) error {
	near, err := metric.CheckCopies(ctx, rows.place(made.Points), rows.Private.Points, rows.Test)
	found.NonPrivate = true
	found.Values = near.Values()
	found.Note = fmt.Sprintf("beside %d private and %d held-out rows; copies would be nearer to private rows more often than expected", rows.Private.Len(), rows.Test.Len())
	return err
}
