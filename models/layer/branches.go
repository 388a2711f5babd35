package layer

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// Branches holds what several layers make of the same input, [n, …] each, flattened
// and side by side: [n, sum of their sizes].
type Branches []Layer

// Params implements Layer: those of the first, then those of the next.
func (b Branches) Params() []Spec { return Sequence(b).Params() }

// Apply implements Layer.
func (b Branches) Apply(x *Node, weights []*Node) *Node {
	Sequence(b).expect(weights)
	var all []*Node
	for _, l := range b {
		n := len(l.Params())
		all, weights = append(all, l.Apply(x, weights[:n])), weights[n:]
	}
	return Beside(all)
}

// Train implements Learner.
func (b Branches) Train(x *Node, weights []*Node) (*Node, []*Node) {
	Sequence(b).expect(weights)
	var all, after []*Node
	for _, l := range b {
		n := len(l.Params())
		y, moved := Train(l, x, weights[:n])
		all, weights, after = append(all, y), weights[n:], slices.Concat(after, moved)
	}
	return Beside(all), after
}

// Beside flattens the rows of values, [n, …] each, and puts them side by side.
func Beside(values []*Node) *Node {
	flat := make([]*Node, len(values))
	for i, v := range values {
		flat[i] = Reshape(v, v.Shape().Dimensions[0], -1)
	}
	return Concatenate(flat, 1)
}
