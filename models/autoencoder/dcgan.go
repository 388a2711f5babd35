package autoencoder

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// leak is the slope of LeakyReLU for negative values. The appendix names none;
// it is the one of DCGAN (Radford et al. 2016).
const leak = 0.2

// The encoder halves the image three times while channels double.
func (c Config) dcganEncoder() layer.Sequence {
	w, side := c.Width, c.Side/8
	return layer.Sequence{
		layer.Conv2D{Name: "encoder.conv1", In: c.Channels, Out: w, Kernel: 3, Stride: 1, Padding: 1}, layer.LeakyReLU(leak),
		layer.Conv2D{Name: "encoder.conv2", In: w, Out: 2 * w, Kernel: 4, Stride: 2, Padding: 1}, layer.LeakyReLU(leak),
		layer.Conv2D{Name: "encoder.conv3", In: 2 * w, Out: 4 * w, Kernel: 4, Stride: 2, Padding: 1}, layer.LeakyReLU(leak),
		layer.Conv2D{Name: "encoder.conv4", In: 4 * w, Out: 8 * w, Kernel: 4, Stride: 2, Padding: 1}, layer.LeakyReLU(leak),
		layer.Flatten,
		layer.Dense{Name: "encoder.latent", In: side * side * 8 * w, Out: c.Latent},
		layer.Normalize,
	}
}

// The appendix calls the decoder's layers convolutions, but (kernel, stride,
// padding) (4, 1, 0) and three times (4, 2, 1) lead from the 1×1 of a latent to
// images only if they are transposed, as in DCGAN's generator. They end at
// 32×32 with as many channels as the encoder begins with, and the appendix stops
// there. What makes 64×64 pixels of it is DCGAN's last layer, one more
// transposed convolution (4, 2, 1) to the image's channels, with the sigmoid
// that C.2 gives the other decoder, as pixels are in [0, 1].
//
// The first kernel is Side/16, the papers' 4 for 64×64, so that other sides are
// possible.
func (c Config) dcganDecoder() layer.Sequence {
	w := c.Width
	decoder := layer.Sequence{layer.Fold(1, 1, c.Latent)}
	up := layer.ConvTranspose2D{In: c.Latent, Kernel: c.Side / 16, Stride: 1}
	for i, out := range []int{8 * w, 4 * w, 2 * w, w} {
		up.Name, up.Out = fmt.Sprintf("decoder.up%d", i+1), out
		norm := layer.BatchNorm{Name: fmt.Sprintf("decoder.norm%d", i+1), Channels: out}
		decoder = append(decoder, up, layer.LeakyReLU(leak), norm)
		up = layer.ConvTranspose2D{In: out, Kernel: 4, Stride: 2, Padding: 1}
	}
	up.Name, up.Out = "decoder.pixels", c.Channels
	return append(decoder, up, layer.Func(graph.Sigmoid))
}
