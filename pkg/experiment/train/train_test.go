package train

import (
	"context"
	"errors"
	"slices"
	"testing"

	"molehill/models/autoencoder"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// A training that is interrupted and continued ends with the weights of one
// that was not, and leaves a file that can be loaded.
func TestInterruptedTrainingContinues(t *testing.T) {
	request := experiment.Request{Experiment: "autoencoder", Seed: 2, Settings: map[string]string{
		"dataset": "glyphs", "epochs": "1", "batch": "15000", "latent": "2"}} // two steps
	whole, interrupted := prepared(t, request), prepared(t, request)
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
	if err != nil || model.Config.Latent != 2 || model.Meta.Dataset != "glyphs" || model.Meta.Steps != 2 {
		t.Errorf("loaded %+v, %v", model.Meta, err)
	}
}

func prepared(t *testing.T, request experiment.Request) *run.Run {
	t.Helper()
	spec, err := request.Spec()
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Store{Dir: t.TempDir()}.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	return r
}
