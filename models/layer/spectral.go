package layer

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
)

// Spectral is spectral normalisation (Miyato et al. 2018): it divides the weight of a layer by its
// largest singular value σ. Layer is a Dense, a Conv2D or a ConvTranspose2D, whose
// first parameter is a weight with the outputs on the last axis; the matrix that
// counts is [rest, outputs], as in the paper, and not the linear map of the whole
// convolution.
//
// σ = vᵀWu comes from one power iteration, v = Wu/‖Wu‖ and u′ = Wᵀv/‖Wᵀv‖, on a
// tracked u, [outputs], which a step of training replaces by u′. The gradient goes
// through W in σ, with u and v held. Applied, the layer makes the same iteration
// and forgets it.
type Spectral struct {
	Layer Layer
}

// Params implements Layer: those of the layer, then the tracked u.
func (s Spectral) Params() []Spec {
	specs := s.Layer.Params()
	if len(specs) == 0 || len(specs[0].Shape) < 2 {
		panic(fmt.Errorf("layer: spectral normalisation of %T, which has no weight", s.Layer))
	}
	outputs := specs[0].Shape[len(specs[0].Shape)-1]
	return append(slices.Clip(specs), Spec{
		Name:    strings.TrimSuffix(specs[0].Name, ".weight") + ".u",
		Shape:   []int{outputs},
		FanIn:   outputs, // random, so that it is not orthogonal to what it seeks
		Tracked: true,
	})
}

// Apply implements Layer.
func (s Spectral) Apply(x *Node, weights []*Node) *Node {
	normal, _ := s.normalise(weights)
	return s.Layer.Apply(x, normal)
}

// Train implements Learner.
func (s Spectral) Train(x *Node, weights []*Node) (*Node, []*Node) {
	normal, u := s.normalise(weights)
	y, after := Train(s.Layer, x, normal)
	return y, append(slices.Clip(after), u)
}

// normalise returns the layer's parameters, the weight divided by σ, and u after
// an iteration. Its sums over whole matrices go by rows and columns.
func (s Spectral) normalise(weights []*Node) (normal []*Node, next *Node) {
	last := len(weights) - 1
	w, u := Reshape(weights[0], -1, weights[last].Shape().Size()), StopGradient(weights[last])
	byU := ReduceSum(Mul(w, ExpandLeftToRank(u, 2)), 1)                // Wu
	v := unit(byU)                                                     // [rest]
	next = unit(ReduceSum(Mul(w, Reshape(v, v.Shape().Size(), 1)), 0)) // [outputs]
	sigma := ReduceAllSum(Mul(ReduceSum(Mul(w, ExpandLeftToRank(next, 2)), 1), v))
	normal = slices.Clone(weights[:last])
	normal[0] = Div(weights[0], MaxScalar(sigma, tiny))
	return normal, next
}

// tiny is what norms are at least, so that a weight of zeros stays zero.
const tiny = 1e-12

// unit is x at norm 1, a constant to the gradient.
func unit(x *Node) *Node {
	x = StopGradient(x)
	return StopGradient(Div(x, MaxScalar(Sqrt(ReduceAllSum(Square(x))), tiny)))
}
