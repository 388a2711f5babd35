// Package ghost tells what clipping the gradients of single examples needs, inside graphs
// and without writing down any that is large: it holds, in factors, what each layer was given, which the
// forward pass knows, and the gradient by what it made of it, which a backward pass finds:
//
//	factor   w_i = min(1, C/‖∇_i‖), 0 if ‖∇_i‖ is not finite
//	dense    ‖∇_i‖² = (‖a_i‖² + 1)·‖g_i‖², the 1 for the bias
//	shared   ‖∇_i‖² = Σ_{s,t} (⟨a_is, a_it⟩ + 1)·⟨g_is, g_it⟩ over positions s, t
//	sum      Σ_i w_i·∇_i = Aᵀ·diag(w)·G
//
// where a are a layer's inputs and g the gradients of each example's own loss with respect
// to its outputs (Goodfellow 2015, "Efficient per-example gradient computations"; for
// several positions Li, Tramèr, Liang & Hashimoto 2022, "Large language models can be strong
// differentially private learners", Section 4). Each layer has its own (layer.PerExample).
//
//	trace, err := ghost.Forward(network, x, weights)
//	held := trace.Gradients(graph.ReduceAllSum(losses))   // outputs of a graph
//	norms := held.Norms(false)                            // in a second graph
//	sum := held.Sum(weight)                               // in a third
//
// Norms and the sum are of the same numbers, if these are held between graphs
// (Nodes, Held): whatever float32 lost on the way to them, what is clipped is what is
// added up.
//
// It needs memory for the batch's activations, and not for the batch times the parameters,
// but where convolutions with few weights are multiplied out (Part).
package ghost

import (
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// Trace is a network's forward pass on n examples that remembers, for each layer with
// parameters, what it was given and what it made of it.
type Trace struct {
	Output *graph.Node // [n, …]

	taps []tap
}

type tap struct {
	layer        layer.PerExample
	input, value *graph.Node
}

// Check says which layer of a network cannot tell examples apart, and what to do.
//
// A layer without parameters is taken to treat each example by itself (models/matching
// looks whether it does).
func Check(network layer.Layer) error {
	switch l := network.(type) {
	case layer.Sequence:
		for _, inner := range l {
			if err := Check(inner); err != nil {
				return err
			}
		}
		return nil
	case layer.Branches:
		return Check(layer.Sequence(l))
	case layer.Residual:
		return Check(layer.Sequence{l.Main, l.Shortcut})
	case layer.Unbiased:
		return Check(l.Layer)
	case layer.PerExample:
		return nil
	}
	specs := network.Params()
	if len(specs) == 0 {
		return nil
	}
	name, _, _ := strings.Cut(specs[0].Name, ".weight")
	if i := strings.LastIndexByte(name, '.'); len(name) == len(specs[0].Name) && i > 0 {
		name = name[:i]
	}
	if _, ok := network.(layer.BatchNorm); ok {
		return fmt.Errorf("ghost: layer %q is a BatchNorm: its batch statistics couple the examples, and no clipping of single gradients bounds what one does; put a layer.LayerNorm in its place", name)
	}
	return fmt.Errorf("ghost: layer %q, a %T, has no rule for the gradients of single examples; give it the method Factors (layer.PerExample), or take another layer", name, network)
}

// Forward applies a network to x, [n, …]; weights hold its parameters. An error names
// a layer that cannot tell examples apart.
func Forward(network layer.Layer, x *graph.Node, weights []*graph.Node) (*Trace, error) {
	if err := Check(network); err != nil {
		return nil, err
	}
	t := &Trace{}
	t.Output = t.apply(network, x, weights)
	return t, nil
}

// Then applies a network to what the trace has come to, and returns the trace of both.
func (t *Trace) Then(network layer.Layer, weights []*graph.Node) (*Trace, error) {
	next, err := Forward(network, t.Output, weights)
	if err != nil {
		return nil, err
	}
	next.taps = append(append([]tap{}, t.taps...), next.taps...)
	return next, nil
}

func (t *Trace) apply(network layer.Layer, x *graph.Node, weights []*graph.Node) *graph.Node {
	switch l := network.(type) {
	case layer.Sequence:
		for _, inner := range l {
			n := len(inner.Params())
			x, weights = t.apply(inner, x, weights[:n]), weights[n:]
		}
		return x
	case layer.Branches:
		values := make([]*graph.Node, len(l))
		for i, inner := range l {
			n := len(inner.Params())
			values[i], weights = t.apply(inner, x, weights[:n]), weights[n:]
		}
		return layer.Beside(values)
	case layer.Residual:
		n := len(l.Main.Params())
		return graph.Add(t.apply(l.Main, x, weights[:n]), t.apply(l.Shortcut, x, weights[n:]))
	case layer.PerExample:
		y := l.Apply(x, weights)
		t.taps = append(t.taps, tap{l, x, y})
		return y
	}
	return network.Apply(x, weights)
}

// pull returns, for each tap, the gradient of sum by its value: row i is of example i,
// as no other row depends on it.
func (t *Trace) pull(sum *graph.Node) []*graph.Node {
	values := make([]*graph.Node, len(t.taps))
	for i, tap := range t.taps {
		values[i] = tap.value
	}
	return graph.Gradient(sum, values...)
}
