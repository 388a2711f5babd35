package swae

import (
	"context"
	"errors"
	"math"
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

// The grain of an image is that of draws from the decoder's law: over many images of one
// point it has the decoder's means, with the variance of so much of a draw, and at 1 it is
// a draw. (Each bound is missed by chance in one of 10⁷ pixels.)
func TestGrainHasTheDecodersMeans(t *testing.T) {
	const copies = 2000
	c := config(experiment.Quick)
	tr := untrained(t, &c, &data{backend: goBackend(t)})
	point := prior(1, c.Latent, tr.public.Stream("samples", 0)).Data
	means, err := tr.render(point)
	if err != nil {
		t.Fatal(err)
	}
	for _, grain := range []float64{0.4, 1} {
		tr.config.Grain = grain
		x, err := tr.render(slices.Repeat(point, copies))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := tr.render(slices.Repeat(point, copies)); err != nil || !slices.Equal(x, again) {
			t.Fatalf("the same points have other images, %v", err)
		}
		for k, mean := range means {
			p, sum, squares := float64(mean), 0., 0.
			for i := range copies {
				v := float64(x[i*pixels+k])
				if !(v >= 0 && v <= 1) || grain == 1 && v != 0 && v != 1 {
					t.Fatalf("grain %v: a pixel of %v", grain, v)
				}
				sum, squares = sum+v, squares+(v-p)*(v-p)
			}
			deviation := grain * math.Sqrt(p*(1-p))
			if off := math.Abs(sum/copies - p); !(off <= 5.4*deviation/math.Sqrt(copies)+1e-6) {
				t.Errorf("grain %v, pixel %d: a mean that is %v from %v", grain, k, off, p)
			}
			if got := math.Sqrt(squares / copies); !(math.Abs(got-deviation) <= 0.15*deviation+1e-6) {
				t.Errorf("grain %v, pixel %d: a deviation of %v; expected %v", grain, k, got, deviation)
			}
		}
	}
}
