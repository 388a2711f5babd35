package latent

import (
	"context"

	"molehill/transport"
	"molehill/viz"
)

// How many images runs show.
const (
	SampleImages   = 64 // of all together
	SamplesOfClass = 8  // of each class, a row of a grid
)

// Samples decodes the first of some points: SampleImages of them, or SamplesOfClass of
// each class if they have labels.
func (d *Data) Samples(ctx context.Context, x transport.Points, labels []int) (grid viz.Images, err error) {
	shape := d.model.Shape
	grid = viz.Images{Height: shape.Side, Width: shape.Side, Channels: shape.Channels}
	if labels == nil {
		grid.X, err = d.Decode(ctx, x.Data[:min(SampleImages, x.Len())*x.Dim])
	} else {
		grid.Cols, grid.RowLabels = SamplesOfClass, d.Classes
		grid.X, err = d.classSamples(ctx, x, labels)
	}
	return grid, err
}

// classSamples decodes the first points of each class, [classes·SamplesOfClass,
// Pixels]; a class with fewer of them is filled up with black.
func (d *Data) classSamples(ctx context.Context, x transport.Points, labels []int) ([]float32, error) {
	var rows, places []int // of points, and where their images go
	for class := range d.Classes {
		first := members(labels, class)
		for i, row := range first[:min(SamplesOfClass, len(first))] {
			rows, places = append(rows, row), append(places, class*SamplesOfClass+i)
		}
	}
	images := make([]float32, len(d.Classes)*SamplesOfClass*d.Pixels)
	if len(rows) == 0 {
		return images, nil
	}
	decoded, err := d.Decode(ctx, x.Subset(rows).Data)
	if err != nil {
		return nil, err
	}
	for k, place := range places {
		copy(images[place*d.Pixels:(place+1)*d.Pixels], decoded[k*d.Pixels:])
	}
	return images, nil
}
