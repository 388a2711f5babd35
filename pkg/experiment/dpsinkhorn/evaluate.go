package dpsinkhorn

import (
	"context"
	"fmt"
	"strings"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/metric"
	"molehill/pkg/metric/utility"
	"molehill/pkg/run"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/viz"
)

// perClass images of each class are shown, at most.
const perClass = 8

// finish measures and draws what the generator has learned.
func finish(ctx context.Context, r *run.Run, s *student, steps int) (result run.Result, err error) {
	made, err := s.generate(s.config.Samples)
	if err != nil {
		return result, err
	}
	images, err := s.rows.images(made.Points, made.Labels)
	if err != nil {
		return result, err
	}
	if err := picture(r, images); err != nil {
		return result, err
	}
	result.Metrics = run.Values{"steps": float64(steps)}
	for name, of := range map[string]*dataset.Dataset{"": images, darkened: darken(images)} {
		accuracy, err := judge(ctx, "logistic", of, s.rows.Held, r.Spec.Seed, nil)
		if err != nil {
			return result, err
		}
		result.Metrics["logistic accuracy"+name] = accuracy.Value
	}
	if result.Metrics["sliced W₂"], err = s.distance(made, r.Spec.Seed); err != nil {
		return result, err
	}
	result.Note = fmt.Sprintf("accuracy on %d held-out images of a classifier that has learned from %d generated ones; sliced W₂ between generated and held-out %s", s.rows.Held.Len(), made.Len(), s.config.Space)
	return result, nil
}

// rowsOf is a grid with a row for each class.
func rowsOf(images *dataset.Dataset) viz.Images {
	classes := len(images.Classes)
	shown := min(perClass, images.Len()/classes)
	grid := viz.Images{Height: images.Height, Width: images.Width, Channels: images.Channels, Cols: shown, RowLabels: images.Classes,
		X: make([]float32, classes*shown*images.Dim())}
	for class := range classes {
		for k := range shown { // generate makes classes in turn
			copy(grid.X[(class*shown+k)*images.Dim():], images.Row(k*classes+class))
		}
	}
	return grid
}

// picture leaves a grid with a row for each class.
func picture(r *run.Run, images *dataset.Dataset) error {
	grid := rowsOf(images)
	if err := r.WriteTable("samples.npy", grid.X, images.Dim()); err != nil {
		return err
	}
	return r.WriteFile("samples.png", grid.PNG)
}

// preview leaves images of a run that goes on, which its last ones replace.
func preview(r *run.Run, s *student, made Batch) error {
	n := min(perClass*len(s.rows.Classes), len(made.Labels))
	if n < len(s.rows.Classes) {
		return nil
	}
	images, err := s.rows.images(transport.Points{Dim: made.Dim, Data: made.Data[:n*made.Dim]}, made.Labels[:n])
	if err != nil {
		return err
	}
	return r.WriteTable("samples.npy", rowsOf(images).X, images.Dim())
}

// darkened marks metrics of images after darken.
const darkened = " below zero cut"

// darken sets pixels below 0, of values from −1 to 1, to −1, as 001's code does
// before it scores images. What is generated is on a dark ground.
func darken(d *dataset.Dataset) *dataset.Dataset {
	dark := *d
	dark.X = make([]float32, len(d.X))
	for i, v := range d.X {
		if v >= 0.5 {
			dark.X[i] = v
		}
	}
	return &dark
}

// judge is the accuracy on held-out images of a classifier that has learned from
// generated ones.
func judge(ctx context.Context, name string, made, held *dataset.Dataset, seed uint64, say func(utility.Progress)) (metric.Value, error) {
	classifier, err := utility.Registry.Lookup(name)
	if err != nil {
		return metric.Value{}, err
	}
	model, err := classifier.Fit(ctx, made, seed, say)
	if err != nil {
		return metric.Value{}, err
	}
	return utility.Accuracy(model, held)
}

