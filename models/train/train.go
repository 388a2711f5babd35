// Package train moves the parameters of a network by an optimiser, one compiled
// graph a step, so that a training can be saved at any step and continued by another
// process as if nothing had happened.
package train

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"molehill/models/backend"
	"molehill/models/layer"
)

// Trainer holds a network's parameters and what its optimiser remembers on a backend.
type Trainer struct {
	on        *backend.Backend
	network   layer.Layer
	optimizer Optimizer
	specs     []layer.Spec
	store     *model.Store
	first     int // variables that were there before the first step
	programs  []*Program
	passages  []*Passage
	rate      struct { // the last one
		value float32
		on    *tensors.Tensor
	}
}

// New puts params, the parameters of the network, on a backend, to be moved by Adam.
// Close releases them.
func New(b *backend.Backend, network layer.Layer, params layer.Params) (*Trainer, error) {
	return NewWith(b, network, params, Optimizer{})
}

// NewWith is New with another optimiser.
func NewWith(b *backend.Backend, network layer.Layer, params layer.Params, o Optimizer) (*Trainer, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	t := &Trainer{on: b, network: network, optimizer: o, specs: network.Params(), store: model.NewStore()}
	if err := t.put(params); err != nil {
		t.Close()
		return nil, err
	}
	t.first = t.store.NumVariables()
	return t, nil
}

// put gives parameters, and what the optimiser remembers of them, their first values.
func (t *Trainer) put(params layer.Params) error {
	if len(params) != len(t.specs) {
		return fmt.Errorf("train: %d parameters for a network of %d", len(params), len(t.specs))
	}
	for i, p := range params {
		if p.Name != t.specs[i].Name || len(p.Value) != t.specs[i].Size() {
			return fmt.Errorf("train: parameter %d is %s of %d values; the network has %s of %d", i, p.Name, len(p.Value), t.specs[i].Name, t.specs[i].Size())
		}
		if err := t.set(p.Name, t.specs[i].Shape, p.Value); err != nil {
			return err
		}
	}
	return t.remember(params)
}

// set gives a variable a value, and makes it if there is none.
func (t *Trainer) set(name string, shape []int, value []float32) (err error) {
	tensor := tensors.FromFlatDataAndDimensions(value, shape...)
	v := t.variable(name)
	if v == nil {
		v, err = t.store.CreateVariable("/"+name, tensor)
	} else {
		err = v.SetValue(tensor)
	}
	if err != nil {
		return fmt.Errorf("train: %s on %s: %w", name, t.on, err)
	}
	trainable := false // what the optimiser remembers is not
	for _, spec := range t.specs {
		trainable = trainable || spec.Name == name && !spec.Tracked
	}
	v.SetTrainable(trainable)
	return nil
}

// Apply builds the graph of the network in training (layer.Train) on x.
type Apply func(x *graph.Node) *graph.Node

// Program is a graph that has the parameters.
type Program struct {
	trainer *Trainer
	scored  bool // the first output is a loss
	exec    *model.Exec
}

// Program compiles a graph over the network, when it first runs. Where loss is not
// nil running it makes a step: the optimiser moves the parameters down the loss, and
// statistics that layers track get their new values. Build applies the network at
// most once.
func (t *Trainer) Program(build func(network Apply, inputs []*graph.Node) (outputs []*graph.Node, loss *graph.Node)) (p *Program, err error) {
	p, err = t.compile("", func(scope *model.Scope, rate *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
		network, after := t.training(weights)
		outputs, loss := build(network, inputs)
		if p.scored = loss != nil; !p.scored {
			return outputs
		}
		t.move(scope, rate, weights, graph.Gradient(loss, learned(t, weights)...), *after)
		return append([]*graph.Node{loss}, outputs...)
	})
	return p, err
}

// training returns the network in training on weights, and where to find what tracked
// parameters become once it is applied.
func (t *Trainer) training(weights []*graph.Node) (network Apply, after *[]*graph.Node) {
	tracked := make([]*graph.Node, len(t.specs))
	return func(x *graph.Node) (y *graph.Node) {
		y, tracked = layer.Train(t.network, x, weights)
		return y
	}, &tracked
}

// Inference compiles the network as it is applied after training (layer.Apply),
// with the parameters that it has when the program runs.
func (t *Trainer) Inference() (*Program, error) { return t.compile("", t.apply) }

