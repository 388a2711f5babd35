package autoencoder

import (
	"fmt"

	"molehill/models/layer"
)

// Architecture names a structure of layers.
type Architecture string

// The architectures of Sebag et al. (2025), C.2.
const (
	Conv  Architecture = "conv"  // of Liutkus et al. 2019
	DCGAN Architecture = "dcgan" // after Radford et al. 2016
)

// Config is what the papers choose for each data set. Zero values of
// Architecture, Side and Width are Conv, the papers' side for the architecture
// (32 or 64) and the papers' width (32 or 64); New fills them in.
type Config struct {
	Architecture Architecture `json:"architecture"`
	Side         int          `json:"side"`     // height and width of an image in pixels: even for Conv, a multiple of 16 for DCGAN
	Width        int          `json:"width"`    // channels of the first wide layer, which the others' follow from
	Channels     int          `json:"channels"` // of an image: 1 or 3
	Latent       int          `json:"latent"`   // dimension of the latent space, 2 to 1024
}

var (
	// DefaultConfig is the one of the papers for MNIST and Fashion-MNIST.
	DefaultConfig = Config{Architecture: Conv, Side: 32, Width: 32, Channels: 1, Latent: 8}
	// FacesConfig is the one of the papers for CelebA. A quarter of its width
	// takes a sixteenth of the time.
	FacesConfig = Config{Architecture: DCGAN, Side: 64, Width: 64, Channels: 3, Latent: 48}
)

// Limits that keep a slip of the finger, or a file's header, out of memory.
const (
	largestSide    = 256
	mostParameters = 1 << 25 // 4.5 times FacesConfig's
)

// complete fills in what is zero. Files of format 1 state neither architecture
// nor side nor width.
func (c Config) complete() Config {
	usual := DefaultConfig
	if c.Architecture == DCGAN {
		usual = FacesConfig
	}
	if c.Architecture == "" {
		c.Architecture = usual.Architecture
	}
	if c.Side == 0 {
		c.Side = usual.Side
	}
	if c.Width == 0 {
		c.Width = usual.Width
	}
	return c
}

// Check says what is wrong with c, after filling in what is zero.
func (c Config) Check() error { return c.complete().check() }

func (c Config) check() error {
	multiple := map[Architecture]int{Conv: 2, DCGAN: 16}[c.Architecture]
	switch {
	case multiple == 0:
		return fmt.Errorf("autoencoder: no architecture is called %q; take %s or %s", c.Architecture, Conv, DCGAN)
	case c.Side < 8 || c.Side > largestSide || c.Side%multiple != 0:
		return fmt.Errorf("autoencoder: images of %d×%d pixels; the %s architecture takes multiples of %d from %d to %d (the papers %d)",
			c.Side, c.Side, c.Architecture, multiple, max(8, multiple), largestSide, Config{Architecture: c.Architecture}.complete().Side)
	case c.Width < 1 || c.Width > 1024:
		return fmt.Errorf("autoencoder: a width of %d channels; choose from 1 to 1024 (the papers take %d)", c.Width, Config{Architecture: c.Architecture}.complete().Width)
	case c.Channels != 1 && c.Channels != 3:
		return fmt.Errorf("autoencoder: %d channels; images have 1 (grey) or 3 (colour)", c.Channels)
	case c.Latent < 2 || c.Latent > 1024:
		return fmt.Errorf("autoencoder: a latent space of %d dimensions; choose from 2 to 1024 (the papers take 8 for MNIST, 48 for CelebA)", c.Latent)
	}
	if parameters := layer.Size(c.network()); parameters > mostParameters {
		return fmt.Errorf("autoencoder: the network would have %d million parameters; take a smaller width than %d, or a smaller side or latent space (at most %d million)",
			parameters/1_000_000, c.Width, mostParameters/1_000_000)
	}
	return nil
}

// Dim is the number of values of an image: Side·Side·Channels, in the order
// row, column, channel.
func (c Config) Dim() int { return c.Side * c.Side * c.Channels }

// frame is the shape of an image, [Side, Side, Channels].
func (c Config) frame() []int { return []int{c.Side, c.Side, c.Channels} }

// encoder maps [batch, Side, Side, Channels] to unit rows [batch, Latent].
func (c Config) encoder() layer.Sequence {
	if c.Architecture == DCGAN {
		return c.dcganEncoder()
	}
	return c.convEncoder()
}

// decoder maps [batch, Latent] to pixels in (0, 1), [batch, Side, Side, Channels].
func (c Config) decoder() layer.Sequence {
	if c.Architecture == DCGAN {
		return c.dcganDecoder()
	}
	return c.convDecoder()
}

// network is the encoder followed by the decoder: the whole reconstruction.
func (c Config) network() layer.Sequence { return append(c.encoder(), c.decoder()...) }
