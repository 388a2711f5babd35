package train

import (
	"context"
	"errors"
	"slices"
	"testing"

	"molehill/models/autoencoder"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
)

// A training that is interrupted and continued ends with the weights of one
// that was not, and leaves a file that can be loaded.
func TestInterruptedTrainingContinues(t *testing.T) {
	request := experiment.Request{Experiment: "autoencoder", Seed: 2, Settings: map[string]string{
		"dataset": "a few glyphs", "epochs": "1", "batch": "30", "latent": "2"}} // two steps
	whole, interrupted := experimenttest.Acquired(t, request), experimenttest.Acquired(t, request)
	if err := experiment.Compute(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := experiment.Compute(ended, interrupted); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if err := interrupted.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := experiment.Compute(t.Context(), interrupted); err != nil {
		t.Fatal(err)
	}
	_, losses, err := whole.Curve("loss")
	if err != nil || len(losses) != 2 {
		t.Fatalf("losses %v, %v; want two", losses, err)
	}
	if _, again, err := interrupted.Curve("loss"); err != nil || !slices.Equal(again, losses) {
		t.Errorf("interrupted and continued: losses %v, %v; want %v", again, err, losses)
	}
	f, err := whole.Artefact("weights.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	model, err := autoencoder.Load(f)
	if err != nil || model.Config.Latent != 2 || model.Meta.Dataset != "a few glyphs" || model.Meta.Steps != 2 || model.Meta.Images != 60 {
		t.Errorf("loaded %+v, %v; want 2 steps on the public 60 of 120 images", model.Meta, err)
	}
	if want := dataset.PublicPrivate(120, experiment.SplitSeed).Digest; model.Meta.Split != want {
		t.Errorf("trained on the split %s, want %s", model.Meta.Split, want)
	}
}

func init() {
	dataset.Register("a few glyphs", "120 glyphs, taken to be private", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		return dataset.Load(ctx, "glyphs", dataset.Options{Seed: o.Seed, N: 120})
	})
}
