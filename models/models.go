// Package models has what is learned, in packages below it, and the registry of
// those networks that the private flows see images through.
package models

import (
	"context"
	"fmt"
	"math"

	"molehill/models/backend"
	"molehill/pkg/plugin"
)

// Model maps images to codes of few dimensions, and codes to images.
type Model interface {
	plugin.Plugin
	Shape() Shape
	// Learned says what the model has learned from.
	Learned() Learned
	// Encode maps images [n, Dim] with pixels in [0, 1] to codes [n, Code]. The code
	// of an image may depend on no other image.
	Encode(ctx context.Context, b *backend.Backend, images []float32) ([]float32, error)
	// Decode maps codes [n, Code] to images [n, Dim] in [0, 1].
	Decode(ctx context.Context, b *backend.Backend, codes []float32) ([]float32, error)
}

// Shape is of images and codes.
type Shape struct {
	Side     int `json:"side"`     // height and width of an image in pixels
	Channels int `json:"channels"` // 1 or 3
	Code     int `json:"code"`     // dimension of a code
}

// Dim is the number of values of an image: row, column, channel.
func (s Shape) Dim() int { return s.Side * s.Side * s.Channels }

// Learned says which rows a model has learned from. A model that has seen private
// rows would carry them past every plan.
type Learned struct {
	Dataset string // "" for none: fixed maps, and models learned from other, public data
	Split   string // digest of the public/private partition whose public half it is (dataset.Partition)
	Inputs  string // digest of the data set's rows (experiment.Digest), "" where its version fixes them
}

// Registry holds the models.
var Registry = plugin.Registry[Model]{Kind: kind, Defaults: func(m Model) (map[string]any, error) {
	return map[string]any{plugin.NoPreset: m.Shape()}, nil
}}

const kind = "model"

// largest keeps a slip of the finger out of memory.
const largest = 1 << 22

// Checked returns a registered model whose every answer is checked: one that
// panics or returns another shape than it states, or images with values that are
// no numbers, gives an error with its name.
func Checked(name string) (*Guarded, error) {
	m, err := Registry.Lookup(name)
	if err != nil {
		return nil, err
	}
	return Guard(name, m)
}

// Guard is Checked for a model that need not be registered.
func Guard(name string, m Model) (*Guarded, error) {
	g := &Guarded{Name: name, model: m}
	err := g.guard("Shape", func() error {
		g.Shape, g.Learned = m.Shape(), m.Learned()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s := g.Shape; s.Side < 1 || s.Code < 1 || s.Channels != 1 && s.Channels != 3 || s.Side > largest || s.Code > largest || s.Dim() > largest {
		return nil, fmt.Errorf("model %q states images of %d×%d pixels with %d channels and codes of %d values; expected 1 or 3 channels, and 1 to %d values of each", name, s.Side, s.Side, s.Channels, s.Code, largest)
	}
	return g, nil
}

// Guarded is a model whose answers are checked.
type Guarded struct {
	Name    string
	Shape   Shape
	Learned Learned
	model   Model
}

// Encode is Model's. Values that are no numbers count as 0: an image that makes
// some must not be told by an error.
func (g *Guarded) Encode(ctx context.Context, b *backend.Backend, images []float32) ([]float32, error) {
	codes, err := g.apply("Encode", images, g.Shape.Dim(), g.Shape.Code, func() ([]float32, error) { return g.model.Encode(ctx, b, images) })
	for i, v := range codes {
		if !finite(v) {
			codes[i] = 0
		}
	}
	return codes, err
}

// Decode is Model's.
func (g *Guarded) Decode(ctx context.Context, b *backend.Backend, codes []float32) ([]float32, error) {
	images, err := g.apply("Decode", codes, g.Shape.Code, g.Shape.Dim(), func() ([]float32, error) { return g.model.Decode(ctx, b, codes) })
	for i, v := range images {
		if !finite(v) {
			return nil, fmt.Errorf("model %q: its Decode returns %v in row %d; expected finite values", g.Name, v, i/g.Shape.Dim())
		}
	}
	return images, err
}

func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

func (g *Guarded) apply(doing string, rows []float32, in, out int, f func() ([]float32, error)) (made []float32, err error) {
	if len(rows)%in != 0 {
		return nil, fmt.Errorf("model %q: %d values are no whole number of rows of %d to %s", g.Name, len(rows), in, doing)
	}
	err = g.guard(doing, func() error {
		made, err = f()
		return err
	})
	if err != nil {
		return nil, err
	}
	n := len(rows) / in
	if len(made) != n*out {
		return nil, fmt.Errorf("model %q: its %s returns %d values for %d rows; expected %d for each, %d in all", g.Name, doing, len(made), n, out, n*out)
	}
	return made, nil
}

func (g *Guarded) guard(doing string, f func() error) error {
	return plugin.Guard(kind, g.Name, doing, f)
}
