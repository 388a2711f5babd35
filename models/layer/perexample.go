package layer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// PerExample is a layer that can tell the gradients of single examples by its
// parameters apart. It treats each row of a batch by itself.
type PerExample interface {
	Layer
	// Factors returns the gradient of each of n examples by each parameter, in
	// Apply's order and in factors, of the layer applied to x, [n, …], and of the
	// examples' own gradients by what Apply made of it, [n, …].
	Factors(x, gradient *Node) []Factors
}

// Factors are the gradients of n examples by a parameter, not multiplied out: of
// example i, in the order of the parameter's numbers,
//
//	∇_i = Σ_t a_it·g_itᵀ
//
// over T positions t at which the example meets the parameter: [In, Out]; or where
// Inputs is nil, as if of ones, Σ_t g_it, [Out].
type Factors struct {
	Inputs    *Node // a, [n, T, In], or nil
	Gradients *Node // g, [n, T, Out]
}

// positions reshapes x, [n, …, size], to [n, T, size].
func positions(x *Node, size int) *Node {
	return Reshape(x, x.Shape().Dimensions[0], -1, size)
}

// ones are the factors of a gradient that is the sum of g, [n, …, out].
func ones(g *Node, out int) Factors { return Factors{nil, positions(g, out)} }

// Factors implements PerExample.
func (d Dense) Factors(x, gradient *Node) []Factors {
	return []Factors{{positions(x, d.In), positions(gradient, d.Out)}, ones(gradient, d.Out)}
}

// Factors implements PerExample: the layer is a dense one on the patch of x under
// the kernel, at each place.
func (c Conv2D) Factors(x, gradient *Node) []Factors {
	return []Factors{{positions(c.patches(x), c.Kernel*c.Kernel*c.In), positions(gradient, c.Out)}, ones(gradient, c.Out)}
}

// patches returns what the kernel sees at each place, [n, h', w', Kernel·Kernel·In].
func (c Conv2D) patches(x *Node) *Node {
	const width, height = 2, 1
	return c.shifts(c.shifts(pad(x, c.Padding, c.Padding, 1, 2), width), height)
}

// Factors implements PerExample. The transpose of a convolution has its gradient
// with the two sides exchanged: each pixel of x meets the patch that it is spread
// over.
func (c ConvTranspose2D) Factors(x, gradient *Node) []Factors {
	back := Conv2D{In: c.Out, Kernel: c.Kernel, Stride: c.Stride, Padding: c.Padding}
	return []Factors{{positions(x, c.In), positions(back.patches(gradient), c.Kernel*c.Kernel*c.Out)}, ones(gradient, c.Out)}
}

// Factors implements PerExample: those of the layer but for its bias. It panics, as
// building a graph does, if the layer has none.
func (u Unbiased) Factors(x, gradient *Node) []Factors {
	per, ok := u.Layer.(PerExample)
	if !ok {
		panic(fmt.Errorf("layer: %T cannot tell examples apart", u.Layer))
	}
	factors := per.Factors(x, gradient)
	return factors[:len(factors)-1]
}
