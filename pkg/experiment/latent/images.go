package latent

import (
	"context"
	"fmt"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/run"
	"molehill/transport"
)

// Latents encodes images of another data set with the network that d is seen through:
// [n, dim], on the unit sphere. They have d's channels, and are padded to its size.
func (d *Data) Latents(ctx context.Context, images *dataset.Dataset, say func(run.Event)) (transport.Points, error) {
	shape := d.model.Shape
	if images.Channels != shape.Channels || images.Height > shape.Side || images.Width > shape.Side {
		return transport.Points{}, fmt.Errorf("images of %s are %d×%d×%d; the autoencoder is for at most %d×%[5]d×%d", images.Name, images.Height, images.Width, images.Channels, shape.Side, shape.Channels)
	}
	latents, err := gallery{images: images, side: shape.Side}.latents(ctx, d.Backend, d.model, say)
	codes := transport.Points{Dim: shape.Code, Data: latents}
	if err == nil {
		codes.OnSphere()
	}
	return codes, err
}

// Images returns the held-out images, as large as Decode makes them.
func (d *Data) Images() *dataset.Dataset { return d.images(d.test.Len()) }

// images returns the first of them.
func (d *Data) images(count int) *dataset.Dataset {
	images := *padded(fid.First(d.test, count), d.model.Shape.Side)
	images.Name, images.Origin, images.Classes = "held-out", d.Origin, d.Classes
	return &images
}
