package latent

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/models"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/transport"
)

// plain is a model whose codes are the pixels.
type plain struct{}

func (plain) Describe() plugin.Info   { return plugin.Info{Name: "plain", Version: "1"} }
func (plain) Shape() models.Shape     { return models.Shape{Side: 8, Channels: 1, Code: 64} }
func (plain) Learned() models.Learned { return models.Learned{} }
func (plain) Encode(_ context.Context, _ *backend.Backend, images []float32) ([]float32, error) {
	return slices.Clone(images), nil
}
func (plain) Decode(_ context.Context, _ *backend.Backend, codes []float32) ([]float32, error) {
	return slices.Clone(codes), nil
}

// specks are images of 8×8 pixels in [0, ½], independent ones.
func specks(n int, seed uint64) *dataset.Dataset {
	rng := rand.New(rand.NewPCG(seed, 1))
	d := &dataset.Dataset{Name: "specks", Origin: "the test", Height: 8, Width: 8, Channels: 1}
	for range 64 * n {
		d.X = append(d.X, rng.Float32()/2)
	}
	return d
}

// What is as the held-out images are is at 0. What is a constant brighter is away by
// that: a shift by v is at |v|/√64 in the mean over directions.
func TestPixelsOfAShift(t *testing.T) {
	splits := &dataset.Splits{Train: specks(400, 1), Test: specks(300, 2)}
	dataset.Register("specks", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) { return splits, nil })
	model, err := models.Guard("plain", plain{})
	if err != nil {
		t.Fatal(err)
	}
	d := &Data{model: &network{Guarded: model}, test: splits.Test, Pixels: 64, Backend: &backend.Backend{Name: "pencil", Device: "paper"}}
	measure := func(x transport.Points) run.Values {
		t.Helper()
		found, err := d.PixelDistance(t.Context(), "specks", x, 1, func(run.Event) {})
		if err != nil || found.Rows != x.Len() || found.Computed.Backend != "pencil (paper)" {
			t.Fatalf("%+v, %v", found, err)
		}
		return found.Values
	}
	x := transport.Points{Dim: 64, Data: slices.Clone(splits.Test.X)}
	same := measure(x)
	if !(same["pixel sliced W₂"] <= 1e-6 && same["pixel sliced W₂ floor"] > 1e-3) {
		t.Errorf("the held-out images themselves: %v", same)
	}
	for i := range x.Data {
		x.Data[i] += 0.25
	}
	shifted := measure(x)
	if v, e := shifted["pixel sliced W₂"], shifted["pixel sliced W₂ error"]; !(math.Abs(v-0.25) <= 5*e && e <= 0.02) {
		t.Errorf("a shift by 0.25: %v ± %v", v, e)
	}
	if shifted["pixel sliced W₂ floor"] != same["pixel sliced W₂ floor"] {
		t.Errorf("floors %v and %v of one seed", same, shifted)
	}
	// 200 of either side have a larger distance than 300: the floor is that of as many.
	if few := measure(x.Subset([]int{0, 1, 2, 3, 4})); !(few["pixel sliced W₂ floor"] >= 2*same["pixel sliced W₂ floor"]) {
		t.Errorf("the floor of 5 images is %v, of 300 %v", few, same)
	}
}
