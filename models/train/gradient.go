package train

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Learned is the number of values that an optimiser moves: those of all parameters
// but tracked ones.
func (t *Trainer) Learned() (n int) {
	for _, spec := range learned(t, t.specs) {
		n += spec.Size()
	}
	return n
}

// Inspect compiles a graph over the network's parameters, [Shape] each in their order,
// that moves none of them.
func (t *Trainer) Inspect(build func(weights, inputs []*graph.Node) []*graph.Node) (*Program, error) {
	return t.compile("", func(_ *model.Scope, _ *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
		return build(weights, inputs)
	})
}

// Gradient builds the gradient of a loss by all parameters in one vector, [Learned]:
// those of the network in their order, tracked ones left out.
func (t *Trainer) Gradient(loss *graph.Node, weights []*graph.Node) *graph.Node {
	return vector(graph.Gradient(loss, learned(t, weights)...))
}

// vector puts gradients one behind the other.
func vector(gradients []*graph.Node) *graph.Node {
	var flat []*graph.Node
	for _, by := range gradients {
		flat = append(flat, graph.Reshape(by, -1))
	}
	return graph.Concatenate(flat, 0)
}

// Follow is a step of the optimiser along a gradient that comes from elsewhere.
type Follow struct {
	trainer *Trainer
	update  *Program
	tracked []int // parameters whose values after the step are given with the gradient
}

// Follow compiles a step along a gradient, when it first runs.
func (t *Trainer) Follow() (f *Follow, err error) {
	f = &Follow{trainer: t}
	f.update, err = t.compile("", func(scope *model.Scope, rate *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
		var gradients []*graph.Node
		first := 0
		for _, spec := range learned(t, t.specs) {
			part := graph.SliceAxis(inputs[0], 0, graph.AxisRange(first, first+spec.Size()))
			gradients = append(gradients, graph.Reshape(part, spec.Shape...))
			first += spec.Size()
		}
		after := make([]*graph.Node, len(t.specs))
		for k, i := range f.tracked {
			after[i] = inputs[1+k]
		}
		t.move(scope, rate, weights, gradients, after)
		return nil
	})
	return f, err
}

// Run makes a step with a learning rate along a gradient, [Learned], which must be
// finite.
func (f *Follow) Run(rate float64, gradient []float32) error { return f.run(rate, gradient, nil) }

func (f *Follow) run(rate float64, gradient []float32, tracked []*tensors.Tensor) error {
	err := Finite("it", gradient...)
	if want := f.trainer.Learned(); err == nil && len(gradient) != want {
		err = fmt.Errorf("it has %d numbers, for %d parameters", len(gradient), want)
	}
	if err != nil {
		release(tracked)
		return fmt.Errorf("train: the gradient on %s: %w", f.trainer.on, err)
	}
	_, _, err = f.update.Run(rate, append([]*tensors.Tensor{tensors.FromFlatDataAndDimensions(gradient, len(gradient))}, tracked...)...)
	return err
}
