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
	// Native is the backend's own convolution, for odd kernels only: for even
	// ones GoMLX 0.28.2 pads its gradient by the input with one row and column
	// too few on one side and shifts it by a pixel. They take Products.
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
		{c.Name + ".weight", []int{c.Kernel, c.Kernel, c.In, c.Out}, fanIn},
		{c.Name + ".bias", []int{c.Out}, fanIn},
	}
}

// Apply implements Layer.
func (c Conv2D) Apply(x *Node, weights []*Node) *Node {
	weight, bias := weights[0], weights[1]
	var y *Node
	if c.native(x) {
		padding := [2]int{c.Padding, c.Padding}
		y = Convolve(x, weight).Strides(c.Stride).PaddingPerDim([][2]int{padding, padding}).Done()
	} else {
		y = c.products(pad(x, c.Padding), weight)
	}
	return Add(y, ExpandLeftToRank(bias, y.Rank()))
}

// native says whether to leave the convolution of x to the backend.
func (c Conv2D) native(x *Node) bool {
	wanted := c.Method == Native || c.Method == Auto && !onGoBackend(x) && min(c.In, c.Out) >= 8
	return wanted && c.Kernel%2 == 1
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

// pad adds zeros around height and width. It concatenates because GoMLX's Pad
// has no gradient.
func pad(x *Node, width int) *Node {
	if width == 0 {
		return x
	}
	for _, axis := range []int{1, 2} {
		shape := x.Shape().Clone()
		shape.Dimensions[axis] = width
		zeros := Zeros(x.Graph(), shape)
		x = Concatenate([]*Node{zeros, x, zeros}, axis)
	}
	return x
}

// onGoBackend says whether the graph of x runs on GoMLX's Go backend.
func onGoBackend(x *Node) bool { return x.Graph().Backend().String() == "go" }

// ConvTranspose2 is the transposed convolution with kernel 2 and stride 2,
// which doubles height and width: [batch, h, w, In] to [batch, 2h, 2w, Out].
// Its windows do not overlap, so it is a matrix product whose outputs are laid
// out as 2×2 blocks; GoMLX has no gradient for transposed convolutions in
// general. There are two products, one for each row of the blocks, because the
// Go backend interleaves rows much faster than it transposes. (With kernel 3, stride 1 and padding 1 a transposed convolution is
// a Conv2D with a mirrored kernel.)
type ConvTranspose2 struct {
	Name    string
	In, Out int // channels
}

// Params implements Layer: weight [In, 2, 2, Out] and bias [Out].
func (c ConvTranspose2) Params() []Spec {
	fanIn := 4 * c.Out // as PyTorch counts it for transposed convolutions
	return []Spec{
		{c.Name + ".weight", []int{c.In, 2, 2, c.Out}, fanIn},
		{c.Name + ".bias", []int{c.Out}, fanIn},
	}
}

// Apply implements Layer.
func (c ConvTranspose2) Apply(x *Node, weights []*Node) *Node {
	weight, bias := weights[0], weights[1]
	n, h, w := x.Shape().Dimensions[0], x.Shape().Dimensions[1], x.Shape().Dimensions[2]
	x = Reshape(x, n*h*w, c.In)
	rows := make([]*Node, 2) // the upper and the lower rows of all blocks
	for i := range rows {
		half := Reshape(SliceAxis(weight, 1, AxisElem(i)), c.In, 2*c.Out)
		rows[i] = Reshape(Dot(x, half).Product(), n*h, 1, w*2*c.Out)
	}
	y := Reshape(Concatenate(rows, 1), n, 2*h, 2*w, c.Out)
	return Add(y, ExpandLeftToRank(bias, y.Rank()))
}
