// Package generator holds networks that make points or images of noise: the one
// of DPSWgen (Config; 003 C.5) and the image generators of DP-Sinkhorn (Images;
// 001 D.3). They follow a field of velocities: what would be a particle's velocity
// becomes the gradient at the network's output.
//
// A generator never sees a record. Batch statistics are those of its own output.
package generator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gomlx/gomlx/core/graph"
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
	input, output int
	trainer       *train.Trainer
	forward       *train.Program
	learn         *train.Program
	apply         *train.Program
}

// New returns a generator with weights drawn from seed. Close releases it.
func New(b *backend.Backend, design Design, seed uint64) (*Generator, error) {
	if err := design.Check(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	g := &Generator{design: design}
	g.input, g.output = design.Size()
	network := design.Network()
	var err error
	if g.trainer, err = train.New(b, network, layer.Init(network, seed)); err != nil {
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

// Trainer returns what trains the network, for a step that is one graph
// (train.Trainer.Program): the network in it, [batch, input] to [batch, output], is
// the generator's. Generator's Close closes it.
func (g *Generator) Trainer() *train.Trainer { return g.trainer }

// Close releases what the generator holds on the backend.
func (g *Generator) Close() { g.trainer.Close() }

// Step makes a step of Adam: velocity is given the generator's output of noise,
// [n, input], and returns where each point of it should go, [n, output]: of a loss
// with gradient G by the output, −n·G.
func (g *Generator) Step(noise transport.Points, rate float64, velocity func(x transport.Points) ([]float32, error)) error {
	if err := g.expect(noise); err != nil {
		return err
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
// statistics that it has tracked: [n, output]. Each row is made by itself, so that
// n is bounded by the memory for the result alone.
func (g *Generator) Generate(noise transport.Points) (transport.Points, error) {
	if err := g.expect(noise); err != nil {
		return transport.Points{}, err
	}
	rows := max(1, atOnce/g.output)
	if noise.Len() <= rows {
		return g.run(g.apply, noise)
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
	return made, nil
}

// run returns the output of a program that maps noise.
func (g *Generator) run(p *train.Program, noise transport.Points) (transport.Points, error) {
	x := transport.Points{Dim: g.output}
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
	Design json.RawMessage `json:"config"`
	Step   int             `json:"step"`
}

func (g *Generator) state(step int) (state, error) {
	design, err := json.Marshal(g.design)
	if err != nil {
		return state{}, fmt.Errorf("generator: %w", err)
	}
	return state{design, step}, nil
}

// Save writes the generator and Adam's moments as they are after a step.
func (g *Generator) Save(w io.Writer, step int) error {
	state, err := g.state(step)
	if err != nil {
		return err
	}
	return g.trainer.Save(w, state)
}

// Restore continues from what Save has written after the same step.
func (g *Generator) Restore(r io.Reader, step int) error {
	here, err := g.state(step)
	if err != nil {
		return err
	}
	var saved state
	err = g.trainer.Restore(r, &saved, func() error {
		var design bytes.Buffer
		if err := json.Compact(&design, saved.Design); err != nil {
			return err
		}
		if saved.Step != step || !bytes.Equal(design.Bytes(), here.Design) {
			return fmt.Errorf("it is of %s after %d steps, this one of %s after %d", design.Bytes(), saved.Step, here.Design, step)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("generator: the saved state: %w", err)
	}
	return nil
}
