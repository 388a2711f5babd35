package layer

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// ConvTranspose2D is a two-dimensional transposed convolution with bias: the
// transpose, as a linear map, of a convolution of the same kernel, stride and
// padding. It puts x[y, x, in]·weight[in, dy, dx, out] at
// (Stride·y + dy − Padding, Stride·x + dx − Padding), adds up what falls on the
// same place and drops what falls outside. It maps [batch, h, w, In] to
// [batch, h', w', Out] with h' = (h − 1)·Stride − 2·Padding + Kernel.
//
// GoMLX has no gradient for it. It is computed as a Conv2D on x whose channels
// are the Stride×Stride pixels of a block of the result: pixel r of block q
// sums x[q−a]·weight[Stride·a + r] over a. Where it just multiplies the side by
// Stride, Products goes by phases instead. Auto takes Products: XLA's own
// convolution takes 15 to 40 times as long on the CPU, with gradients, as many
// channels and few places are not what it is made for.
type ConvTranspose2D struct {
	Name            string
	In, Out         int // channels
	Kernel          int // side of the square kernel
	Stride, Padding int // Padding is cut off each side of the result
	Method          Method
}

// Params implements Layer: weight [In, Kernel, Kernel, Out] and bias [Out].
func (c ConvTranspose2D) Params() []Spec {
	fanIn := c.Kernel * c.Kernel * c.Out // as PyTorch counts it for transposed convolutions
	return []Spec{
		{Name: c.Name + ".weight", Shape: []int{c.In, c.Kernel, c.Kernel, c.Out}, FanIn: fanIn},
		{Name: c.Name + ".bias", Shape: []int{c.Out}, FanIn: fanIn},
	}
}

// Apply implements Layer.
func (c ConvTranspose2D) Apply(x *Node, weights []*Node) *Node {
	weight, bias := weights[0], weights[1]
	h, w := x.Shape().Dimensions[1], x.Shape().Dimensions[2]
	if c.multiplies() && c.Method != Native && h*w > 1 {
		y := c.phases(x, weight)
		return Add(y, ExpandLeftToRank(bias, y.Rank()))
	}
	y := c.full(x, weight)
	y = SliceAxis(y, 1, AxisRange(c.Padding, c.Padding+c.size(h)))
	y = SliceAxis(y, 2, AxisRange(c.Padding, c.Padding+c.size(w)))
	return Add(y, ExpandLeftToRank(bias, y.Rank()))
}

// full is what falls anywhere, at least the result with its Padding around it. It
// may have zeros below and to the right.
func (c ConvTranspose2D) full(x, weight *Node) *Node {
	if x.Shape().Size() == x.Shape().Dimensions[0]*c.In { // a pixel: all else that blocks would read is padding
		return Reshape(product(x, weight, c.Kernel*c.Kernel*c.Out), -1, c.Kernel, c.Kernel, c.Out)
	}
	blocks := Conv2D{In: c.In, Out: c.Stride * c.Stride * c.Out, Kernel: c.taps(), Stride: 1, Padding: c.taps() - 1, Method: c.Method}
	if c.Method == Auto {
		blocks.Method = Products
	}
	return c.interleave(blocks.convolve(x, c.blockWeight(weight)))
}

// taps is the number of inputs along an axis that reach an output: a runs from
// 0 to taps−1.
func (c ConvTranspose2D) taps() int { return (c.Kernel + c.Stride - 1) / c.Stride }

// size is the side of the result of side inputs.
func (c ConvTranspose2D) size(side int) int { return (side-1)*c.Stride - 2*c.Padding + c.Kernel }

// blockWeight rearranges weight [In, Kernel, Kernel, Out] for the convolution to
// blocks: [taps, taps, In, Stride·Stride·Out], in which a counts down.
func (c ConvTranspose2D) blockWeight(weight *Node) *Node {
	for _, axis := range []int{1, 2} {
		weight = pad(weight, 0, c.taps()*c.Stride-c.Kernel, axis)
		if c.taps() == 1 {
			continue
		}
		taps := make([]*Node, c.taps()) // GoMLX's Reverse has no gradient
		for i := range taps {
			first := (c.taps() - 1 - i) * c.Stride
			taps[i] = SliceAxis(weight, axis, AxisRange(first, first+c.Stride))
		}
		weight = Concatenate(taps, axis)
	}
	weight = Reshape(weight, c.In, c.taps(), c.Stride, c.taps(), c.Stride, c.Out)
	weight = TransposeAllAxes(weight, 1, 3, 0, 2, 4, 5)
	return Reshape(weight, c.taps(), c.taps(), c.In, c.Stride*c.Stride*c.Out)
}

// interleave lays out the channels of y, [n, h, w, Stride·Stride·Out], as the
// pixels of blocks: [n, Stride·h, Stride·w, Out]. It slices and concatenates
// rows, which the Go backend does much faster than it transposes.
func (c ConvTranspose2D) interleave(y *Node) *Node {
	if c.Stride == 1 {
		return y
	}
	n, h, w := y.Shape().Dimensions[0], y.Shape().Dimensions[1], y.Shape().Dimensions[2]
	line := c.Stride * c.Out
	rows := make([]*Node, c.Stride) // row i of all blocks
	for i := range rows {
		rows[i] = Reshape(SliceAxis(y, 3, AxisRange(i*line, (i+1)*line)), n*h, 1, w*line)
	}
	return Reshape(Concatenate(rows, 1), n, c.Stride*h, c.Stride*w, c.Out)
}
