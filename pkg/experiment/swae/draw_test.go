package swae

import (
	"context"
	"errors"
	"slices"
	"testing"

	"molehill/pkg/experiment"
)

// With passes what is drawn is what the prior's points come to by decoder and encoder,
// one pass after the other; asked again, the same.
func TestPassesDecodeAndEncode(t *testing.T) {
	const count = 40
	ctx := context.Background()
	c := config(experiment.Quick)
	tr := untrained(t, &c, &data{backend: goBackend(t)})
	draw := func(passes int) []float32 {
		tr.config.Passes = passes
		z, err := tr.draw(ctx, count)
		if err != nil {
			t.Fatal(err)
		}
		if z.Len() != count || z.Dim != c.Latent {
			t.Fatalf("%d points of %d numbers, expected %d of %d", z.Len(), z.Dim, count, c.Latent)
		}
		return z.Data
	}
	for passes := range 3 {
		x, err := tr.images(draw(passes))
		if err != nil {
			t.Fatal(err)
		}
		next, err := tr.learner.Inner(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := draw(passes + 1); !slices.Equal(got, next) {
			t.Errorf("after %d passes are not those after %d, decoded and encoded", passes+1, passes)
		}
	}
	if slices.Equal(draw(0), draw(1)) {
		t.Error("a pass leaves the prior's points where they are")
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := tr.draw(stopped, count); !errors.Is(err, context.Canceled) {
		t.Errorf("drawing goes on where it is told to stop: %v", err)
	}
}
