package matching

import (
	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/ghost"
)

// norms builds what clipping needs to know of a batch: outputs of φ, norms and their
// roundings of its Jacobians' rows, or their products, and the same of losses, with
// the losses themselves. Inputs are records and their targets, if they have any.
func (m Model) norms(weights, inputs []*graph.Node, exact bool) []*graph.Node {
	split := len(m.Inner.Params())
	inner, err := ghost.Forward(m.Inner, inputs[0], weights[:split])
	if err != nil {
		panic(err) // Check has looked
	}
	rows := inner.RowNorms
	if exact {
		rows = inner.RowProducts
	}
	jacobians := rows()
	outputs := []*graph.Node{inner.Output, jacobians.Products, jacobians.Rounding}
	if m.Loss == nil {
		return outputs
	}
	return append(outputs, m.ofLosses(inner, weights[split:], inputs)...)
}

// lossNorms is norms without the Jacobians, which matter to sliced distances alone and
// cost a backward pass an output.
func (m Model) lossNorms(weights, inputs []*graph.Node) []*graph.Node {
	split := len(m.Inner.Params())
	inner, err := ghost.Forward(m.Inner, inputs[0], weights[:split])
	if err != nil {
		panic(err)
	}
	return append([]*graph.Node{inner.Output}, m.ofLosses(inner, weights[split:], inputs)...)
}

// ofLosses are losses, squared norms of their gradients, and what is rounded in those.
func (m Model) ofLosses(inner *ghost.Trace, outer, inputs []*graph.Node) []*graph.Node {
	whole, err := inner.Then(m.Outer, outer)
	if err != nil {
		panic(err)
	}
	losses := m.losses(whole.Output, inputs[1:])
	found := whole.LossNorms(losses)
	return []*graph.Node{losses, found.Products, found.Rounding}
}

// weighted builds the gradient by all parameters of
//
//	Σ_i ⟨v_i, φ(x_i)⟩ + Σ_i w_i·ℓ_i
//
// with constants v, [n, d], and w, [n], as the last inputs.
func (l *Learner) weighted(weights, inputs []*graph.Node) []*graph.Node {
	m, split := l.model, len(l.model.Inner.Params())
	v, w := inputs[len(inputs)-2], inputs[len(inputs)-1]
	inner := m.Inner.Apply(inputs[0], weights[:split])
	sum := graph.ReduceAllSum(graph.Mul(inner, graph.StopGradient(v)))
	if m.Loss != nil {
		losses := m.losses(m.Outer.Apply(inner, weights[split:]), inputs[1:])
		sum = graph.Add(sum, graph.ReduceAllSum(graph.Mul(losses, graph.StopGradient(w))))
	}
	return []*graph.Node{l.trainer.Gradient(sum, weights)}
}
