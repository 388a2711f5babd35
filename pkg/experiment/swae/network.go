// Package swae trains the private sliced Wasserstein autoencoder of 004 (Sections 6
// and B): an encoder whose codes look like a prior, and a decoder that makes images
// of codes and so, of the prior's points, new images.
//
// The gradient of both is clipped inside and gets noise (models/matching); the labels
// of generated images come from a classifier of codes that learns within the same
// budget: after the autoencoder, or (ours, with Config.Supervision) together with it, so
// that codes of a class lie together. Instead of pulling codes to a prior, where they
// come to lie can be released (ours, with Config.Law).
package swae

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/transport"
)

// side is of the images that Table 3 is for, which are grey.
const (
	side   = 28
	pixels = side * side
)

// slope of LeakyReLU.
const slope = 0.2

// Encoder is that of 004 Table 3, from images [n, 28, 28, 1] to codes [n, latent].
// Its convolutions keep the size, which the table's shapes imply.
func Encoder(latent int) layer.Sequence {
	return layer.Sequence{
		layer.Conv2D{Name: "encoder.conv1", In: 1, Out: 8, Kernel: 3, Stride: 1, Padding: 1}, layer.LeakyReLU(slope),
		layer.AvgPool2D(2),
		layer.Conv2D{Name: "encoder.conv2", In: 8, Out: 16, Kernel: 3, Stride: 1, Padding: 1}, layer.LeakyReLU(slope),
		layer.AvgPool2D(2),
		layer.Conv2D{Name: "encoder.conv3", In: 16, Out: 16, Kernel: 3, Stride: 1, Padding: 1}, layer.LeakyReLU(slope),
		layer.Flatten,
		layer.Dense{Name: "encoder.dense1", In: 784, Out: 128}, layer.ReLU,
		layer.Dense{Name: "encoder.dense2", In: 128, Out: 64}, layer.ReLU,
		layer.Dense{Name: "encoder.dense3", In: 64, Out: latent},
	}
}

// Decoder is that of 004 Table 3, from codes [n, latent] to images [n, 28, 28, 1] but
// for the sigmoid at the end: the loss is more exact without, and shade applies it.
func Decoder(latent int) layer.Sequence {
	return layer.Sequence{
		layer.Dense{Name: "decoder.dense1", In: latent, Out: 64}, layer.ReLU,
		layer.Dense{Name: "decoder.dense2", In: 64, Out: 128}, layer.ReLU,
		layer.Dense{Name: "decoder.dense3", In: 128, Out: 784}, layer.ReLU,
		layer.Fold(7, 7, 16),
		layer.Conv2D{Name: "decoder.conv1", In: 16, Out: 16, Kernel: 3, Stride: 1, Padding: 1}, layer.LeakyReLU(slope),
		layer.Upsample(2),
		layer.Conv2D{Name: "decoder.conv2", In: 16, Out: 8, Kernel: 3, Stride: 1, Padding: 1}, layer.LeakyReLU(slope),
		layer.Upsample(2),
		layer.Conv2D{Name: "decoder.conv3", In: 8, Out: 1, Kernel: 3, Stride: 1, Padding: 1},
	}
}

// hidden units of a classifier of codes.
const hidden = 64

// Classifier makes of codes [n, latent] scores of classes [n, classes], which LogSoftmax
// makes log probabilities.
func Classifier(latent, classes int) layer.Sequence {
	return layer.Sequence{
		layer.Dense{Name: "labels.dense1", In: latent, Out: hidden}, layer.ReLU,
		layer.Dense{Name: "labels.dense2", In: hidden, Out: classes},
	}
}

// encoder is 004's, or with Law the same onto the unit sphere.
func (c *Config) encoder() layer.Sequence {
	if c.Law > 0 {
		return append(Encoder(c.Latent), layer.Normalize)
	}
	return Encoder(c.Latent)
}

// model is the autoencoder with its loss. Of a number of classes it has the classifier
// beside the decoder, [n, 784 + classes], and is trained on images with a one among
// zeros for the class behind; of none it is 004's.
func (c *Config) model(classes int) matching.Model {
	m := matching.Model{Input: []int{side, side, 1}, Inner: c.encoder(), Outputs: c.Latent, Outer: Decoder(c.Latent), Target: []int{side, side, 1}}
	if classes > 0 {
		m.Outer, m.Target = layer.Sequence{layer.Branches{m.Outer, Classifier(c.Latent, classes)}}, []int{pixels + classes}
	}
	m.Loss = func(output, target *Node) *Node {
		if classes == 0 {
			return MulScalar(crossEntropy(output, target), c.scale())
		}
		image, class := AxisRange(0, pixels), AxisRangeToEnd(pixels)
		part := func(x *Node, of SliceAxisSpec) *Node { return Slice(x, AxisRange(), of) }
		surprise := classEntropy(part(output, class), part(target, class))
		return MulScalar(Add(crossEntropy(part(output, image), part(target, image)), MulScalar(surprise, c.Supervision)), c.scale())
	}
	return m
}

// scale is what the loss of an image is multiplied with.
func (c *Config) scale() float64 {
	if c.Reduction == Mean {
		return 1. / pixels
	}
	return 1
}

// classEntropy is, [n], the cross-entropy of classes, a one among zeros each, under
// scores.
func classEntropy(scores, class *Node) *Node {
	return Neg(ReduceSum(Mul(class, LogSoftmax(scores, -1)), 1))
}

// crossEntropy is, [n], the binary cross-entropy of images in [0, 1] under pixels of
// log odds l, summed over the pixels: −x·log σ(l) − (1−x)·log(1−σ(l)), which is
// max(l, 0) − l·x + log(1 + e^−|l|).
func crossEntropy(l, x *Node) *Node {
	each := Add(Sub(MaxScalar(l, 0), Mul(l, x)), Log1P(Exp(Neg(Abs(l)))))
	return ReduceSum(Reshape(each, l.Shape().Dimensions[0], -1), 1)
}

// shade is the sigmoid at the decoder's end, in place: log odds to pixels in [0, 1].
func shade(x []float32) []float32 {
	for i, l := range x {
		x[i] = float32(1 / (1 + math.Exp(-float64(l))))
	}
	return x
}

// prior draws n points uniformly from the unit ball (004, Section 6.4).
func prior(n, dim int, rng *rand.Rand) transport.Points {
	z := transport.NewPoints(n, dim)
	for i := range n {
		row, squares := z.Row(i), 0.
		for squares == 0 {
			squares = 0
			for k := range row {
				v := rng.NormFloat64()
				row[k], squares = float32(v), squares+v*v
			}
		}
		scale := math.Pow(rng.Float64(), 1/float64(dim)) / math.Sqrt(squares)
		for k := range row {
			row[k] = float32(scale * float64(row[k]))
		}
	}
	return z
}
