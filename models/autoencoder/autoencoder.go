// Package autoencoder is the convolutional autoencoder through which the
// private flows see images: 32×32 pixels to a point on the unit sphere of a few
// dimensions, and back. Its structure is that of Liutkus et al., Sliced-
// Wasserstein Flows (2019), as given in appendix C.2 of Sebag et al. (2025).
//
// It is trained on public images only; on private ones it is merely applied.
// Latents have norm at most 1 whatever the image holds, NaN included, because
// the sensitivity of everything that follows is computed from that bound.
package autoencoder

import (
	"fmt"
	"sync"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/layer"
)

// Side is the height and width of images, in pixels.
const Side = 32

// Config is what the structure leaves open.
type Config struct {
	Channels int `json:"channels"` // of an image: 1 or 3
	Latent   int `json:"latent"`   // dimension of the latent space, 2 to 1024
}

// DefaultConfig is the one of the papers for MNIST and Fashion-MNIST.
var DefaultConfig = Config{Channels: 1, Latent: 8}

func (c Config) check() error {
	if c.Channels != 1 && c.Channels != 3 {
		return fmt.Errorf("autoencoder: %d channels; images have 1 (grey) or 3 (colour)", c.Channels)
	}
	if c.Latent < 2 || c.Latent > 1024 {
		return fmt.Errorf("autoencoder: a latent space of %d dimensions; choose from 2 to 1024 (the papers take 8)", c.Latent)
	}
	return nil
}

// Dim is the number of values of an image: Side·Side·Channels, in the order
// row, column, channel.
func (c Config) Dim() int { return Side * Side * c.Channels }

// encoder maps [batch, 32, 32, Channels] to unit rows [batch, Latent].
func (c Config) encoder() layer.Sequence {
	return layer.Sequence{
		layer.Conv2D{Name: "encoder.conv1", In: c.Channels, Out: 3, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Conv2D{Name: "encoder.conv2", In: 3, Out: 32, Kernel: 4, Stride: 2}, layer.ReLU,
		layer.Conv2D{Name: "encoder.conv3", In: 32, Out: 32, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Conv2D{Name: "encoder.conv4", In: 32, Out: 32, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Flatten,
		layer.Dense{Name: "encoder.latent", In: 15 * 15 * 32, Out: c.Latent},
		layer.Normalize,
	}
}

// decoder maps [batch, Latent] to pixels in (0, 1), [batch, 32, 32, Channels].
// The appendix lists convolutions of (kernel, stride, padding) (3, 1, 1),
// (3, 1, 1) and (2, 2, 0) that lead from 16×16 to 32×32, which only transposed
// ones do; the first two are then convolutions, because with stride 1 a
// transposed convolution is one with a mirrored kernel.
func (c Config) decoder() layer.Sequence {
	return layer.Sequence{
		layer.Dense{Name: "decoder.latent", In: c.Latent, Out: 16 * 16 * 32}, layer.ReLU,
		layer.Fold(16, 16, 32),
		layer.Conv2D{Name: "decoder.conv1", In: 32, Out: 32, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.Conv2D{Name: "decoder.conv2", In: 32, Out: 32, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU,
		layer.ConvTranspose2{Name: "decoder.up", In: 32, Out: 32}, layer.ReLU,
		layer.Conv2D{Name: "decoder.pixels", In: 32, Out: c.Channels, Kernel: 3, Stride: 1, Padding: 1}, layer.Func(graph.Sigmoid),
	}
}

// Autoencoder is a network with its weights. It is safe for concurrent use,
// but for Train.
type Autoencoder struct {
	Config Config
	Meta   Meta // where the weights come from

	params layer.Params // of the encoder, then of the decoder

	mu       sync.Mutex
	programs map[programKey]*program // compiled for a backend; dropped when weights change
}

// New returns an autoencoder with weights drawn from seed.
func New(c Config, seed uint64) (*Autoencoder, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Autoencoder{
		Config: c,
		Meta:   Meta{Config: c, InitSeed: seed},
		params: layer.Init(c.network(), seed),
	}, nil
}

// network is the encoder followed by the decoder: the whole reconstruction.
func (c Config) network() layer.Sequence { return append(c.encoder(), c.decoder()...) }

// setParams replaces the weights.
func (a *Autoencoder) setParams(params layer.Params) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.params, a.programs = params, nil
}

// countImages checks that values holds whole images and says how many.
func (c Config) countImages(values []float32) (int, error) {
	if len(values)%c.Dim() != 0 {
		return 0, fmt.Errorf("autoencoder: %d pixel values are not a whole number of %d×%d images with %d channels (%d values each); pad images to that size first",
			len(values), Side, Side, c.Channels, c.Dim())
	}
	return len(values) / c.Dim(), nil
}

// programKey names what a program was compiled for.
type programKey struct {
	engine any // compute.Backend
	name   string
}

func keyOf(b *backend.Backend, name string) programKey { return programKey{b.Engine, name} }
