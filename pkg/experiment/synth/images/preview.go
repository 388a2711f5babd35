package images

import (
	"context"
	"errors"
	"fmt"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
)

// Preview implements experiment.Previewing.
func (c *Config) Preview(ctx context.Context, b experiment.Before) error {
	schema, err := data.ReadSchema(c.Schema)
	if err != nil {
		return err
	}
	code, err := c.code(schema)
	if err != nil {
		return err
	}
	found, err := Look(ctx, c.Data, schema, b.Work)
	if err != nil {
		return err
	}
	method, err := known{c, schema, code}.Method(b.Spec.Seed)
	if err != nil {
		return err
	}
	defer method.Close()
	return c.Terms.Preview(ctx, b, schema.Name, found, method)
}

// Look reads images for their keeper, and tells of each by work.
func Look(ctx context.Context, path string, schema *pictures.Schema, work func(title string, steps int) experiment.Work) (seen synth.Seen, err error) {
	source, err := pictures.Open(path, schema)
	if err != nil {
		return seen, err
	}
	const atOnce = 64
	reading := work("reading the images", source.Len())
	defer reading.Done()
	found, err := pictures.Each(ctx, followed{source, reading}, schema.Images.Dim(), atOnce, func(int, []float32, []int) error { return nil })
	seen.Records, seen.Called = source.Len(), "images"
	if seen.Records == 1 {
		seen.Called = "image"
	}
	for _, fault := range found {
		seen.Faults = append(seen.Faults, fault.String())
	}
	if changed := pictures.Changed(found); 2*changed > seen.Records {
		seen.Most = fmt.Sprintf("%d of %d images do not agree with the schema", changed, seen.Records)
	}
	return seen, errors.Join(err, source.Close())
}

// followed are images that tell of each that is read.
type followed struct {
	pictures.Source
	by interface{ Step() }
}

// Picture implements pictures.Source.
func (f followed) Picture(dst []float32, i int) (int, error) {
	defer f.by.Step()
	return f.Source.Picture(dst, i)
}
