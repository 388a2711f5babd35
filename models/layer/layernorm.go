package layer

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// LayerNorm normalises each example by itself (Ba, Kiros & Hinton
// 2016): over all axes but the first of [batch, …, Channels],
//
//	y = γ·(x − μ)/√(σ² + 10⁻⁵) + β
//
// with the example's own mean μ and (biased) variance σ², and a scale γ and an
// offset β a channel. (Over height, width and channels together it is group
// normalisation with one group: Wu and He, 2018.) No example sees another, so it
// takes the place of BatchNorm where records are private.
type LayerNorm struct {
	Name     string
	Channels int
}

// Params implements Layer: scale γ and offset β, each [Channels].
func (l LayerNorm) Params() []Spec {
	return []Spec{
		{Name: l.Name + ".scale", Shape: []int{l.Channels}, Start: 1},
		{Name: l.Name + ".offset", Shape: []int{l.Channels}},
	}
}

// Apply implements Layer.
func (l LayerNorm) Apply(x *Node, weights []*Node) *Node {
	wide := func(perChannel *Node) *Node { return ExpandLeftToRank(perChannel, x.Rank()) }
	return Add(Mul(l.standard(x), wide(weights[0])), wide(weights[1]))
}

// standard returns (x − μ)/√(σ² + 10⁻⁵), [batch, …, Channels].
func (l LayerNorm) standard(x *Node) *Node {
	shape := x.Shape().Dimensions
	flat := Reshape(x, shape[0], -1)
	centred := Sub(flat, ReduceAndKeep(flat, ReduceMean, 1))
	variance := ReduceAndKeep(Square(centred), ReduceMean, 1)
	return Reshape(Div(centred, Sqrt(AddScalar(variance, normEpsilon))), shape...)
}

// Factors implements PerExample: a channel's scale meets its own inputs only.
func (l LayerNorm) Factors(x, gradient *Node) []Factors {
	return []Factors{ones(Mul(l.standard(x), gradient), l.Channels), ones(gradient, l.Channels)}
}
