package matching

import (
	"fmt"
	"io"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/ghost"
	"molehill/models/layer"
	"molehill/models/train"
)

// Network is g, φ followed by ψ: what parameters are of, in its order.
func (m Model) Network() layer.Sequence {
	return append(append(layer.Sequence{}, m.Inner...), m.Outer...)
}

// Check says what is wrong with the model.
func (m Model) Check() error {
	switch {
	case m.Outputs < 1 || size(m.Input) < 1 || size(m.Target) < 1:
		return fmt.Errorf("matching: records of shape %v with targets of shape %v and %d outputs; all sizes must be at least 1", m.Input, m.Target, m.Outputs)
	case m.Loss == nil && len(m.Outer) > 0:
		return fmt.Errorf("matching: an outer network and no loss of what it makes; give one, or leave the network out")
	}
	return ghost.Check(m.Network())
}

func size(shape []int) int {
	n := 1
	for _, dim := range shape {
		n *= dim
	}
	return n
}

// Learner is a model in training on a backend, for one goroutine. Close releases what it
// holds there.
type Learner struct {
	model                        Model
	on                           *backend.Backend
	trainer                      *train.Trainer
	follow                       *train.Follow
	passes                       map[bool]*train.Program // outputs and gradients of a batch, by whether Jacobians are among them
	norms                        map[bool]*train.Program // of these gradients, by whether clipping is exact
	sum                          *train.Program          // of these gradients, weighted
	inner, outer, output, losses *train.Program
	perRecord                    map[bool]held // by whether Jacobians are among them
}

// New puts a model on a backend with parameters start (layer.Init of its Network).
func New(on *backend.Backend, m Model, start layer.Params, o train.Optimizer) (*Learner, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if err := m.apart(); err != nil {
		return nil, err
	}
	l := &Learner{model: m, on: on, passes: map[bool]*train.Program{}, norms: map[bool]*train.Program{}, perRecord: map[bool]held{}}
	var err error
	if l.trainer, err = train.NewWith(on, m.Network(), start, o); err != nil {
		return nil, fmt.Errorf("matching: %w", err)
	}
	if err := l.compile(); err != nil {
		l.Close()
		return nil, fmt.Errorf("matching: %w", err)
	}
	return l, nil
}

func (l *Learner) compile() (err error) {
	if l.follow, err = l.trainer.Follow(); err != nil {
		return err
	}
	for _, yes := range []bool{false, true} {
		if l.passes[yes], err = l.trainer.Inspect(func(weights, inputs []*graph.Node) []*graph.Node {
			return l.model.records(weights, inputs, yes)
		}); err != nil {
			return err
		}
		if l.norms[yes], err = l.trainer.Inspect(func(_, held []*graph.Node) []*graph.Node {
			return l.model.norms(held, yes)
		}); err != nil {
			return err
		}
	}
	if l.sum, err = l.trainer.Inspect(func(_, inputs []*graph.Node) []*graph.Node {
		return []*graph.Node{l.model.sum(inputs)}
	}); err != nil {
		return err
	}
	m, split := l.model, len(l.model.Inner.Params())
	for _, p := range []struct {
		program **train.Program
		build   func(weights, inputs []*graph.Node) *graph.Node
	}{
		{&l.inner, func(weights, in []*graph.Node) *graph.Node { return m.Inner.Apply(in[0], weights[:split]) }},
		{&l.outer, func(weights, in []*graph.Node) *graph.Node { return m.Outer.Apply(in[0], weights[split:]) }},
		{&l.output, func(weights, in []*graph.Node) *graph.Node { return m.Network().Apply(in[0], weights) }},
		{&l.losses, func(weights, in []*graph.Node) *graph.Node {
			return m.losses(m.Network().Apply(in[0], weights), in[1:])
		}},
	} {
		if *p.program, err = l.trainer.Inspect(func(weights, in []*graph.Node) []*graph.Node {
			return []*graph.Node{p.build(weights, in)}
		}); err != nil {
			return err
		}
	}
	return nil
}

// losses builds ℓ, [n], of g's outputs and of targets, if there are any.
func (m Model) losses(output *graph.Node, targets []*graph.Node) *graph.Node {
	var target *graph.Node
	if m.Target != nil {
		target = targets[0]
	}
	return m.Loss(output, target)
}

// Parameters is the number of values that are learned: that of a Gradient.
func (l *Learner) Parameters() int { return l.trainer.Learned() }

