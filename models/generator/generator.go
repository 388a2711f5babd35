// Package generator holds networks that make points or images of noise: the one
// of DPSWgen (Config; 003 C.5) and the image generators of DP-Sinkhorn (Images;
// 001 D.3). They follow a field of velocities: what would be a particle's velocity
// becomes the gradient at the network's output.
//
// A generator never sees a record. Batch statistics are those of its own output.
package generator

import (
	"cmp"
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/train"
	"molehill/transport"
)

// Design is the shape of a generator; a saved generator is restored to an equal one.
// JSON has all of it.
type Design interface {
	// Check says what is wrong with the design. The others expect that it passes.
	Check() error
	// Size returns the dimensions of a row of noise and of what is made of it.
	Size() (input, output int)
	// Network maps [batch, input] to [batch, output].
	Network() layer.Layer
}

// Generator is a network in training.
type Generator struct {
	design        Design
	optimizer     train.Optimizer
	input, output int
	trainer       *train.Trainer
	passage       *train.Passage
	made          int // rows of the last Forward
	forwards      int // how often there was one
	apply         *train.Program
}

// New returns a generator that learns by Adam, with weights drawn from seed. Close
// releases it.
func New(b *backend.Backend, design Design, seed uint64) (*Generator, error) {
	return NewWith(b, design, train.Optimizer{}, seed)
}

// NewWith is New with another optimiser. If that keeps an average of the parameters,
// it is by this average that the generator generates.
func NewWith(b *backend.Backend, design Design, optimizer train.Optimizer, seed uint64) (*Generator, error) {
	if err := design.Check(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return start(b, design, optimizer, layer.Init(design.Network(), seed))
}

// Restart returns a generator that goes on from the parameters of g, with an optimiser
// that remembers nothing: what one learns of gradients without noise makes its first
// steps with noise far too long. The caller closes both.
func (g *Generator) Restart(b *backend.Backend) (*Generator, error) {
	params, err := g.trainer.Params()
	if err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return start(b, g.design, g.optimizer, params)
}

// Reset draws weights from seed, as New does, and forgets what the optimiser remembers:
// g is then as New returns it, but that its graphs are compiled.
func (g *Generator) Reset(seed uint64) error {
	if err := g.trainer.Reset(layer.Init(g.design.Network(), seed)); err != nil {
		return fmt.Errorf("generator: %w", err)
	}
	g.made, g.forwards = 0, 0
	return nil
}

// start returns a generator with parameters.
func start(b *backend.Backend, design Design, optimizer train.Optimizer, params layer.Params) (*Generator, error) {
	g := &Generator{design: design, optimizer: optimizer.Complete()}
	g.input, g.output = design.Size()
	var err error
	if g.trainer, err = train.NewWith(b, design.Network(), params, optimizer); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	g.passage, err = g.trainer.Passage()
	if err == nil {
		if optimizer.Average > 0 {
			g.apply, err = g.trainer.InferenceOfAverage()
		} else {
			g.apply, err = g.trainer.Inference()
		}
	}
	if err != nil {
		g.trainer.Close()
		return nil, fmt.Errorf("generator: %w", err)
	}
	return g, nil
}

// Trainer returns what trains the network, for a step that is one graph
// (train.Trainer.Program): the network in it, [batch, input] to [batch, output], is
// the generator's. Generator's Close closes it.
func (g *Generator) Trainer() *train.Trainer { return g.trainer }

// Close releases what the generator holds on the backend.
func (g *Generator) Close() { g.trainer.Close() }

func matrix(p transport.Points) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(p.Data, p.Len(), p.Dim)
}

// expect says what is wrong with noise as the network's input.
func (g *Generator) expect(noise transport.Points) error {
	if noise.Dim != g.input || noise.Len() < 1 {
		return fmt.Errorf("generator: %d rows of noise of dimension %d; want at least 1 of dimension %d", noise.Len(), noise.Dim, g.input)
	}
	return nil
}

// atOnce bounds the values that Generate makes in one run of the graph: a hidden
// layer may hold a hundred times as many.
const atOnce = 1 << 18

// Generate returns what the generator makes of noise, [n, input], with the
// statistics that it has tracked: [n, output], which is finite, or it has diverged
// (train.ErrDiverged). Each row is made by itself, so that n is bounded by the memory for
// the result alone.
func (g *Generator) Generate(noise transport.Points) (transport.Points, error) {
	if err := g.expect(noise); err != nil {
		return transport.Points{}, err
	}
	rows := max(1, atOnce/g.output)
	if noise.Len() <= rows {
		made, err := g.run(g.apply, noise)
		return made, cmp.Or(err, finite(made))
	}
	made := transport.NewPoints(noise.Len(), g.output)
	for first := 0; first < noise.Len(); first += rows {
		batch := transport.NewPoints(rows, noise.Dim) // the last one too, as another size is another graph to compile
		copy(batch.Data, noise.Data[first*noise.Dim:])
		x, err := g.run(g.apply, batch)
		if err != nil {
			return transport.Points{}, err
		}
		copy(made.Data[first*g.output:], x.Data)
	}
	return made, finite(made)
}

// finite says that what a generator has made is not.
func finite(made transport.Points) error {
	return train.Finite("generator: what it makes", made.Data...)
}

// run returns the output of a program that maps noise.
func (g *Generator) run(p *train.Program, noise transport.Points) (transport.Points, error) {
	_, out, err := p.Run(0, matrix(noise))
	if err != nil {
		return transport.Points{}, fmt.Errorf("generator: %w", err)
	}
	return g.points(out[0])
}

// points takes a result from the backend, and releases it there.
func (g *Generator) points(made *tensors.Tensor) (transport.Points, error) {
	values, err := tensors.CopyFlatData[float32](made)
	made.MustFinalizeAll()
	if err != nil {
		return transport.Points{}, fmt.Errorf("generator: %w", err)
	}
	return transport.Points{Dim: g.output, Data: values}, nil
}
