package autoencoder

import (
	"context"
	"fmt"
	"io"
	"slices"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/pkg/run"
	"molehill/viz"
)

// writeCurve writes the loss of every step, as a table and as a picture. Steps
// that were done again after an interruption count once.
func writeCurve(r *run.Run) error {
	steps, values, err := r.Curve("loss")
	if err != nil {
		return err
	}
	losses := map[int]float64{}
	for i, step := range steps {
		losses[step] = values[i]
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	line := viz.Line{}
	for _, step := range steps {
		line.X, line.Y = append(line.X, float64(step)), append(line.Y, losses[step])
	}
	err = r.WriteFile("loss.csv", func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "step,loss")
		for i, step := range steps {
			if err == nil {
				_, err = fmt.Fprintf(w, "%d,%.7g\n", step, line.Y[i])
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	chart := viz.Curves{Title: "Training loss", X: viz.Axis{Label: "step"}, Y: viz.Axis{Label: "mean squared error", Log: true}, Lines: []viz.Line{line}}
	return r.WriteFile("loss.png", chart.PNG)
}

// The grid has rows of originals with their reconstructions below.
const (
	gridColumns = 8
	gridPairs   = 4
)

// writeGrid reconstructs the held-out images, draws some and returns the mean
// squared error of all.
func writeGrid(ctx context.Context, r *run.Run, b *backend.Backend, model *autoencoder.Autoencoder, images images) (loss float64, err error) {
	d := images.heldOut
	latents, err := model.Encode(ctx, b, d.X)
	if err != nil {
		return 0, err
	}
	rebuilt, err := model.Decode(ctx, b, latents)
	if err != nil {
		return 0, err
	}
	for i, v := range d.X {
		difference := float64(v) - float64(rebuilt[i])
		loss += difference * difference / float64(len(rebuilt))
	}
	grid := viz.Images{Title: "Held-out images and their reconstructions", Caption: images.restriction,
		Height: d.Height, Width: d.Width, Channels: d.Channels, Cols: gridColumns}
	line := gridColumns * d.Dim()
	for pair := range min(gridPairs, len(d.X)/line) {
		rows := [2][]float32{d.X[pair*line : (pair+1)*line], rebuilt[pair*line : (pair+1)*line]}
		grid.X = slices.Concat(grid.X, rows[0], rows[1])
		grid.RowLabels = append(grid.RowLabels, "held out", "rebuilt")
	}
	if len(grid.X) == 0 { // fewer than a row of them
		grid.X, grid.Cols, grid.RowLabels = append(slices.Clone(d.X), rebuilt...), d.Len(), []string{"held out", "rebuilt"}
	}
	return loss, r.WriteFile("reconstruction.png", grid.PNG)
}
