package generator

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// bigGAN is the residual generator of 001's text (D.3), after BigGAN (Brock et al.
// 2019): four blocks of depth 4·Width with three spectrally normalised convolutions
// each, from Side/16 pixels across to Side,
//
//	latent ⊕ embedding → 4W × s × s → … → 4W × 16s × 16s → Channels × 16s × 16s
//
// with a linear map before them and normalisation, ReLU, a 3 × 3 convolution and
// tanh after, all spectrally normalised as in BigGAN.
//
// The text leaves open, and is read here, as follows.
//   - Sizes: every block doubles, so that 32 pixels come from 2; only a block that
//     doubles has BigGAN's third convolution, on the shortcut. 001's code has three
//     blocks, from 4 pixels.
//   - The class enters beside the latent, as D.3 says of its DCGAN. BigGAN and 001's
//     code give each class its own scales and offsets in the batch normalisation.
//   - Normalisation: the text names the spectral one alone. BigGAN and 001's code
//     have batch normalisation before each ReLU too, without which twelve layers of
//     spectral norm 1 leave little of the signal; so it is here, of generated
//     images only.
//   - Biases: none in the blocks, as batch normalisation takes them away.
//   - Weights start uniform, those of BigGAN orthogonal: spectral normalisation
//     takes the scale away in either case.
func (c Images) bigGAN() layer.Sequence {
	depth, side := 4*c.Width, c.Side/16
	network := layer.Sequence{
		c.embed(),
		layer.Spectral{Layer: layer.Dense{Name: "generator.dense", In: c.Latent + c.Embedding, Out: side * side * depth}},
		layer.Fold(side, side, depth),
	}
	for i := range 4 {
		network = append(network, doubling(fmt.Sprintf("generator.block%d.", i+1), depth))
	}
	return append(network,
		layer.BatchNorm{Name: "generator.norm", Channels: depth}, layer.ReLU,
		layer.Spectral{Layer: layer.Conv2D{Name: "generator.pixels", In: depth, Out: c.Channels, Kernel: 3, Stride: 1, Padding: 1}},
		layer.Func(graph.Tanh), layer.Flatten,
	)
}

// doubling is a residual block of BigGAN's generator that doubles the side. Its
// shortcut convolves before it doubles, which gives the same for a quarter of the work.
func doubling(name string, depth int) layer.Residual {
	conv := func(last string, kernel int) layer.Spectral {
		return layer.Spectral{Layer: layer.Unbiased{Layer: layer.Conv2D{Name: name + last, In: depth, Out: depth, Kernel: kernel, Stride: 1, Padding: kernel / 2}}}
	}
	return layer.Residual{
		Main: layer.Sequence{
			layer.BatchNorm{Name: name + "norm1", Channels: depth}, layer.ReLU, layer.Upsample(2), conv("conv1", 3),
			layer.BatchNorm{Name: name + "norm2", Channels: depth}, layer.ReLU, conv("conv2", 3),
		},
		Shortcut: layer.Sequence{conv("shortcut", 1), layer.Upsample(2)},
	}
}
