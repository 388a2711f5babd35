package layer

import (
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Unbiased is a layer without its bias: without the last parameter, which counts
// as zero. Before a BatchNorm a bias does nothing, and only rounding would move it.
type Unbiased struct {
	Layer Layer // Dense, Conv2D or ConvTranspose2D
}

// Params implements Layer: the weight.
func (u Unbiased) Params() []Spec {
	specs := u.Layer.Params()
	return specs[:len(specs)-1]
}

// Apply implements Layer.
func (u Unbiased) Apply(x *Node, weights []*Node) *Node {
	specs := u.Layer.Params()
	bias := shapes.Make(x.DType(), specs[len(specs)-1].Shape...)
	return u.Layer.Apply(x, append(slices.Clip(weights), Zeros(x.Graph(), bias)))
}
