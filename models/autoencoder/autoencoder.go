// Package autoencoder is the autoencoder through which the private flows see
// images: pixels to a point on the unit sphere of a few dimensions, and back. Its
// two architectures are those of Sebag et al. 2025, appendix C.2: the
// convolutional one of Liutkus et al. 2019, for grey
// images of 32×32, and one after DCGAN (Radford et al. 2016) for faces of 64×64.
//
// It is trained on public images only; on private ones it is merely applied.
// That also keeps DCGAN's batch normalisation harmless: its statistics are those
// of public images, and apply to every private one alike.
// Latents have norm at most 1 whatever the image holds, NaN included, because
// the sensitivity of everything that follows is computed from that bound.
package autoencoder

import (
	"fmt"
	"sync"

	"molehill/models/backend"
	"molehill/models/layer"
)

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
	c = c.complete()
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Autoencoder{
		Config: c,
		Meta:   Meta{Config: c, InitSeed: seed},
		params: layer.Init(c.network(), seed),
	}, nil
}

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
			len(values), c.Side, c.Side, c.Channels, c.Dim())
	}
	return len(values) / c.Dim(), nil
}

// programKey names what a program was compiled for.
type programKey struct {
	engine any // compute.Backend
	name   string
}

func keyOf(b *backend.Backend, name string) programKey { return programKey{b.Engine, name} }
