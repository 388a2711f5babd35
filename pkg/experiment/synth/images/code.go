package images

import (
	"context"
	"fmt"
	"sync"

	"molehill/models"
	"molehill/models/backend"
	"molehill/pkg/dataset/pictures"
	"molehill/transport"
)

// code maps images to points of a sphere and back. It is public: nothing about it
// depends on a private image.
type code interface {
	dim() int
	// encode returns the points of images, [n, Dim] with pixels in [0, 1].
	encode(ctx context.Context, images []float32) (transport.Points, error)
	// decode returns the images of points.
	decode(ctx context.Context, x transport.Points) ([]float32, error)
	// says is for people.
	says() string
	// notCovered is what a promise about points does not cover.
	notCovered() []string
}

// encode implements code.
func (c *cosines) encode(_ context.Context, images []float32) (transport.Points, error) {
	size := c.shape.Dim()
	x := transport.NewPoints(len(images)/size, c.dim())
	transport.InParallel(x.Len(), func(i int) {
		c.toPoint(x.Row(i), images[i*size:(i+1)*size])
	})
	x.OnSphere()
	return x, nil
}

// decode implements code.
func (c *cosines) decode(_ context.Context, x transport.Points) ([]float32, error) {
	size := c.shape.Dim()
	images := make([]float32, x.Len()*size)
	transport.InParallel(x.Len(), func(i int) {
		c.toImage(images[i*size:(i+1)*size], x.Row(i))
	})
	return images, nil
}

// says implements code.
func (c *cosines) says() string {
	return fmt.Sprintf("the %d lowest frequencies of the cosine transform, a fixed map", len(c.waves))
}

// notCovered implements code.
func (*cosines) notCovered() []string { return nil }

// modelled is the code of a model, in the middle of whose frame an image stands.
type modelled struct {
	model *models.Guarded
	shape pictures.Shape
	open  func() (*backend.Backend, error) // once, when it is first needed
}

func newModelled(m *models.Guarded, shape pictures.Shape) (*modelled, error) {
	if s := m.Shape; s.Side < shape.Height || s.Side < shape.Width || s.Channels != shape.Channels {
		return nil, fmt.Errorf("model %q is for images of up to %d×%d pixels with %d channels, and the schema's have %v; take images of that size, or the code %q", m.Name, s.Side, s.Side, s.Channels, shape, Cosines)
	}
	if m.Shape.Code < 2 {
		return nil, fmt.Errorf("model %q has codes of 1 value, which make no sphere; take another", m.Name)
	}
	return &modelled{m, shape, sync.OnceValues(backend.Open)}, nil
}

func (m *modelled) dim() int { return m.model.Shape.Code }

// encode implements code. Codes are moved onto the sphere, whatever a model returns.
func (m *modelled) encode(ctx context.Context, images []float32) (transport.Points, error) {
	b, err := m.open()
	if err != nil {
		return transport.Points{}, err
	}
	codes, err := m.model.Encode(ctx, b, m.frame(images, m.shape.Dim(), m.model.Shape.Dim(), func(to, from []float32) { copy(to, from) }))
	x := transport.Points{Dim: m.dim(), Data: codes}
	if err == nil {
		x.OnSphere()
	}
	return x, err
}

// decode implements code.
func (m *modelled) decode(ctx context.Context, x transport.Points) ([]float32, error) {
	b, err := m.open()
	if err != nil {
		return nil, err
	}
	framed, err := m.model.Decode(ctx, b, x.Data)
	if err != nil {
		return nil, err
	}
	images := m.frame(framed, m.model.Shape.Dim(), m.shape.Dim(), func(to, from []float32) { copy(from, to) })
	for i, v := range images {
		images[i] = pixel(float64(v))
	}
	return images, nil
}

// frame copies between images of the schema's size and those in the middle of the
// model's, line by line.
func (m *modelled) frame(from []float32, size, other int, line func(framed, plain []float32)) []float32 {
	n := len(from) / size
	to := make([]float32, n*other)
	framed, plain := to, from
	if size == m.model.Shape.Dim() {
		framed, plain = from, to
	}
	if size == other { // of one size: a plain copy
		copy(to, from)
		return to
	}
	side, channels := m.model.Shape.Side, m.shape.Channels
	top, left, long := (side-m.shape.Height)/2, (side-m.shape.Width)/2, m.shape.Width*channels
	for i := range n {
		f, p := framed[i*m.model.Shape.Dim():], plain[i*m.shape.Dim():]
		for y := range m.shape.Height {
			at := ((top+y)*side + left) * channels
			line(f[at:at+long], p[y*long:(y+1)*long])
		}
	}
	return to
}

// says implements code.
func (m *modelled) says() string {
	if of := m.model.Learned.Dataset; of != "" {
		return fmt.Sprintf("the model %s, which has learned from public rows of %s", m.model.Name, of)
	}
	return fmt.Sprintf("the model %s, which has learned from no rows that it names", m.model.Name)
}

// notCovered implements code.
func (m *modelled) notCovered() []string {
	return []string{fmt.Sprintf("what the model %s has learned from, which is public: if some of your images were among it, the promise does not hold for them", m.model.Name),
		fmt.Sprintf("that the code which %s gives an image depends on that image alone, as the model's author promises, but for the rounding of its place in a batch", m.model.Name)}
}

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
