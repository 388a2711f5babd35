package swae

import (
	"cmp"
	"context"

	"molehill/transport"
)

// draw returns points to decode, the same ones for the same count: the prior's, or those
// that lie as codes do, after Passes.
func (t *training) draw(ctx context.Context, count int) (z transport.Points, err error) {
	if t.law != nil {
		z, err = t.law.draw(ctx, t, count)
	} else {
		z = prior(count, t.config.Latent, t.public.Stream("samples", 0))
	}
	for range t.config.Passes {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			break
		}
		var x []float32
		if x, err = t.images(z.Data); err == nil {
			z.Data, err = t.learner.Inner(x)
		}
	}
	return z, err
}

// render makes the images that are generated from points: those of the decoder, with Grain;
// the same ones for the same points.
func (t *training) render(points []float32) ([]float32, error) {
	x, err := t.images(points)
	if err != nil || t.config.Grain == 0 {
		return x, err
	}
	grain, rng := float32(t.config.Grain), t.public.Stream("grain", 0)
	for i, mean := range x {
		drawn := float32(0)
		if rng.Float64() < float64(mean) {
			drawn = 1
		}
		x[i] = mean + grain*(drawn-mean)
	}
	return x, nil
}
