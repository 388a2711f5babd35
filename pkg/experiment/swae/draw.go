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
