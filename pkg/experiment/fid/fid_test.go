package fid_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/models/backend"
	"molehill/models/inception"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/fid"
	_ "molehill/pkg/experiment/toy"
	"molehill/pkg/run"
)

// noise is n grey images of even noise below a brightness.
func noise(n int, brightness float32, seed uint64) *dataset.Dataset {
	rng := rand.New(rand.NewPCG(seed, 0))
	d := &dataset.Dataset{Height: 8, Width: 8, Channels: 1, X: make([]float32, n*64)}
	for i := range d.X {
		d.X[i] = brightness * rng.Float32()
	}
	return d
}

// All that was generated counts, also where fewer images are held out, beside as many of
// these as there are.
func TestDistanceOfMoreThanAreHeldOut(t *testing.T) {
	if _, err := inception.Open(""); err != nil {
		t.Skip("needs the Inception network: ", err)
	}
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	score, err := fid.Open(ctx, b, func(run.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "five-gaussians", Preset: experiment.Quick, Seed: 1})
	held := noise(6, 1, 1)
	for _, c := range []struct{ generated, beside int }{{10, 6}, {4, 4}} {
		images := noise(c.generated, 0.5, 2)
		got, err := score.Distance(ctx, r, images, held, "")
		if err != nil {
			t.Fatal(err)
		}
		made, err := score.Statistics(ctx, images, "generated images")
		if err != nil {
			t.Fatal(err)
		}
		real, err := score.Statistics(ctx, fid.First(held, c.beside), "held-out images")
		if err != nil {
			t.Fatal(err)
		}
		want, err := score.Between(made, real)
		if err != nil || !(math.Abs(got.Value-want.Value) <= 1e-6*want.Value) || !(got.Value > 0) {
			t.Errorf("%d beside %d: %v, want %v, %v", c.generated, c.beside, got.Value, want.Value, err)
		}
	}
	names, err := r.Artefacts()
	if err != nil || !slices.Contains(names, "measures/"+score.Name()+"-10.npz") {
		t.Errorf("the run keeps %v, %v", names, err)
	}
}
