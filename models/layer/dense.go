package layer

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Dense is an affine map from [batch, In] to [batch, Out].
type Dense struct {
	Name    string
	In, Out int
}

// Params implements Layer: weight [In, Out] and bias [Out].
func (d Dense) Params() []Spec {
	return []Spec{
		{Name: d.Name + ".weight", Shape: []int{d.In, d.Out}, FanIn: d.In},
		{Name: d.Name + ".bias", Shape: []int{d.Out}, FanIn: d.In},
	}
}

// Apply implements Layer.
func (d Dense) Apply(x *Node, weights []*Node) *Node {
	y := Dot(x, weights[0]).Product()
	return Add(y, ExpandLeftToRank(weights[1], y.Rank()))
}

// ReLU is max(x, 0).
var ReLU = Func(func(x *Node) *Node { return MaxScalar(x, 0) })

// LeakyReLU is x where x is positive, slope·x elsewhere, for slope in [0, 1]. Its gradient
// at 0 is 1. It is a product, whose gradient is one as well: that of a maximum is several
// operations.
func LeakyReLU(slope float64) Func {
	return func(x *Node) *Node {
		one := OnesLike(x)
		negative := LessThan(x, ScalarZero(x.Graph(), x.DType()))
		return Mul(x, StopGradient(Where(negative, MulScalar(one, slope), one)))
	}
}

// Flatten joins all axes but the first: [batch, …] to [batch, size].
var Flatten = Func(func(x *Node) *Node { return Reshape(x, x.Shape().Dimensions[0], -1) })

// Fold splits the second axis into height, width and channels:
// [batch, height·width·channels] to [batch, height, width, channels].
func Fold(height, width, channels int) Func {
	return func(x *Node) *Node { return Reshape(x, x.Shape().Dimensions[0], height, width, channels) }
}

// Constants of Normalize.
const (
	// finest is added to the squared norm. Its root is far below any latent's
	// norm and far above where float32 loses the square.
	finest = 1e-30
	// coarsest bounds coordinates so that no sum of squares overflows.
	coarsest = 1e15
)

// Normalize scales each row of [batch, dim] to unit norm: x/√(‖x‖² + 1e-30).
//
// The norm of a result is never above 1 but for rounding, whatever goes in,
// because sensitivities are computed from that bound: a row of zeros stays
// zero, NaN and infinite coordinates count as zero, coordinates beyond 1e15
// count as 1e15. The gradient is finite everywhere, at 0 too, where that of a
// plain norm is NaN; a non-finite coordinate has gradient zero.
var Normalize = Func(func(x *Node) *Node {
	x = Where(IsFinite(x), x, ZerosLike(x))
	x = ClipScalar(x, -coarsest, coarsest)
	squares := ReduceAndKeep(Square(x), ReduceSum, 1)
	return Div(x, Sqrt(AddScalar(squares, finest)))
})
