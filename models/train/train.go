// Package train moves the parameters of a network by Adam, one compiled graph a
// step, so that a training can be saved at any step and continued by another
// process as if nothing had happened.
package train

import (
	"fmt"
	"io"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/pkg/npy"
)

// Trainer holds a network's parameters and Adam's moments on a backend.
type Trainer struct {
	on       *backend.Backend
	network  layer.Layer
	specs    []layer.Spec
	store    *model.Store
	programs []*Program
}

// New puts params, the parameters of the network, on a backend. Close releases
// them.
func New(b *backend.Backend, network layer.Layer, params layer.Params) (*Trainer, error) {
	t := &Trainer{on: b, network: network, specs: network.Params(), store: model.NewStore()}
	if len(params) != len(t.specs) {
		return nil, fmt.Errorf("train: %d parameters for a network of %d", len(params), len(t.specs))
	}
	for i, p := range params {
		if p.Name != t.specs[i].Name || len(p.Value) != t.specs[i].Size() {
			return nil, fmt.Errorf("train: parameter %d is %s of %d values; the network has %s of %d", i, p.Name, len(p.Value), t.specs[i].Name, t.specs[i].Size())
		}
		if err := t.set(p.Name, t.specs[i].Shape, p.Value); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// set gives a variable a value, and makes it if there is none.
func (t *Trainer) set(name string, shape []int, value []float32) (err error) {
	tensor := tensors.FromFlatDataAndDimensions(value, shape...)
	v := t.store.GetVariable("/" + name)
	if v == nil {
		v, err = t.store.CreateVariable("/"+name, tensor)
	} else {
		err = v.SetValue(tensor)
	}
	if err != nil {
		return fmt.Errorf("train: %s on %s: %w", name, t.on, err)
	}
	trainable := false // Adam's moments are not
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
	learns  bool
	exec    *model.Exec
}

// Program compiles a graph over the network. Where loss is not nil running it
// makes a step: Adam (Kingma & Ba 2015, with the ε = 1e-8 of the paper) moves the
// parameters down the loss, and statistics that layers track get their new
// values. Build applies the network at most once.
func (t *Trainer) Program(build func(network Apply, inputs []*graph.Node) (outputs []*graph.Node, loss *graph.Node)) (*Program, error) {
	p := &Program{trainer: t}
	return p, p.compile(func(scope *model.Scope, rate *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
		g := rate.Graph()
		after := make([]*graph.Node, len(t.specs))
		outputs, loss := build(func(x *graph.Node) *graph.Node {
			var y *graph.Node
			y, after = layer.Train(t.network, x, weights)
			return y
		}, inputs)
		if p.learns = loss != nil; !p.learns {
			return outputs
		}
		optimizer.LearningRateVar(scope, dtypes.Float32, 0.001).SetNodeValue(rate)
		optimizer.Adam().Epsilon(1e-8).Done().UpdateGraph(scope, g, loss)
		for i, spec := range t.specs {
			if spec.Tracked && after[i] != nil {
				scope.GetVariable(spec.Name).SetNodeValue(after[i])
			}
		}
		return append([]*graph.Node{loss}, outputs...)
	})
}

// Inference compiles the network as it is applied after training (layer.Apply),
// with the parameters that it has when the program runs.
func (t *Trainer) Inference() (*Program, error) {
	p := &Program{trainer: t}
	return p, p.compile(func(_ *model.Scope, _ *graph.Node, weights, inputs []*graph.Node) []*graph.Node {
		return []*graph.Node{t.network.Apply(inputs[0], weights)}
	})
}

func (p *Program) compile(build func(scope *model.Scope, rate *graph.Node, weights, inputs []*graph.Node) []*graph.Node) (err error) {
	t := p.trainer
	p.exec, err = model.NewExec(t.on.Engine, t.store, func(scope *model.Scope, inputs []*graph.Node) []*graph.Node {
		rate := inputs[0]
		weights := make([]*graph.Node, len(t.specs))
		for i, spec := range t.specs {
			weights[i] = scope.GetVariable(spec.Name).NodeValue(rate.Graph())
		}
		return build(scope, rate, weights, inputs[1:])
	})
	if err != nil {
		return fmt.Errorf("train: on %s: %w", t.on, err)
	}
	t.programs = append(t.programs, p)
	return nil
}

// Run runs the program on inputs, which it releases, with a learning rate. It
// returns the loss, 0 for a program without one, and the outputs.
func (p *Program) Run(rate float64, inputs ...*tensors.Tensor) (loss float64, outputs []*tensors.Tensor, err error) {
	arguments := []any{float32(rate)}
	for _, in := range inputs {
		arguments = append(arguments, in)
	}
	outputs, err = p.exec.Call(arguments...)
	for _, in := range inputs {
		in.MustFinalizeAll()
	}
	if err != nil {
		return 0, nil, fmt.Errorf("train: on %s: %w", p.trainer.on, err)
	}
	if p.learns {
		loss = float64(tensors.ToScalar[float32](outputs[0]))
		outputs[0].MustFinalizeAll()
		outputs = outputs[1:]
	}
	return loss, outputs, nil
}

// Params returns the parameters as they are now.
func (t *Trainer) Params() (layer.Params, error) {
	params := make(layer.Params, len(t.specs))
	for i, spec := range t.specs {
		value, err := t.value("/" + spec.Name)
		if err != nil {
			return nil, err
		}
		params[i] = layer.Param{Spec: spec, Value: value}
	}
	return params, nil
}

// value copies a variable from the backend.
func (t *Trainer) value(path string) ([]float32, error) {
	v := t.store.GetVariable(path)
	if v == nil {
		return nil, fmt.Errorf("train: there is no variable %s", path)
	}
	tensor, err := v.Value()
	if err == nil {
		var values []float32
		if values, err = tensors.CopyFlatData[float32](tensor); err == nil {
			return values, nil
		}
	}
	return nil, fmt.Errorf("train: reading %s from %s: %w", path, t.on, err)
}

// largest bounds what a saved state may unpack to, in bytes.
const largest = 1 << 29

// Save writes parameters, moments and counters, with metadata beside them.
func (t *Trainer) Save(w io.Writer, metadata any) error {
	var arrays []npy.Array[float32]
	for v := range t.store.IterVariables() {
		if v.DType() != dtypes.Float32 {
			continue // GoMLX's global step, which nothing here reads
		}
		value, err := t.value(v.Path())
		if err != nil {
			return err
		}
		arrays = append(arrays, npy.Array[float32]{Name: strings.TrimPrefix(v.Path(), "/"), Shape: v.Shape().Dimensions, Value: value})
	}
	return npy.WriteArchive(w, metadata, arrays)
}

// Restore continues from what Save has written of the same network, if check,
// called once metadata is decoded, agrees. On the same backend the next steps
// have the same results to the last bit.
func (t *Trainer) Restore(r io.Reader, metadata any, check func() error) error {
	arrays, err := npy.ReadArchive[float32](r, largest, metadata)
	if err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	for _, spec := range t.specs {
		if _, err := arrays.Take(spec.Name, spec.Shape...); err != nil {
			return err
		}
	}
	for _, a := range arrays {
		if err := t.set(a.Name, a.Shape, a.Value); err != nil {
			return err
		}
	}
	return nil
}

// Close releases what the trainer holds on the backend.
func (t *Trainer) Close() {
	for _, p := range t.programs {
		p.exec.Finalize()
	}
	t.store.Finalize()
}
