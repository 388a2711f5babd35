package train

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"molehill/models/layer"
)

// Head is what is made of a network's output, and of more inputs, in the graph that
// makes the output.
type Head func(y *graph.Node, more []*graph.Node) []*graph.Node

// Passage is a step in two graphs: forward through the network, and, once somebody has
// said how the loss varies with its output, backward. Between them the output is on the
// host, where it can be compared with records, clipped, given noise; what the layers were
// given stays on the backend, so that nothing large is computed twice, but within layers
// that are no sequence, as layer.Residual.
type Passage struct {
	trainer                       *Trainer
	forward, step, next, gradient *Program
	follow                        *Follow
	inputs                        []*tensors.Tensor // of the network's parts (layer.Forward), from the last Forward
	results                       int               // of the head
}

// Passage compiles the graphs, when they first run. The trainer's Close closes it, too.
func (t *Trainer) Passage() (*Passage, error) {
	return t.PassageTo(func(y *graph.Node, _ []*graph.Node) []*graph.Node { return []*graph.Node{y} })
}

// PassageTo is Passage with a head behind the network, whose results a Forward returns in
// place of the network's output. That need not leave the backend then.
func (t *Trainer) PassageTo(head Head) (*Passage, error) {
	p := &Passage{trainer: t}
	ahead := func(weights, in []*graph.Node) []*graph.Node {
		y, between := layer.Forward(t.network, in[0], weights)
		results := head(y, in[1:])
		p.results = len(results)
		return append(results, between[min(1, len(between)):]...)
	}
	back := func(scope *model.Scope, rate *graph.Node, weights, in []*graph.Node) {
		gradients, after := layer.Backward(t.network, in[1:], weights, in[0])
		t.move(scope, rate, weights, learned(t, gradients), after)
	}
	var errs [5]error
	p.forward, errs[0] = t.Inspect(ahead)
	p.step, errs[1] = t.compile("", func(scope *model.Scope, rate *graph.Node, weights, in []*graph.Node) []*graph.Node {
		back(scope, rate, weights, in)
		return nil
	})
	p.next, errs[2] = t.compile("", func(scope *model.Scope, rate *graph.Node, weights, in []*graph.Node) []*graph.Node {
		before := 1 + len(p.inputs)
		back(scope, rate, weights, in[:before])
		for i, spec := range t.specs { // as the step leaves them
			weights[i] = t.variable(spec.Name).NodeValue(rate.Graph())
		}
		return ahead(weights, in[before:])
	})
	p.gradient, errs[3] = t.Inspect(func(weights, in []*graph.Node) []*graph.Node {
		gradients, after := layer.Backward(t.network, in[1:], weights, in[0])
		outputs := []*graph.Node{vector(learned(t, gradients))}
		p.follow.tracked = nil
		for i, spec := range t.specs {
			if spec.Tracked && after[i] != nil {
				p.follow.tracked, outputs = append(p.follow.tracked, i), append(outputs, after[i])
			}
		}
		return outputs
	})
	p.follow, errs[4] = t.Follow()
	t.passages = append(t.passages, p)
	return p, cmp.Or(errs[:]...)
}

// Forward runs the network in training on x, which it takes, and returns what the head
// makes of that and of more inputs, which it releases: the network's output where there
// is no other head.
func (p *Passage) Forward(x *tensors.Tensor, more ...*tensors.Tensor) (results []*tensors.Tensor, err error) {
	p.forget()
	defer release(more)
	out, err := p.forward.call(0, append([]*tensors.Tensor{x}, more...))
	return p.keep(x, out, err)
}

// keep parts what a graph returns into the head's results and what the way back needs.
func (p *Passage) keep(x *tensors.Tensor, out []*tensors.Tensor, err error) ([]*tensors.Tensor, error) {
	if err != nil {
		x.MustFinalizeAll()
		return nil, err
	}
	p.inputs = append([]*tensors.Tensor{x}, out[p.results:]...)
	return out[:p.results:p.results], nil
}

// Step moves the parameters with a learning rate, by what byY, of the shape of the
// network's output, says of the loss: its gradient by that. It releases byY. The same
// Forward serves once, as there are other parameters then.
func (p *Passage) Step(rate float64, byY *tensors.Tensor) error {
	if _, err := p.back(p.step, rate, byY); err != nil {
		return err
	}
	p.forget()
	return nil
}

// StepForward is Step, and Forward with the parameters that it leaves, as one graph: a
// device is then called once a step.
func (p *Passage) StepForward(rate float64, byY, x *tensors.Tensor, more ...*tensors.Tensor) (results []*tensors.Tensor, err error) {
	defer release(more)
	out, err := p.back(p.next, rate, byY, append([]*tensors.Tensor{x}, more...)...)
	p.forget()
	return p.keep(x, out, err)
}

// Gradient returns the gradient of the loss by the parameters, [Learned]: those of the
// network in their order, tracked ones left out. It releases byY, and moves nothing.
func (p *Passage) Gradient(byY *tensors.Tensor) ([]float32, error) {
	gradient, tracked, err := p.look(byY)
	release(tracked)
	return gradient, err
}

// StepChanged is Step along what change leaves of the gradient that it is given, so that
// the optimiser's moments, weight decay and averages come after. Where change fails, or
// leaves a number that is not finite, no parameter moves.
func (p *Passage) StepChanged(rate float64, byY *tensors.Tensor, change func(gradient []float32) error) error {
	gradient, tracked, err := p.look(byY)
	if err == nil {
		err = change(gradient)
	}
	if err != nil {
		release(tracked)
		return fmt.Errorf("train: the gradient on %s: %w", p.trainer.on, err)
	}
	p.forget()
	return p.follow.run(rate, gradient, tracked)
}

// look returns the gradient and, on the backend, the tracked parameters after the step.
func (p *Passage) look(byY *tensors.Tensor) (gradient []float32, tracked []*tensors.Tensor, err error) {
	out, err := p.back(p.gradient, 0, byY)
	if err != nil {
		return nil, nil, err
	}
	gradient, err = tensors.CopyFlatData[float32](out[0])
	out[0].MustFinalizeAll()
	return gradient, out[1:], err
}

// back runs one of the graphs that go backward, with further inputs behind its own.
func (p *Passage) back(program *Program, rate float64, byY *tensors.Tensor, further ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	defer byY.MustFinalizeAll()
	if len(p.inputs) == 0 {
		return nil, errors.New("train: a way back without a Forward before it")
	}
	return program.call(rate, slices.Concat([]*tensors.Tensor{byY}, p.inputs, further))
}

// forget releases what the last Forward has left on the backend.
func (p *Passage) forget() {
	release(p.inputs)
	p.inputs = nil
}

func release(all []*tensors.Tensor) {
	for _, t := range all {
		t.MustFinalizeAll()
	}
}
