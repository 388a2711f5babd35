package images

import (
	"context"

	"molehill/pkg/dataset/pictures"
	"molehill/transport"
)

// encodedAtOnce is how many images are in memory when they are encoded, at most so
// many values.
const encodedAtOnce = 1 << 24

func atOnce(schema *pictures.Schema) int {
	return min(1000, max(1, encodedAtOnce/schema.Images.Dim()))
}

// encoded are private images as points of the code's sphere.
type encoded struct {
	points transport.Points // of rows
	rows   []int            // records that were encoded
	labels []int            // of all records, 0 without classes
	faults []pictures.Disagreement
}

// Len is how many were encoded.
func (e encoded) Len() int { return e.points.Len() }

// encode reads all images of a source, and encodes most of them at most, evenly
// spaced.
func encode(ctx context.Context, source pictures.Source, schema *pictures.Schema, with code, most int, say func(done, all int)) (encoded, error) {
	n, size := source.Len(), schema.Images.Dim()
	count := min(n, most)
	e := encoded{points: transport.Points{Dim: with.dim(), Data: make([]float32, 0, count*with.dim())}, labels: make([]int, 0, n)}
	for k := range count {
		e.rows = append(e.rows, k*n/count)
	}
	var err error
	e.faults, err = pictures.Each(ctx, source, size, atOnce(schema), func(first int, images []float32, classes []int) error {
		e.labels = append(e.labels, classes...)
		var taken []float32
		for k := e.points.Len(); k < count && e.rows[k] < first+len(classes); k++ {
			at := (e.rows[k] - first) * size
			taken = append(taken, images[at:at+size]...)
		}
		if taken == nil {
			return nil
		}
		x, err := with.encode(ctx, taken)
		e.points.Data = append(e.points.Data, x.Data...)
		say(len(e.labels), n)
		return err
	})
	return e, err
}