// apply builds the network as it is applied after training.
func (t *Trainer) apply(_ *model.Scope, _ *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
	return []*graph.Node{t.network.Apply(inputs[0], weights)}
}

// compile prepares a graph; weights are the variables called as the parameters are,
// behind a prefix.
func (t *Trainer) compile(prefix string, build func(scope *model.Scope, rate *graph.Node, weights, inputs []*graph.Node) []*graph.Node) (*Program, error) {
	exec, err := model.NewExec(t.on.Engine, t.store, func(scope *model.Scope, inputs []*graph.Node) []*graph.Node {
		rate := inputs[0]
		weights := make([]*graph.Node, len(t.specs))
		for i, spec := range t.specs {
			weights[i] = t.variable(prefix + spec.Name).NodeValue(rate.Graph())
		}
		return build(scope, rate, weights, inputs[1:])
	})
	if err != nil {
		return nil, fmt.Errorf("train: on %s: %w", t.on, err)
	}
	p := &Program{trainer: t, exec: exec}
	t.programs = append(t.programs, p)
	return p, nil
}

// Run runs the program on inputs, which it releases, with a learning rate. It
// returns the loss, 0 for a program without one, and the outputs.
func (p *Program) Run(rate float64, inputs ...*tensors.Tensor) (loss float64, outputs []*tensors.Tensor, err error) {
	outputs, err = p.call(rate, inputs)
	for _, in := range inputs {
		in.MustFinalizeAll()
	}
	if err != nil {
		return 0, nil, err
	}
	if p.scored {
		loss = float64(tensors.ToScalar[float32](outputs[0]))
		outputs[0].MustFinalizeAll()
		outputs = outputs[1:]
	}
	return loss, outputs, nil
}

// Look runs a program that makes no step (Trainer.Inspect) on inputs, and leaves them.
func (p *Program) Look(inputs ...*tensors.Tensor) (outputs []*tensors.Tensor, err error) {
	return p.call(0, inputs)
}

func (p *Program) call(rate float64, inputs []*tensors.Tensor) (outputs []*tensors.Tensor, err error) {
	at, err := p.trainer.rated(float32(rate))
	if err == nil {
		arguments := []any{at}
		for _, in := range inputs {
			arguments = append(arguments, in)
		}
		outputs, err = p.exec.Call(arguments...)
	}
	if err != nil {
		return nil, fmt.Errorf("train: on %s: %w", p.trainer.on, err)
	}
	return outputs, nil
}

// rated is a learning rate on the backend: the last one stays there, for to bring a number to
// a device takes as long as to bring ten thousand.
func (t *Trainer) rated(rate float32) (*tensors.Tensor, error) {
	if t.rate.value == rate && t.rate.on != nil {
		return t.rate.on, nil
	}
	on, err := backend.Put(t.on, []float32{rate})
	if err == nil {
		t.forgetRate()
		t.rate.value, t.rate.on = rate, on
	}
	return on, err
}

func (t *Trainer) forgetRate() {
	if t.rate.on != nil {
		t.rate.on.MustFinalizeAll()
		t.rate.on = nil
	}
}

// Params returns the parameters as they are now.
func (t *Trainer) Params() (layer.Params, error) { return t.params("") }

func (t *Trainer) params(prefix string) (layer.Params, error) {
	params := make(layer.Params, len(t.specs))
	for i, spec := range t.specs {
		value, err := t.value(prefix + spec.Name)
		if err != nil {
			return nil, err
		}
		params[i] = layer.Param{Spec: spec, Value: value}
	}
	return params, nil
}

func (t *Trainer) variable(name string) *model.Variable { return t.store.GetVariable("/" + name) }

// value copies a variable from the backend.
func (t *Trainer) value(name string) ([]float32, error) {
	v := t.variable(name)
	if v == nil {
		return nil, fmt.Errorf("train: there is no variable %s", name)
	}
	tensor, err := v.Value()
	if err == nil {
		var values []float32
		if values, err = tensors.CopyFlatData[float32](tensor); err == nil {
			return values, nil
		}
	}
	return nil, fmt.Errorf("train: reading %s from %s: %w", name, t.on, err)
}

// Close releases what the trainer holds on the backend.
func (t *Trainer) Close() {
	for _, p := range t.passages {
		p.forget()
	}
	for _, p := range t.programs {
		p.exec.Finalize()
	}
	t.forgetRate()
	t.store.Finalize()
}
