package privateflow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
)

// Who watches a run sees images before it is finished, as many and as large as
// those at its end.
func TestSamplesAreSeenOnTheWay(t *testing.T) {
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "sketch-flow", Seed: 1, Research: true,
		Settings: map[string]string{"dataset": "glyphs", "particles": "200", "steps": "4000", "epsilon": "5"}})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	go func() {
		for r.Changed("samples.npy").IsZero() && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		stop()
	}()
	if err := experiment.Compute(ctx, r); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run ended with %v before anything was seen of it", err)
	}
	if state, err := r.State(); state != run.Interrupted || err != nil {
		t.Fatalf("the run is %s, %v", state, err)
	}
	pixels, columns, err := r.Table("samples.npy")
	if err != nil || columns != 32*32 || len(pixels) != 64*32*32 {
		t.Errorf("%d values in %d columns, %v; want 64 images of 32×32", len(pixels), columns, err)
	}
}
