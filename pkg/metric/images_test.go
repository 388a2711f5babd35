package metric_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"molehill/models/backend"
	"molehill/models/inception"
	"molehill/pkg/dataset"
	"molehill/pkg/metric"
	"molehill/transport"
)

// TestFIDOfDigits is on few images, so the values are biased upwards, those of as
// many images by about as much: samples of one law are near, those of other digits are not.
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
	real, held := features(train), features(digits(splits.Test))
	between, err := m.Measure(held, real, nil)
	if err != nil {
		t.Fatal(err)
	}
	itself, err := m.Measure(real, real, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("train to itself %.4f, to test %.3f: %s", itself.Value, between.Value, between.Note)
	if !(itself.Value <= 1e-3*between.Value) {
		t.Errorf("%v from the images to themselves, %v to others", itself.Value, between.Value)
	}
	// Of the same images, no more through the network: halves that share none, and digits
	// of straight strokes beside round ones.
	all := transport.Points{Dim: real.Dim, Data: slices.Concat(real.Data, held.Data)}
	labels := slices.Concat(splits.Train.Labels[:n], splits.Test.Labels[:n])
	const few = 14 // as many are there of either kind
	of := func(digits ...int) (rows []int) {
		for i, label := range labels {
			if slices.Contains(digits, label) && len(rows) < few {
				rows = append(rows, i)
			}
		}
		return rows
	}
	first, second := make([]int, few), make([]int, few)
	for i := range few {
		first[i], second[i] = i, few+i
	}
	halves, err := m.Measure(all.Subset(first), all.Subset(second), nil)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := m.Measure(all.Subset(of(1, 7)), all.Subset(of(0, 6, 8)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("halves of %d: %.3f, digits of two kinds: %.3f", few, halves.Value, classes.Value)
	if !(halves.Value < classes.Value/2) { // seen: a third
		t.Errorf("%v between halves of one sample, %v between 1 and 7 and 0, 6 and 8", halves.Value, classes.Value)
	}
	if real.Dim == metric.FID768.Features && !(between.Value < 0.3) { // seen: 0.21; of all images there are 0
		t.Errorf("%v between samples of one law", between.Value)
	}
	last := 3 * between.Value // seen: nine times, with the least noise
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
		if !(v.Value > 1.1*last) { // seen: a growth by 1.3 at least
			t.Errorf("with noise of %v it is %v, with less %v", noise, v.Value, last)
		}
		last = v.Value
	}
}
