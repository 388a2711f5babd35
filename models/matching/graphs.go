package matching

import (
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/ghost"
)

// A clipped gradient is found in three graphs, between which gradients of records are held
// on the device in factors (ghost.Gradients): the d rows of φ's Jacobian by its parameters,
// if these are asked for, and behind them the gradient of the loss by all parameters, if
// there is one.

// records builds what a batch is like: outputs of φ, losses, if there are any, and what is
// to be held. Inputs are records and their targets, if they have any.
func (m Model) records(weights, inputs []*graph.Node, jacobians bool) []*graph.Node {
	split := len(m.Inner.Params())
	inner, err := ghost.Forward(m.Inner, inputs[0], weights[:split])
	if err != nil {
		panic(err) // Check has looked
	}
	found := []*graph.Node{inner.Output}
	var held ghost.Gradients
	if jacobians {
		held = inner.Gradients(inner.Columns()...)
	}
	if m.Loss != nil {
		whole, err := inner.Then(m.Outer, weights[split:])
		if err != nil {
			panic(err)
		}
		losses := m.losses(whole.Output, inputs[1:])
		found, held = append(found, losses), append(held, whole.Gradients(graph.ReduceAllSum(losses))...)
	}
	return append(found, held.Nodes()...)
}

// looks is how many nodes of records are not to be held: they come first.
func (m Model) looks() int {
	if m.Loss != nil {
		return 2
	}
	return 1
}

// held are rows of Jacobians and gradients of losses, as records has left them: either may
// be none.
func (m Model) held(nodes []*graph.Node) (rows, losses ghost.Gradients) {
	all := ghost.Held(nodes)
	if m.Loss == nil {
		return all, nil
	}
	first := len(all) - len(m.Network().Params())
	return all[:first], all[first:]
}

// norms builds what clipping needs to know of what is held: norms and their roundings of
// rows, or their products, if rows are held; and the same of losses, if there are any.
func (m Model) norms(nodes []*graph.Node, exact bool) (found []*graph.Node) {
	rows, losses := m.held(nodes)
	if len(rows) > 0 {
		of := rows.Norms(exact)
		found = append(found, of.Products, of.Rounding)
	}
	if len(losses) > 0 {
		of := losses.Norms(false)
		found = append(found, of.Products, of.Rounding)
	}
	return found
}

// sum builds the sum of what is held, rows weighted by v, [n, d], and losses by w, [n, 1],
// the last inputs, in the order of all parameters.
func (m Model) sum(inputs []*graph.Node) *graph.Node {
	last := len(inputs) - 2
	rows, losses := m.held(inputs[:last])
	if len(losses) == 0 {
		return rows.Sum(inputs[last])
	}
	sum := losses.Sum(inputs[last+1])
	if len(rows) == 0 {
		return sum
	}
	ofRows := rows.Sum(inputs[last])
	if outer := sum.Shape().Size() - ofRows.Shape().Size(); outer > 0 {
		ofRows = graph.Concatenate([]*graph.Node{ofRows, graph.Zeros(sum.Graph(), shapes.Make(sum.DType(), outer))}, 0)
	}
	return graph.Add(sum, ofRows)
}