// Params returns the parameters as they are now.
func (l *Learner) Params() (layer.Params, error) { return l.trainer.Params() }

// Step makes a step of the optimiser along a gradient, [Parameters], as it is: what
// comes out of a release, say.
func (l *Learner) Step(rate float64, gradient []float64) error {
	single := make([]float32, len(gradient))
	for i, v := range gradient {
		single[i] = float32(v)
	}
	if err := l.follow.Run(rate, single); err != nil {
		return fmt.Errorf("matching: %w", err)
	}
	return nil
}

// Save writes parameters and what the optimiser remembers, with metadata beside them.
func (l *Learner) Save(w io.Writer, metadata any) error { return l.trainer.Save(w, metadata) }

// Restore continues from what Save has written of the same model and optimiser, if
// check, called once metadata is decoded, agrees.
func (l *Learner) Restore(r io.Reader, metadata any, check func() error) error {
	return l.trainer.Restore(r, metadata, check)
}

// Close releases what the learner holds on the backend.
func (l *Learner) Close() { l.trainer.Close() }

// Inner returns what φ makes of records x, [n, Input…]: [n, Outputs].
func (l *Learner) Inner(x []float32) ([]float32, error) { return l.apply(l.inner, l.model.Input, x) }

// Output returns what g makes of records x, [n, Input…]: [n, …].
func (l *Learner) Output(x []float32) ([]float32, error) { return l.apply(l.output, l.model.Input, x) }

// Outer returns what ψ makes of points z, [n, Outputs]: [n, …].
func (l *Learner) Outer(z []float32) ([]float32, error) {
	return l.apply(l.outer, []int{l.model.Outputs}, z)
}

// Losses returns the loss of each of n records, [n], as it is, not clipped.
func (l *Learner) Losses(x, target []float32) ([]float32, error) {
	if l.model.Loss == nil {
		return nil, fmt.Errorf("matching: the model has no loss")
	}
	n, err := l.model.count(x, target)
	if err != nil || l.model.Target == nil {
		if err != nil {
			return nil, err
		}
		return l.apply(l.losses, l.model.Input, x)
	}
	var all []float32
	for first := 0; first < n; first += atOnce {
		last := min(first+atOnce, n)
		part, err := l.run(l.losses,
			tensor(part(x, first, last, size(l.model.Input)), l.model.Input),
			tensor(part(target, first, last, size(l.model.Target)), l.model.Target))
		if err != nil {
			return nil, err
		}
		all = append(all, part[0]...)
	}
	return all, nil
}

// atOnce is how many records are looked at in one graph where there is no batch.
const atOnce = 1000

// apply runs a program on records of a shape, some at once.
func (l *Learner) apply(p *train.Program, shape []int, x []float32) ([]float32, error) {
	dim := size(shape)
	if len(x) == 0 || len(x)%dim != 0 {
		return nil, fmt.Errorf("matching: %d numbers are not rows of shape %v; give at least one, of %d numbers each", len(x), shape, dim)
	}
	var all []float32
	for first := 0; first < len(x)/dim; first += atOnce {
		last := min(first+atOnce, len(x)/dim)
		out, err := l.run(p, tensor(part(x, first, last, dim), shape))
		if err != nil {
			return nil, err
		}
		all = append(all, out[0]...)
	}
	return all, nil
}

func part[F float32 | float64](x []F, first, last, dim int) []F { return x[first*dim : last*dim] }

// tensor puts rows of a shape on the device.
func tensor[F float32 | float64](x []F, shape []int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(x, append([]int{len(x) / size(shape)}, shape...)...)
}

// run runs a program and copies its outputs.
func (l *Learner) run(p *train.Program, inputs ...*tensors.Tensor) ([][]float32, error) {
	_, out, err := p.Run(0, inputs...)
	if err != nil {
		return nil, fmt.Errorf("matching: %w", err)
	}
	return take[float32](out)
}

// count says how many records x and target are of.
func (m Model) count(x, target []float32) (int, error) {
	dim := size(m.Input)
	n := len(x) / dim
	if n == 0 || len(x)%dim != 0 {
		return 0, fmt.Errorf("matching: %d numbers are not records of shape %v; give at least one, of %d numbers each", len(x), m.Input, dim)
	}
	if want := n * size(m.Target); m.Target != nil && len(target) != want || m.Target == nil && len(target) > 0 {
		return 0, fmt.Errorf("matching: %d numbers of targets for %d records; want %v each", len(target), n, m.Target)
	}
	return n, nil
}
