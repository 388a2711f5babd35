package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"molehill/pkg/dataset"
	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/run"
	"molehill/transport"
)

// zipFile is the artefact with the images, in folders of their classes. The format is
// none of a run's settings, as another run is another release.
const zipFile = "synthetic.zip"

// made are synthetic images as points of their code, in the order of their classes.
type made struct {
	known
	placed
}

// Leave leaves the images.
func (k known) Leave(ctx context.Context, r *run.Run, p placed) error {
	m := made{k, p}
	column := make([]float32, len(m.labels))
	for i, label := range m.labels {
		column[i] = float32(label)
	}
	err := errors.Join(
		r.WriteTable(pointsFile, m.points.Data, m.points.Dim),
		r.WriteTable(labelsFile, column, 1),
		r.WriteFile(synth.SchemaFile, m.schema.Encode))
	if err != nil {
		return err
	}
	return r.WriteFile(zipFile, func(w io.Writer) error { return m.encode(ctx, w, ".zip") })
}

// encode writes the images in the format of an ending.
func (m *made) encode(ctx context.Context, to io.Writer, ending string) error {
	draw := m.drawer(ctx)
	if ending == ".npz" {
		return m.schema.WriteNPZ(to, m.points.Len(), m.labels, draw)
	}
	return m.schema.WriteZip(to, m.points.Len(), m.labels, draw)
}

// remade reads the images of a finished run.
func (k known) remade(r *run.Run) (*made, error) {
	points, dim, err := r.Table(pointsFile)
	if err != nil {
		return nil, err
	}
	column, _, err := r.Table(labelsFile)
	if err != nil {
		return nil, err
	}
	m := &made{known: k, placed: placed{points: transport.Points{Dim: dim, Data: points}}}
	for _, v := range column {
		m.labels = append(m.labels, int(v))
	}
	return m, nil
}

// finished reads the images of a finished run by what it has left, without the data.
func finished(r *run.Run) (*made, error) {
	var c Config
	if err := json.Unmarshal(r.Spec.Config, &c); err != nil {
		return nil, fmt.Errorf("images: settings of %s: %w", r.ID, err)
	}
	schema, err := data.Left(r)
	if err != nil {
		return nil, err
	}
	with, err := c.code(schema)
	if err != nil {
		return nil, err
	}
	return known{&c, schema, with}.remade(r)
}

// Made returns the synthetic images of a finished run, [n, height, width, channel] in
// [0, 1], with their classes if they have any.
func Made(ctx context.Context, r *run.Run) (*dataset.Dataset, error) {
	m, err := finished(r)
	if err != nil {
		return nil, err
	}
	shape := m.schema.Images.Shape
	d := &dataset.Dataset{Name: m.schema.Name, Origin: r.ID, Height: shape.Height, Width: shape.Width, Channels: shape.Channels,
		X: make([]float32, m.points.Len()*shape.Dim())}
	if m.schema.Classes != nil {
		d.Labels, d.Classes = m.labels, m.schema.Classes.Names
	}
	draw := m.drawer(ctx)
	for i := range d.Len() {
		if err := draw(d.Row(i), i); err != nil {
			return nil, err
		}
	}
	for i, v := range d.X {
		d.X[i] = min(max(v, 0), 1)
	}
	return d, nil
}

// Formats are the endings of what Export writes.
var Formats = []string{".zip", ".npz"}

// Export writes the synthetic images of a finished run in one of Formats. It costs
// nothing.
func Export(ctx context.Context, r *run.Run, to io.Writer, ending string) error {
	if !slices.Contains(Formats, ending) {
		return fmt.Errorf("images: format %q: expected one of %s", ending, strings.Join(Formats, ", "))
	}
	m, err := finished(r)
	if err != nil {
		return err
	}
	return m.encode(ctx, to, ending)
}

// drawer decodes the images when they are asked for, one after the other, many at a
// time.
func (m *made) drawer(ctx context.Context) pictures.Drawer {
	size, first, images := m.schema.Images.Dim(), 0, []float32(nil)
	return func(dst []float32, i int) error {
		if at := (i - first) * size; images == nil || at < 0 || at >= len(images) {
			if err := ctx.Err(); err != nil {
				return err
			}
			to := min(i+atOnce(m.schema), m.points.Len())
			x := transport.Points{Dim: m.points.Dim, Data: m.points.Data[i*m.points.Dim : to*m.points.Dim]}
			var err error
			if images, err = m.code.decode(ctx, x); err != nil {
				return err
			}
			first = i
		}
		copy(dst, images[(i-first)*size:])
		return nil
	}
}
