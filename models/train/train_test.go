package train

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
)

var tanh = layer.Func(func(x *graph.Node) *graph.Node { return graph.Tanh(x) })

// plain has nothing that is tracked, normed has.
var (
	plain  = layer.Sequence{layer.Dense{Name: "one", In: 3, Out: 4}, tanh, layer.Dense{Name: "two", In: 4, Out: 2}}
	normed = layer.Sequence{
		layer.Dense{Name: "one", In: 3, Out: 4}, layer.BatchNorm{Name: "norm", Channels: 4}, tanh,
		layer.Spectral{Layer: layer.Dense{Name: "two", In: 4, Out: 2}},
	}
	// nested has sequences in sequences, a layer that is none, and functions at both ends.
	nested = layer.Sequence{
		tanh, layer.Sequence{layer.Dense{Name: "one", In: 3, Out: 4}, tanh},
		layer.Residual{Main: layer.Sequence{layer.BatchNorm{Name: "norm", Channels: 4}, layer.Dense{Name: "main", In: 4, Out: 4}}, Shortcut: layer.Sequence{}},
		layer.Sequence{tanh, layer.Spectral{Layer: layer.Dense{Name: "two", In: 4, Out: 2}}}, tanh,
	}
)

// wave is sin(frequency·k + phase) for k from 0.
func wave(n int, frequency, phase float64) []float32 {
	values := make([]float32, n)
	for k := range values {
		values[k] = float32(math.Sin(frequency*float64(k) + phase))
	}
	return values
}

func made(t *testing.T, b *backend.Backend, network layer.Layer, params layer.Params, o Optimizer) *Trainer {
	t.Helper()
	trainer, err := NewWith(b, network, params, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trainer.Close)
	return trainer
}

// squares is the mean squared error.
func squares(network Apply, in []*graph.Node) *graph.Node {
	return graph.ReduceAllMean(graph.Square(graph.Sub(network(in[0]), in[1])))
}

// batch is inputs [5, 3] and targets [5, 2] of a step.
func batch(step int) []*tensors.Tensor {
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(wave(15, 1.3, 0.5+float64(step)), 5, 3),
		tensors.FromFlatDataAndDimensions(wave(10, 2.1, 0.2+float64(step)), 5, 2),
	}
}

// steps returns a program that makes steps down the squares.
func steps(t *testing.T, trainer *Trainer) *Program {
	t.Helper()
	p, err := trainer.Program(func(network Apply, in []*graph.Node) ([]*graph.Node, *graph.Node) {
		return nil, squares(network, in)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func step(t *testing.T, p *Program, rate float64, inputs []*tensors.Tensor) {
	t.Helper()
	if _, _, err := p.Run(rate, inputs...); err != nil {
		t.Fatal(err)
	}
}

func values(t *testing.T, of func() (layer.Params, error)) (flat []float32) {
	t.Helper()
	params, err := of()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		flat = append(flat, p.Value...)
	}
	return flat
}

// expectNear compares values with a relative and absolute tolerance.
func expectNear(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values; expected %d", what, len(got), len(want))
	}
	for i, v := range got {
		if !(math.Abs(float64(v)-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Errorf("%s: value %d is %v; expected %v", what, i, v, want[i])
		}
	}
}

func wide(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}
