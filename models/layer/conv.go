package layer

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Method is how a convolution is computed.
type Method int

const (
	// Auto takes Native on XLA where input and output have eight channels or
	// more (with fewer, XLA's convolution on the CPU is the slower one), else
	// Products. The Go backend's own convolution is serial: a training step of
	// the autoencoder takes 15 times longer with it.
	Auto Method = iota
	// Native is the backend's own convolution. Even kernels get a row and a column
	// of zeros: GoMLX 0.28.2 pads the gradient of even ones by the input with one
	// row and column too few on one side, which shifts it by a pixel.
	Native
	// Products is slices, concatenations and one matrix product.
	Products
)

// Conv2D is a two-dimensional convolution (cross-correlation, as everywhere in
// deep learning) with bias, on [batch, height, width, In]. The result is
// [batch, height', width', Out] with height' = (height + 2·Padding − Kernel)/Stride + 1.
type Conv2D struct {
	Name            string
	In, Out         int // channels
	Kernel          int // side of the square kernel
	Stride, Padding int // zero padding on each side
	Method          Method
}

// Params implements Layer: weight [Kernel, Kernel, In, Out] and bias [Out].
func (c Conv2D) Params() []Spec {
	fanIn := c.Kernel * c.Kernel * c.In
	return []Spec{
		{Name: c.Name + ".weight", Shape: []int{c.Kernel, c.Kernel, c.In, c.Out}, FanIn: fanIn},
		{Name: c.Name + ".bias", Shape: []int{c.Out}, FanIn: fanIn},
	}
}

// Apply implements Layer.
func (c Conv2D) Apply(x *Node, weights []*Node) *Node {
	y := c.convolve(x, weights[0])
	return Add(y, ExpandLeftToRank(weights[1], y.Rank()))
}

// convolve is Apply without bias.
func (c Conv2D) convolve(x, weight *Node) *Node {
	if !c.native(x) {
		return c.products(pad(x, c.Padding, c.Padding, 1, 2), weight)
	}
	padding := [2]int{c.Padding, c.Padding}
	if c.Kernel%2 == 0 { // see Native
		weight = pad(weight, 0, 1, 0, 1)
		padding[1]++
	}
	return Convolve(x, weight).Strides(c.Stride).PaddingPerDim([][2]int{padding, padding}).Done()
}

// native says whether to leave the convolution of x to the backend.
func (c Conv2D) native(x *Node) bool {
	return c.Method == Native || c.Method == Auto && !onGoBackend(x) && min(c.In, c.Out) >= 8
}

// products convolves with one matrix product. A kernel index along an axis can
// be dealt with before the product, by putting the shifted views of x side by
// side, or after it, by computing what every index gives and summing shifted
// results. Both along the width and the height before is im2col. What costs is
// the moving of data, so the way that moves the fewest values is taken.
func (c Conv2D) products(x, weight *Node) *Node {
	const width, height = 2, 1
	before := c.Kernel*c.In*c.Stride + c.Kernel*c.Kernel*c.In
	between := c.Kernel*c.In*c.Stride + c.Kernel*c.Out*c.Stride
	after := c.Kernel*c.Kernel*c.Out*c.Stride*c.Stride + c.Kernel*c.Out*c.Stride
	switch least := min(before, between, after); least {
	case before: // weight [row, column, in; out]
		return product(c.shifts(c.shifts(x, width), height), weight, c.Out)
	case between: // weight [column, in; row, out]
		return c.sum(product(c.shifts(x, width), TransposeAllAxes(weight, 1, 2, 0, 3), c.Kernel*c.Out), height)
	default: // weight [in; row, column, out]
		return c.sum(c.sum(product(x, TransposeAllAxes(weight, 2, 0, 1, 3), c.Kernel*c.Kernel*c.Out), height), width)
	}
}

// product maps the channels of x, [n, h, w, k], to out channels.
func product(x, weight *Node, out int) *Node {
	n, h, w, k := x.Shape().Dimensions[0], x.Shape().Dimensions[1], x.Shape().Dimensions[2], x.Shape().Dimensions[3]
	return Reshape(Dot(Reshape(x, n*h*w, k), Reshape(weight, k, out)).Product(), n, h, w, out)
}

// shifts concatenates, along the channels, the Kernel views of x that a kernel
// sees as it moves along axis.
func (c Conv2D) shifts(x *Node, axis int) *Node {
	views := make([]*Node, c.Kernel)
	for i := range views {
		views[i] = SliceAxis(x, axis, c.window(i, x.Shape().Dimensions[axis]))
	}
	return Concatenate(views, 3)
}

// sum is the counterpart of shifts: the channels of x are Kernel blocks, what
// each kernel index along axis gives, and it adds them up where they fall.
func (c Conv2D) sum(x *Node, axis int) *Node {
	block := x.Shape().Dimensions[3] / c.Kernel
	var total *Node
	for i := range c.Kernel {
		ranges := []SliceAxisSpec{AxisRange(), AxisRange(), AxisRange(), AxisRange(i*block, (i+1)*block)}
		ranges[axis] = c.window(i, x.Shape().Dimensions[axis])
		if part := Slice(x, ranges...); total == nil {
			total = part
		} else {
			total = Add(total, part)
		}
	}
	return total
}

// window is the range of inputs, of length size, that kernel index i meets.
func (c Conv2D) window(i, size int) SliceAxisSpec {
	last := (size-c.Kernel)/c.Stride*c.Stride + i
	return AxisRange(i, last+1).Stride(c.Stride)
}

// onGoBackend says whether the graph of x runs on GoMLX's Go backend.
func onGoBackend(x *Node) bool { return x.Graph().Backend().String() == "go" }
