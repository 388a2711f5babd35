package generator

import (
	"fmt"
	"math/rand/v2"

	"molehill/models/layer"
	"molehill/transport"
)

// Architectures of image generators.
const (
	DCGANText = "dcgan-text" // as 001 D.3 describes it
	DCGANCode = "dcgan-code" // as 001's public code has it
	BigGAN    = "biggan"     // 001's residual network for CelebA
)

// Images is a class-conditional generator of images (001 D.3). A row of its input
// is a latent and a one for its class among zeros (Conditional). A row of its output
// is an image, [Side, Side, Channels] row-major, of values from −1 to 1.
//
// What the paper leaves open is said at each architecture's network. Weights start
// as layer.Init draws them, PyTorch's default, which 001's code keeps for its DCGAN.
type Images struct {
	Architecture string `json:"architecture"`
	Classes      int    `json:"classes"`
	Latent       int    `json:"latent"`    // dimension
	Embedding    int    `json:"embedding"` // of a class, dimension
	Side         int    `json:"side"`      // height and width; a multiple of 4, of 16 for BigGAN
	Channels     int    `json:"channels"`  // of a pixel
	Width        int    `json:"width"`     // channels of the widest hidden images are 4·Width; 64 in the paper
}

// The papers' generators. A smaller Width makes them quick: time goes with its square.
var (
	MNISTText    = Images{Architecture: DCGANText, Classes: 10, Latent: 12, Embedding: 4, Side: 28, Channels: 1, Width: 64}
	MNISTCode    = Images{Architecture: DCGANCode, Classes: 10, Latent: 16, Embedding: 8, Side: 28, Channels: 1, Width: 64}
	CelebADCGAN  = Images{Architecture: DCGANText, Classes: 2, Latent: 32, Embedding: 4, Side: 32, Channels: 3, Width: 64}
	CelebABigGAN = Images{Architecture: BigGAN, Classes: 2, Latent: 32, Embedding: 4, Side: 32, Channels: 3, Width: 64}
)

// largest is how many values the parameters may have. With Adam's moments they are
// what train.Trainer still restores.
const largest = 1 << 25

// Check implements Design.
func (c Images) Check() error {
	multiple := 4
	switch c.Architecture {
	case DCGANText, DCGANCode:
	case BigGAN:
		multiple = 16
	default:
		return fmt.Errorf("there is no architecture %q; take %s, %s or %s", c.Architecture, DCGANText, DCGANCode, BigGAN)
	}
	for _, field := range []struct {
		name        string
		value, most int
	}{
		{"classes", c.Classes, 1 << 12}, {"latent", c.Latent, 1 << 12}, {"embedding", c.Embedding, 1 << 12},
		{"side", c.Side, 1 << 10}, {"channels", c.Channels, 1 << 6}, {"width", c.Width, 1 << 10},
	} {
		if field.value < 1 || field.value > field.most {
			return fmt.Errorf("%s of %s is %d; take 1 to %d", field.name, c.Architecture, field.value, field.most)
		}
	}
	if c.Side%multiple != 0 {
		return fmt.Errorf("a side of %d pixels; %s makes multiples of %d", c.Side, c.Architecture, multiple)
	}
	if values := layer.Size(c.Network()); values > largest {
		return fmt.Errorf("%+v has %d parameters; take at most %d, by a smaller width", c, values, largest)
	}
	return nil
}

// Size implements Design.
func (c Images) Size() (input, output int) {
	return c.Latent + c.Classes, c.Side * c.Side * c.Channels
}

// Network implements Design.
func (c Images) Network() layer.Layer {
	switch c.Architecture {
	case DCGANCode:
		return c.dcganCode()
	case BigGAN:
		return c.bigGAN()
	default:
		return c.dcganText()
	}
}

// Draw returns an input of the generator for labels: a latent each, drawn from rng,
// uniform on [0, 1] (001, Algorithm 1), and its class.
func (c Images) Draw(rng *rand.Rand, labels []int) (transport.Points, error) {
	z := transport.NewPoints(len(labels), c.Latent)
	for i := range z.Data {
		z.Data[i] = rng.Float32()
	}
	return Conditional(z, labels, c.Classes)
}

// embed is the input of the first convolution or product: the latent and the
// learned embedding of the class, side by side.
func (c Images) embed() layer.Embedding {
	return layer.Embedding{Name: "generator.label", Keep: c.Latent, Classes: c.Classes, Size: c.Embedding}
}
