package dpsinkhorn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/models"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/transport"
)

// shades are faces of one shade each, with an attribute to be labelled by: dark ones have
// "Dark", and every third has "Third".
type shades struct{}

func (shades) Describe() plugin.Info { return plugin.Info{Name: "shades", Version: "1"} }
func (shades) Public() bool          { return false }
func (shades) Labelled()             {}
func (shades) Load(_ context.Context, o dataset.Options) (*dataset.Splits, error) {
	splits := &dataset.Splits{}
	for k, part := range []**dataset.Dataset{&splits.Train, &splits.Test} {
		d := &dataset.Dataset{Name: "shades", Origin: "the test", Height: 64, Width: 64, Channels: 3}
		for i := range []int{80, 40}[k] {
			shade := float32(i%10)/10 + float32(k*10+i/10)/1000 // no two alike
			d.X = append(d.X, slices.Repeat([]float32{shade}, d.Dim())...)
			if o.Label != "" {
				is := map[string]bool{"Dark": i%10 < 5, "Third": i%3 == 0}[o.Label]
				d.Classes, d.Labels = []string{o.Label + ": no", o.Label + ": yes"}, append(d.Labels, map[bool]int{true: 1}[is])
			}
		}
		*part = d
	}
	return splits, nil
}

// shade is a model of such faces: a code is an angle.
type shade struct{}

func (shade) Describe() plugin.Info   { return plugin.Info{Name: "shade", Version: "1"} }
func (shade) Shape() models.Shape     { return models.Shape{Side: 64, Channels: 3, Code: 2} }
func (shade) Learned() models.Learned { return models.Learned{} }
func (shade) Encode(_ context.Context, _ *backend.Backend, images []float32) (codes []float32, _ error) {
	for ; len(images) > 0; images = images[64*64*3:] {
		sin, cos := math.Sincos(float64(images[0]))
		codes = append(codes, float32(cos), float32(sin))
	}
	return codes, nil
}
func (shade) Decode(_ context.Context, _ *backend.Backend, codes []float32) (images []float32, _ error) {
	for ; len(codes) > 0; codes = codes[2:] {
		images = append(images, slices.Repeat([]float32{float32(math.Atan2(float64(codes[1]), float64(codes[0])))}, 64*64*3)...)
	}
	return images, nil
}

// Faces have the classes of the attribute that is asked for and 001's 32×32 pixels, as
// pixels and as latents, and what generates latents generates such images.
func TestFaces(t *testing.T) {
	dataset.Registry.Register(shades{})
	models.Registry.Register(shade{})
	t.Setenv("GOMLX_BACKEND", "go")
	for _, space := range []string{Pixels, Latents} {
		for label, want := range map[string][]int{"Dark": {1, 1, 1, 1, 1, 0, 0, 0, 0, 0}, "Third": {1, 0, 0, 1, 0, 0, 1, 0, 0, 1}} {
			rows, err := load(t.Context(), &Config{Dataset: "shades", Label: label, Space: space, Weights: "shade", Samples: 100}, func(run.Event) {})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rows.Held.Labels[:10], want) || !slices.Equal(rows.Classes, []string{label + ": no", label + ": yes"}) {
				t.Errorf("%s, %s: labels %v of %v", space, label, rows.Held.Labels[:10], rows.Classes)
			}
			if rows.Height != 32 || rows.Width != 32 || rows.Held.Dim() != 32*32*3 || len(rows.Held.X) != 40*32*32*3 || !strings.Contains(rows.Origin, "32×32") {
				t.Errorf("%s: images of %d×%d from %q", space, rows.Height, rows.Width, rows.Origin)
			}
			made, err := rows.images(t.Context(), rows.Test, rows.Held.Labels)
			if err != nil || made.Len() != 40 || made.Height != 32 {
				t.Fatalf("%s: %d images, %v", space, made.Len(), err)
			}
			for i, v := range made.X {
				if !(math.Abs(float64(v-rows.Held.X[i])) <= 1e-6) {
					t.Fatalf("%s: pixel %d of the held-out images is %v, made again %v", space, i, rows.Held.X[i], v)
				}
			}
			for i, l := range rows.Private.Labels { // goes with the shade of its row
				x := float64(rows.Private.Row(i)[0])
				if dark := space == Pixels && (x+1)/2 < 0.49 || space == Latents && math.Acos(x) < 0.49; label == "Dark" && dark != (l == 1) {
					t.Fatalf("%s: record %d of %v has the label %d", space, i, x, l)
				}
			}
		}
	}
}

// Labels of no class are refused with their row, whoever brings them: no training begins.
func TestLabelsOfNoClassAreRefused(t *testing.T) {
	c := &Config{Dataset: "shades", Samples: 10}
	for _, wrong := range []int{-1, 3} {
		err := checkLabels(c, []int{0, 2, wrong, 1}, []string{"a", "b", "c"})
		if want := fmt.Sprintf("private rows of shades: expected labels from 0 to 2, found %d in row 2; mend or leave out that row", wrong); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := checkLabels(c, []int{0, 2, 1}, []string{"a", "b", "c"}); err != nil {
		t.Error(err)
	}
}

// quarters is a model of digits: the means of an image's quarters, on the sphere.
type quarters struct{}

func (quarters) Describe() plugin.Info   { return plugin.Info{Name: "quarters", Version: "1"} }
func (quarters) Shape() models.Shape     { return models.Shape{Side: 32, Channels: 1, Code: 4} }
func (quarters) Learned() models.Learned { return models.Learned{} }
func (quarters) Encode(_ context.Context, _ *backend.Backend, images []float32) ([]float32, error) {
	codes := transport.NewPoints(len(images)/(32*32), 4)
	for i := range codes.Len() {
		for k, v := range images[i*32*32 : (i+1)*32*32] {
			codes.Row(i)[k/512*2+k%32/16] += v
		}
		codes.Row(i)[0] += 1e-3 // none is 0
	}
	codes.OnSphere()
	return codes.Data, nil
}
func (quarters) Decode(_ context.Context, _ *backend.Backend, codes []float32) ([]float32, error) {
	images := make([]float32, len(codes)/4*32*32)
	for k := range images {
		images[k] = min(1, max(0, codes[k/(32*32)*4+k%(32*32)/512*2+k%32/16]))
	}
	return images, nil
}
