package models_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/models"
	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/pkg/plugin"
)

// halves is a model of images of 2×2 pixels: codes are the two means of lines.
type halves struct {
	name  string
	shape models.Shape
	wrong func(values []float32) []float32
}

func (h halves) Describe() plugin.Info   { return plugin.Info{Name: h.name, Version: "1"} }
func (h halves) Shape() models.Shape     { return h.shape }
func (h halves) Learned() models.Learned { return models.Learned{} }
func (h halves) Encode(_ context.Context, _ *backend.Backend, images []float32) ([]float32, error) {
	var codes []float32
	for i := 0; i < len(images); i += 2 {
		codes = append(codes, (images[i]+images[i+1])/2)
	}
	return h.wrong(codes), nil
}
func (h halves) Decode(_ context.Context, _ *backend.Backend, codes []float32) ([]float32, error) {
	var images []float32
	for _, c := range codes {
		images = append(images, c, c)
	}
	return h.wrong(images), nil
}

func TestFaultyModelsAreNamed(t *testing.T) {
	square := models.Shape{Side: 2, Channels: 1, Code: 2}
	same := func(v []float32) []float32 { return v }
	for name, c := range map[string]struct {
		shape models.Shape
		wrong func([]float32) []float32
		want  string
	}{
		"good":    {square, same, ""},
		"panics":  {square, func([]float32) []float32 { panic("no cheese") }, ": no cheese (models_test.go:"},
		"short":   {square, func(v []float32) []float32 { return v[1:] }, "values for 3 rows; expected"},
		"none":    {square, func([]float32) []float32 { return nil }, "returns 0 values for 3 rows"},
		"empty":   {models.Shape{}, same, "states images of 0×0 pixels"},
		"endless": {models.Shape{Side: 1 << 40, Channels: 1, Code: 2}, same, "1 to 4194304 values"},
		"colours": {models.Shape{Side: 2, Channels: 2, Code: 2}, same, "with 2 channels"},
	} {
		name = "faulty-" + name
		models.Registry.Register(halves{name, c.shape, c.wrong})
		m, err := models.Checked(name)
		errs := []error{err}
		if err == nil {
			_, encodeErr := m.Encode(t.Context(), nil, make([]float32, 3*4))
			_, decodeErr := m.Decode(t.Context(), nil, make([]float32, 3*2))
			errs = []error{encodeErr, decodeErr}
		}
		for _, err := range errs {
			text := fmt.Sprint(err)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(text, c.want) || !strings.Contains(text, `model "`+name+`"`)) {
				t.Errorf("%s: %v, want it to say %q and its name", name, err, c.want)
			}
		}
	}
	m, err := models.Checked("faulty-good")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Encode(t.Context(), nil, make([]float32, 5)); err == nil || !strings.Contains(err.Error(), "no whole number of rows of 4") {
		t.Errorf("half an image: %v", err)
	}
}

// A record that makes a NaN must not be told by an error: its code has 0 there.
// Images are made after the release, so there NaN is a fault like others.
func TestNoNumbers(t *testing.T) {
	m, err := models.Guard("foggy", halves{"foggy", models.Shape{Side: 2, Channels: 1, Code: 2}, func(v []float32) []float32 {
		v[len(v)-1] = float32(math.NaN())
		return v
	}})
	if err != nil {
		t.Fatal(err)
	}
	if codes, err := m.Encode(t.Context(), nil, []float32{1, 1, 1, 1, 1, 1, 1, 1}); err != nil || !slices.Equal(codes, []float32{1, 1, 1, 0}) {
		t.Errorf("codes %v, %v; want 0 for the NaN", codes, err)
	}
	if _, err := m.Decode(t.Context(), nil, make([]float32, 6)); err == nil || !strings.Contains(err.Error(), `model "foggy": its Decode returns NaN in row 2`) {
		t.Errorf("images with a NaN: %v", err)
	}
}

func TestShippedModelsAreRegistered(t *testing.T) {
	for _, name := range autoencoder.Shipped() {
		m, err := models.Checked("autoencoder/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Shape != (models.Shape{Side: 32, Channels: 1, Code: 8}) || m.Learned.Dataset != name {
			t.Errorf("%s has the shape %+v and has learned from %+v", name, m.Shape, m.Learned)
		}
	}
}
