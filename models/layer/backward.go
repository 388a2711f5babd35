package layer

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Forward builds l's graph for a training step on x. Beside the result it returns what
// Backward goes on from: the inputs of the parts of l, x the first. They are cut behind
// each layer of a Sequence that has parameters; any other layer is one part.
func Forward(l Layer, x *Node, weights []*Node) (y *Node, inputs []*Node) {
	y = x
	for _, part := range parts(l) {
		inputs = append(inputs, y)
		n := len(part.Params())
		y, _ = Train(part, y, weights[:n])
		weights = weights[n:]
	}
	return y, inputs
}

// Backward builds the gradients of ⟨y, byY⟩ by the weights, nil for Tracked ones, where
// y is what Forward made with these inputs; and the values of Tracked parameters after
// the step, as Train has them. The inputs may have come from another graph: each part is
// built on its own input again, of which a compiler leaves what its gradient needs. For
// a product with a weight that is the input alone, so nothing large is computed twice but
// inside layers of several, such as Residual.
func Backward(l Layer, inputs, weights []*Node, byY *Node) (gradients, after []*Node) {
	all := parts(l)
	gradients, after = make([]*Node, len(weights)), make([]*Node, len(weights))
	last := len(weights)
	for i := len(all) - 1; i >= 0; i-- {
		specs := all[i].Params()
		first := last - len(specs)
		y, moved := Train(all[i], inputs[i], weights[first:last])
		var by []*Node // what to differentiate by: the weights that are learned, and the input but for the first
		for k, spec := range specs {
			if after[first+k] = moved[k]; !spec.Tracked {
				by = append(by, weights[first+k])
			}
		}
		if i > 0 {
			by = append(by, inputs[i])
		}
		if len(by) == 0 { // the first part learns nothing
			return gradients, after
		}
		found := Gradient(ReduceAllSum(Mul(y, StopGradient(byY))), by...)
		if i > 0 {
			byY = found[len(found)-1]
		}
		for k, spec := range specs {
			if !spec.Tracked {
				gradients[first+k], found = found[0], found[1:]
			}
		}
		last = first
	}
	return gradients, after
}

// parts cuts a layer into the parts of Forward.
func parts(l Layer) []Layer {
	var parts []Layer
	var part Sequence
	for _, l := range flat(l) {
		if part = append(part, l); len(l.Params()) > 0 {
			parts, part = append(parts, part), nil
		}
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// flat are the layers of a sequence, of sequences in it too.
func flat(l Layer) (all []Layer) {
	s, ok := l.(Sequence)
	if !ok {
		return []Layer{l}
	}
	for _, l := range s {
		all = append(all, flat(l)...)
	}
	return all
}
