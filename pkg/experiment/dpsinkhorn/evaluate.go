package dpsinkhorn

import (
	"context"
	"fmt"

	"molehill/models/semidebiased"
	"molehill/pkg/dataset"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/viz"
)

// PerClass images of each class are shown, at most.
const PerClass = 8

// finish measures and draws what the generator has learned.
func finish(ctx context.Context, r *run.Run, t *training, steps int) (result run.Result, err error) {
	made, err := t.generate(t.config.Samples)
	if err != nil {
		return result, err
	}
	images, err := t.rows.images(ctx, made.Points, made.Labels)
	if err != nil {
		return result, err
	}
	if err := picture(r, images); err != nil {
		return result, err
	}
	result.Metrics = run.Values{"steps": float64(steps)}
	if err := accuracies(ctx, "logistic", images, t.rows.Held, r.Spec.Seed, nil, result.Metrics); err != nil {
		return result, err
	}
	if result.Metrics["sliced W₂"], err = t.distance(made, r.Spec.Seed); err != nil {
		return result, err
	}
	result.Note = fmt.Sprintf("accuracy on %d held-out images of a classifier that has learned from %d generated ones; sliced W₂ between generated and held-out %s", t.rows.Held.Len(), made.Len(), t.config.Space)
	return result, nil
}

// rowsOf is a grid with a row for each class.
func rowsOf(images *dataset.Dataset) viz.Images {
	classes := len(images.Classes)
	shown := min(PerClass, images.Len()/classes)
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

// preview leaves images of a run that goes on, which its last ones replace. An interruption
// waits for them, so that Loop saves the step that they are of.
func preview(r *run.Run, t *training, made semidebiased.Batch) error {
	n := min(PerClass*len(t.rows.Classes), len(made.Labels))
	if n < len(t.rows.Classes) {
		return nil
	}
	images, err := t.rows.images(context.Background(), transport.Points{Dim: made.Dim, Data: made.Data[:n*made.Dim]}, made.Labels[:n])
	if err != nil {
		return err
	}
	return r.WriteTable("samples.npy", rowsOf(images).X, images.Dim())
}

// Darkened marks metrics of images after darken.
const Darkened = " below zero cut"

// scored are the images that are scored, by what their metrics are marked with: as they
// are, and darkened.
func scored(images *dataset.Dataset) map[string]*dataset.Dataset {
	return map[string]*dataset.Dataset{"": images, Darkened: darken(images)}
}

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
