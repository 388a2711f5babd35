package metric_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"molehill/models/backend"
	"molehill/models/inception"
	"molehill/pkg/dataset"
	"molehill/pkg/metric"
	"molehill/transport"
)

// TestFIDOfDigits is on few images, so the values are biased upwards, all of
// them by about as much.
func TestFIDOfDigits(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("160 images through the network; set MOLEHILL_THOROUGH")
	}
	network, err := inception.Open("")
	if errors.As(err, new(*inception.NotFoundError)) {
		t.Skip("WITHOUT the network: the FID of images was not tested: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	splits, err := dataset.Load(context.Background(), "mnist", dataset.Options{})
	if errors.As(err, new(*dataset.NotFoundError)) {
		t.Skip("WITHOUT mnist: the FID of images was not tested: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	m, err := metric.Registry.Lookup(network.Metric())
	if err != nil {
		t.Fatal(err)
	}
	const n = 32
	features := func(images []float32) transport.Points {
		f, err := network.Features(context.Background(), b, images, 32, 32, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	digits := func(d *dataset.Dataset) []float32 {
		some := *d
		some.X = d.X[:n*d.Dim()]
		return some.Pad(32, 32).X
	}
	train := digits(splits.Train)
	real := features(train)
	between, err := m.Measure(features(digits(splits.Test)), real, nil)
	if err != nil {
		t.Fatal(err)
	}
	itself, err := m.Measure(real, real, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("train to itself %.4f, to test %.3f: %s", itself.Value, between.Value, between.Note)
	if itself.Value > 1e-3*between.Value {
		t.Errorf("%v from the images to themselves, %v to others", itself.Value, between.Value)
	}
	last := between.Value
	rng := rand.New(rand.NewPCG(1, 6))
	for _, noise := range []float32{0.02, 0.1, 0.5} {
		noisy := make([]float32, len(train))
		for i, v := range train {
			noisy[i] = v + noise*float32(rng.NormFloat64())
		}
		v, err := m.Measure(features(noisy), real, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("noise %v: %.3f", noise, v.Value)
		if v.Value <= 1.1*last { // seen: 0.2, then a growth by 1.2 at least
			t.Errorf("with noise of %v it is %v, with less %v", noise, v.Value, last)
		}
		last = v.Value
	}
}
