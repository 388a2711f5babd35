package generator

import (
	"fmt"

	"molehill/models/layer"
)

// Config is the generator of latents (003 C.5), from normal noise through hidden
// layers of 256, 512 (with batch normalisation) and 256 neurons.
type Config struct {
	Noise  int `json:"noise"`  // dimension of its input
	Output int `json:"output"` // and of its output
}

// Check implements Design.
func (c Config) Check() error {
	if c.Noise < 1 || c.Output < 1 {
		return fmt.Errorf("from %d to %d dimensions; take at least 1 of each", c.Noise, c.Output)
	}
	return nil
}

// Size implements Design.
func (c Config) Size() (input, output int) { return c.Noise, c.Output }

// Network implements Design.
func (c Config) Network() layer.Layer {
	return layer.Sequence{
		layer.Dense{Name: "generator.dense1", In: c.Noise, Out: 256}, layer.ReLU,
		layer.Dense{Name: "generator.dense2", In: 256, Out: 512},
		layer.BatchNorm{Name: "generator.norm", Channels: 512}, layer.ReLU,
		layer.Dense{Name: "generator.dense3", In: 512, Out: 256}, layer.ReLU,
		layer.Dense{Name: "generator.output", In: 256, Out: c.Output},
	}
}
