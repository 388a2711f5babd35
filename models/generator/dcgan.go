package generator

import (
	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// dcganText is the DCGAN of 001's text (D.3): four transposed convolutions with
// ReLU between them and tanh at the end,
//
//	latent ⊕ embedding → 4W × s × s → 2W × 2s × 2s → W × 4s × 4s → Channels × 4s × 4s
//
// with s = Side/4 and W = Width, of kernels s, 4, 4, 3, strides 1, 2, 2, 1 and
// paddings 0, 1, 1, 1. At 28 × 28 and W = 64 that is the paper's: depths 256, 128,
// 64, 1, from 7 × 7. The text has CelebA's 32 × 32 made by the same layers, which
// make 28 × 28; here the first kernel grows to 8. Nothing is said of normalisation,
// so there is none, nor of biases, so there are.
func (c Images) dcganText() layer.Sequence {
	const name = "generator.conv"
	w := c.Width
	return layer.Sequence{
		c.embed(), layer.Fold(1, 1, c.Latent+c.Embedding),
		layer.ConvTranspose2D{Name: name + "1", In: c.Latent + c.Embedding, Out: 4 * w, Kernel: c.Side / 4, Stride: 1}, layer.ReLU,
		layer.ConvTranspose2D{Name: name + "2", In: 4 * w, Out: 2 * w, Kernel: 4, Stride: 2, Padding: 1}, layer.ReLU,
		layer.ConvTranspose2D{Name: name + "3", In: 2 * w, Out: w, Kernel: 4, Stride: 2, Padding: 1}, layer.ReLU,
		layer.ConvTranspose2D{Name: name + "4", In: w, Out: c.Channels, Kernel: 3, Stride: 1, Padding: 1}, layer.Func(graph.Tanh),
		layer.Flatten,
	}
}

// dcganCode is the DCGAN of 001's public code (ConvCondGenerator): the sizes of
// dcganText, but batch normalisation before each hidden activation, which is leaky
// ReLU of slope 0.2, no bias before it, and a convolution at the end.
//
// The normalisation sees generated images only, and so costs no privacy. After
// training it uses the statistics that it has tracked; 001's evaluation uses those
// of each batch that it generates instead.
func (c Images) dcganCode() layer.Sequence {
	const conv, norm = "generator.conv", "generator.norm"
	w, leak := c.Width, layer.LeakyReLU(0.2)
	return layer.Sequence{
		c.embed(), layer.Fold(1, 1, c.Latent+c.Embedding),
		layer.Unbiased{Layer: layer.ConvTranspose2D{Name: conv + "1", In: c.Latent + c.Embedding, Out: 4 * w, Kernel: c.Side / 4, Stride: 1}},
		layer.BatchNorm{Name: norm + "1", Channels: 4 * w}, leak,
		layer.Unbiased{Layer: layer.ConvTranspose2D{Name: conv + "2", In: 4 * w, Out: 2 * w, Kernel: 4, Stride: 2, Padding: 1}},
		layer.BatchNorm{Name: norm + "2", Channels: 2 * w}, leak,
		layer.Unbiased{Layer: layer.ConvTranspose2D{Name: conv + "3", In: 2 * w, Out: w, Kernel: 4, Stride: 2, Padding: 1}},
		layer.BatchNorm{Name: norm + "3", Channels: w}, leak,
		layer.Conv2D{Name: conv + "4", In: w, Out: c.Channels, Kernel: 3, Stride: 1, Padding: 1}, layer.Func(graph.Tanh),
		layer.Flatten,
	}
}
