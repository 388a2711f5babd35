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

// GradientStep is a step in two graphs. Between them the gradient is on the host,
// where it can be clipped and given noise.
type GradientStep struct {
	trainer          *Trainer
	gradient, update *Program
	tracked          []int // parameters whose values after the step the first graph hands to the second
}

// GradientStep compiles a step down a loss, when it first runs. Loss applies the
// network at most once.
func (t *Trainer) GradientStep(loss func(network Apply, inputs []*graph.Node) *graph.Node) (*GradientStep, error) {
	s := &GradientStep{trainer: t, gradient: &Program{trainer: t, scored: true}, update: &Program{trainer: t}}
	err := s.gradient.compile("", func(_ *model.Scope, _ *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
		network, after := t.training(weights)
		value := loss(network, inputs)
		var flat []*graph.Node
		for _, by := range graph.Gradient(value, learned(t, weights)...) {
			flat = append(flat, graph.Reshape(by, -1))
		}
		outputs := []*graph.Node{value, graph.Concatenate(flat, 0)}
		s.tracked = nil
		for i, spec := range t.specs {
			if node := (*after)[i]; spec.Tracked && node != nil {
				s.tracked, outputs = append(s.tracked, i), append(outputs, node)
			}
		}
		return outputs
	})
	if err != nil {
		return nil, err
	}
	return s, s.update.compile("", func(scope *model.Scope, rate *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
		var gradients []*graph.Node
		first := 0
		for _, spec := range learned(t, t.specs) {
			part := graph.SliceAxis(inputs[0], 0, graph.AxisRange(first, first+spec.Size()))
			gradients = append(gradients, graph.Reshape(part, spec.Shape...))
			first += spec.Size()
		}
		after := make([]*graph.Node, len(t.specs))
		for k, i := range s.tracked {
			after[i] = inputs[1+k]
		}
		t.move(scope, rate, weights, gradients, after)
		return nil
	})
}

// Run makes a step on inputs, which it releases, with a learning rate. Change is given
// the gradient of the loss by all parameters, [Learned], those of the network in their
// order and tracked ones left out; the optimiser goes by what change leaves there.
// Where it fails no parameter moves. Run returns the loss before the step.
func (s *GradientStep) Run(rate float64, change func(gradient []float32) error, inputs ...*tensors.Tensor) (loss float64, err error) {
	loss, out, err := s.gradient.Run(rate, inputs...)
	if err != nil {
		return 0, err
	}
	gradient, err := tensors.CopyFlatData[float32](out[0])
	out[0].MustFinalizeAll()
	tracked := out[1:]
	if err == nil {
		if err = change(gradient); err == nil {
			err = finite(gradient)
		}
	}
	if err != nil {
		for _, t := range tracked {
			t.MustFinalizeAll()
		}
		return 0, fmt.Errorf("train: the gradient on %s: %w", s.trainer.on, err)
	}
	_, _, err = s.update.Run(rate, append([]*tensors.Tensor{tensors.FromFlatDataAndDimensions(gradient, len(gradient))}, tracked...)...)
	return loss, err
}

// finite says where a gradient that is to be followed is not.
func finite(gradient []float32) error {
	for i, v := range gradient {
		if v-v != 0 {
			return fmt.Errorf("it is %v at %d of %d; clip it, or train with a smaller learning rate", v, i, len(gradient))
		}
	}
	return nil
}
