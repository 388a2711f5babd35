// Package generator is the network of DPSWgen (003 C.5): from normal noise to
// latents, through hidden layers of 256, 512 (with batch normalisation) and 256
// neurons. It follows the same guides as particles do: what would be a particle's
// velocity becomes the gradient at the network's output.
//
// It never sees a record. Batch statistics are those of its own output.
package generator

import (
	"fmt"
	"io"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/train"
	"molehill/transport"
)

// Config is the shape of a generator.
type Config struct {
	Noise  int `json:"noise"`  // dimension of its input
	Output int `json:"output"` // and of its output
}

func (c Config) network() layer.Sequence {
	return layer.Sequence{
		layer.Dense{Name: "generator.dense1", In: c.Noise, Out: 256}, layer.ReLU,
		layer.Dense{Name: "generator.dense2", In: 256, Out: 512},
		layer.BatchNorm{Name: "generator.norm", Channels: 512}, layer.ReLU,
		layer.Dense{Name: "generator.dense3", In: 512, Out: 256}, layer.ReLU,
		layer.Dense{Name: "generator.output", In: 256, Out: c.Output},
	}
}

// Generator is a network in training.
type Generator struct {
	config  Config
	trainer *train.Trainer
	forward *train.Program
	learn   *train.Program
	apply   *train.Program
}

// New returns a generator with weights drawn from seed. Close releases it.
func New(b *backend.Backend, c Config, seed uint64) (*Generator, error) {
	if c.Noise < 1 || c.Output < 1 {
		return nil, fmt.Errorf("generator: from %d to %d dimensions; take at least 1 of each", c.Noise, c.Output)
	}
	g := &Generator{config: c}
	var err error
	if g.trainer, err = train.New(b, c.network(), layer.Init(c.network(), seed)); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	g.forward, err = g.trainer.Program(func(network train.Apply, in []*graph.Node) ([]*graph.Node, *graph.Node) {
		return []*graph.Node{network(in[0])}, nil
	})
	if err == nil {
		// With velocities as constants the gradient by the output is −velocity/n.
		g.learn, err = g.trainer.Program(func(network train.Apply, in []*graph.Node) ([]*graph.Node, *graph.Node) {
			along := graph.ReduceSum(graph.Mul(network(in[0]), in[1]), 1)
			return nil, graph.Neg(graph.ReduceAllMean(along))
		})
	}
	if err == nil {
		g.apply, err = g.trainer.Inference()
	}
	if err != nil {
		g.trainer.Close()
		return nil, fmt.Errorf("generator: %w", err)
	}
	return g, nil
}

// Close releases what the generator holds on the backend.
func (g *Generator) Close() { g.trainer.Close() }

// Step makes a step of Adam: velocity is given the generator's output of noise,
// [n, Noise], and returns where each point of it should go, [n, Output].
func (g *Generator) Step(noise transport.Points, rate float64, velocity func(x transport.Points) ([]float32, error)) error {
	n := noise.Len()
	if noise.Dim != g.config.Noise || n < 1 {
		return fmt.Errorf("generator: %d rows of noise of dimension %d; want at least 1 of dimension %d", n, noise.Dim, g.config.Noise)
	}
	x, err := g.run(g.forward, noise)
	if err != nil {
		return err
	}
	if err := x.Check(); err != nil {
		return fmt.Errorf("generator: what it makes is no longer finite (%w); train with a smaller learning rate than %v", err, rate)
	}
	v, err := velocity(x)
	if err != nil {
		return err
	}
	if len(v) != len(x.Data) {
		return fmt.Errorf("generator: %d velocities for %d coordinates; give one each", len(v), len(x.Data))
	}
	if _, _, err = g.learn.Run(rate, matrix(noise), matrix(transport.Points{Dim: x.Dim, Data: v})); err != nil {
		return fmt.Errorf("generator: %w", err)
	}
	return nil
}

func matrix(p transport.Points) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(p.Data, p.Len(), p.Dim)
}

// Generate returns what the generator makes of noise, [n, Noise], with the
// statistics that it has tracked: [n, Output].
func (g *Generator) Generate(noise transport.Points) (transport.Points, error) {
	if noise.Dim != g.config.Noise || noise.Len() < 1 {
		return transport.Points{}, fmt.Errorf("generator: %d rows of noise of dimension %d; want at least 1 of dimension %d", noise.Len(), noise.Dim, g.config.Noise)
	}
	return g.run(g.apply, noise)
}

// run returns the output of a program that maps noise.
func (g *Generator) run(p *train.Program, noise transport.Points) (transport.Points, error) {
	x := transport.Points{Dim: g.config.Output}
	_, out, err := p.Run(0, matrix(noise))
	if err != nil {
		return x, fmt.Errorf("generator: %w", err)
	}
	x.Data, err = tensors.CopyFlatData[float32](out[0])
	out[0].MustFinalizeAll()
	if err != nil {
		return x, fmt.Errorf("generator: %w", err)
	}
	return x, nil
}

// state is the metadata of a saved generator.
type state struct {
	Config Config `json:"config"`
	Step   int    `json:"step"`
}

// Save writes the generator and Adam's moments as they are after a step.
func (g *Generator) Save(w io.Writer, step int) error {
	return g.trainer.Save(w, state{g.config, step})
}

// Restore continues from what Save has written after the same step.
func (g *Generator) Restore(r io.Reader, step int) error {
	var saved state
	err := g.trainer.Restore(r, &saved, func() error {
		if saved != (state{g.config, step}) {
			return fmt.Errorf("it is of %+v after %d steps, this one of %+v after %d", saved.Config, saved.Step, g.config, step)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("generator: the saved state: %w", err)
	}
	return nil
}