// Measures implements experiment.Measurer: the classifiers of 001 D.2, FID, whether
// rows are copies of private ones, and the bias and variance of gradients.
func (e Experiment) Measures() []string {
	return utility.Beside("logistic", "mlp", "cnn", "fid", "copies", "bias")
}

// Called implements experiment.Renaming.
func (Experiment) Called(name string) string { return fid.Called(name) }

// Measure implements experiment.Measurer.
func (e Experiment) Measure(ctx context.Context, r *run.Run, config experiment.Config, name string, count int, say func(run.Event)) (found experiment.Measured, err error) {
	c := config.(*Config)
	rows, err := load(ctx, c, say)
	if err != nil {
		return found, err
	}
	s, err := newStudent(c, rows, noise.Seeded(r.Spec.Seed))
	if err != nil {
		return found, err
	}
	defer s.made.Close()
	if err := restore(r, s); err != nil {
		return found, err
	}
	found = experiment.Measured{Values: run.Values{}, Rows: count, Computed: run.Provenance{Backend: rows.Backend.String()}}
	if name == "bias" {
		return biasOf(found, s, r.Spec.Seed, say)
	}
	made, err := s.generate(count)
	if err != nil {
		return found, err
	}
	if name == "copies" {
		return copies(found, rows, made)
	}
	images, err := rows.images(made.Points, made.Labels)
	if err != nil {
		return found, err
	}
	if name == "fid" {
		return distances(ctx, r, found, rows, images, say)
	}
	for suffix, of := range map[string]*dataset.Dataset{"": images, darkened: darken(images)} {
		accuracy, err := judge(ctx, name, of, rows.Held, r.Spec.Seed, func(p utility.Progress) {
			say(run.Event{Message: fmt.Sprintf("%s: hold-out accuracy %.3f", name, p.BestHoldout), Step: p.Step, Total: p.Limit})
		})
		if err != nil {
			return found, err
		}
		found.Values[name+" accuracy"+suffix] = accuracy.Value
	}
	return found, nil
}

// distances are FIDs to as many held-out images.
func distances(ctx context.Context, r *run.Run, found experiment.Measured, rows *Rows, images *dataset.Dataset, say func(run.Event)) (experiment.Measured, error) {
	score, err := fid.Open(ctx, rows.Backend, say)
	if err != nil {
		return found, err
	}
	found.Rows = min(images.Len(), rows.Held.Len())
	images = fid.First(images, found.Rows)
	real, err := score.Cached(ctx, fid.First(rows.Held, found.Rows), "held-out images")
	if err != nil {
		return found, err
	}
	for suffix, of := range map[string]*dataset.Dataset{"": images, darkened: darken(images)} {
		made, err := score.Generated(ctx, r, of, strings.ReplaceAll(suffix, " ", "-"))
		if err != nil {
			return found, err
		}
		value, err := score.Between(made, real)
		if err != nil {
			return found, err
		}
		found.Values[score.Name()+suffix], found.Note = value.Value, value.Note
	}
	return found, nil
}

// restore reads the network that a finished run has left.
func restore(r *run.Run, s *student) error {
	file, err := r.Artefact(artefact)
	if err != nil {
		return err
	}
	defer file.Close()
	result, err := r.Result()
	if err != nil {
		return err
	}
	return s.made.Restore(file, int(result.Metrics["steps"]))
}

// copies compares generated rows with private and held-out ones: for the keeper of
// the records.
func copies(found experiment.Measured, rows *Rows, made Batch) (experiment.Measured, error) {
	near, err := metric.CheckCopies(rows.place(made.Points), rows.Private.Points, rows.Test)
	found.NonPrivate = true
	found.Values = near.Values()
	found.Note = fmt.Sprintf("beside %d private and %d held-out rows; copies would be nearer to private rows more often than expected", rows.Private.Len(), rows.Test.Len())
	return found, err
}
