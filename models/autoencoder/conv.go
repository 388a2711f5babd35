package autoencoder

import (
	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

func (c Config) convEncoder() layer.Sequence {
	side := c.Side/2 - 1 // after conv2
	return layer.Sequence{
		layer.Conv2D{Name: "encoder.conv1", In: c.Channels, Out: 3, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Conv2D{Name: "encoder.conv2", In: 3, Out: c.Width, Kernel: 4, Stride: 2}, layer.ReLU,
		layer.Conv2D{Name: "encoder.conv3", In: c.Width, Out: c.Width, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Conv2D{Name: "encoder.conv4", In: c.Width, Out: c.Width, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Flatten,
		layer.Dense{Name: "encoder.latent", In: side * side * c.Width, Out: c.Latent},
		layer.Normalize,
	}
}

// The appendix lists convolutions of (kernel, stride, padding) (3, 1, 1),
// (3, 1, 1) and (2, 2, 0) that lead from 16×16 to 32×32, which only transposed
// ones do; the first two are then convolutions, because with stride 1 a
// transposed convolution is one with a mirrored kernel.
func (c Config) convDecoder() layer.Sequence {
	side := c.Side / 2
	return layer.Sequence{
		layer.Dense{Name: "decoder.latent", In: c.Latent, Out: side * side * c.Width}, layer.ReLU,
		layer.Fold(side, side, c.Width),
		layer.Conv2D{Name: "decoder.conv1", In: c.Width, Out: c.Width, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Conv2D{Name: "decoder.conv2", In: c.Width, Out: c.Width, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.ConvTranspose2D{Name: "decoder.up", In: c.Width, Out: c.Width, Kernel: 2, Stride: 2}, layer.ReLU,
		layer.Conv2D{Name: "decoder.pixels", In: c.Width, Out: c.Channels, Kernel: 3, Stride: 1, Padding: 1}, layer.Func(graph.Sigmoid),
	}
}
