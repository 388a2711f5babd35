package inception

import (
	. "github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// conv is a convolution with bias and ReLU: [batch, h, w, In] to
// [batch, h', w', Out].
type conv struct {
	Name          string // in the graph of 2015
	In, Out       int    // channels
	Height, Width int    // of the kernel, both odd
	Stride        int
	Valid         bool // no padding; else as much as keeps the size
}

// Params implements layer.Layer: weight [Height, Width, In, Out] and bias [Out].
func (c conv) Params() []layer.Spec {
	fanIn := c.Height * c.Width * c.In
	return []layer.Spec{
		{Name: c.Name + weightSuffix, Shape: []int{c.Height, c.Width, c.In, c.Out}, FanIn: fanIn},
		{Name: c.Name + biasSuffix, Shape: []int{c.Out}, FanIn: fanIn},
	}
}

// What follows a convolution's name in the names of its parameters.
const (
	weightSuffix = ".weight"
	biasSuffix   = ".bias"
)

// Apply implements layer.Layer. XLA's own convolution keeps a core at 75 to 95
// GFLOP/s through all layers, and products of shifted views take 1.6 times as
// long there; the Go backend's convolution is serial.
func (c conv) Apply(x *Node, weights []*Node) *Node {
	weight, bias := weights[0], weights[1]
	var rows, columns int // of padding, on each side
	if !c.Valid {
		rows, columns = c.Height/2, c.Width/2
	}
	var y *Node
	if x.Graph().Backend().String() == "go" {
		y = c.products(zeros(zeros(x, 1, rows), 2, columns), weight)
	} else {
		y = Convolve(x, weight).Strides(c.Stride).PaddingPerDim([][2]int{{rows, rows}, {columns, columns}}).Done()
	}
	y = Add(y, ExpandLeftToRank(bias, y.Rank()))
	return Max(y, ScalarZero(y.Graph(), y.DType()))
}

// products convolves as one matrix product of the views that the kernel sees
// as it moves over x, which is padded already.
func (c conv) products(x, weight *Node) *Node {
	size := x.Shape().Dimensions
	height, width := (size[1]-c.Height)/c.Stride+1, (size[2]-c.Width)/c.Stride+1
	window := func(from, count int) SliceAxisSpec {
		return AxisRange(from, from+(count-1)*c.Stride+1).Stride(c.Stride)
	}
	var views []*Node
	for i := range c.Height {
		for j := range c.Width {
			views = append(views, Slice(x, AxisRange(), window(i, height), window(j, width)))
		}
	}
	seen := Reshape(Concatenate(views, 3), size[0]*height*width, c.Height*c.Width*c.In)
	return Reshape(Dot(seen, Reshape(weight, c.Height*c.Width*c.In, c.Out)).Product(), size[0], height, width, c.Out)
}

// zeros puts width zeros before and behind x along axis.
func zeros(x *Node, axis, width int) *Node {
	if width == 0 {
		return x
	}
	shape := x.Shape().Clone()
	shape.Dimensions[axis] = width
	edge := Zeros(x.Graph(), shape)
	return Concatenate([]*Node{edge, x, edge}, axis)
}

// maxPool is the maximum over 3×3 windows. With Stride 2 there is no padding,
// with Stride 1 the size is kept.
type maxPool struct{ Stride int }

// Params implements layer.Layer: there are none.
func (maxPool) Params() []layer.Spec { return nil }

// Apply implements layer.Layer.
func (m maxPool) Apply(x *Node, _ []*Node) *Node {
	pool := MaxPool(x).Window(3).Strides(m.Stride)
	if m.Stride == 1 {
		return pool.PadSame().Done()
	}
	return pool.NoPadding().Done()
}

// averagePool is the average over 3×3 windows, of what of a window lies in the
// image: TensorFlow's SAME padding does not count.
type averagePool struct{}

// Params implements layer.Layer: there are none.
func (averagePool) Params() []layer.Spec { return nil }

// Apply implements layer.Layer.
func (averagePool) Apply(x *Node, _ []*Node) *Node {
	return MeanPool(x).Window(3).Strides(1).PadSame().Done()
}

// mixed applies its branches to the same input and concatenates their channels.
type mixed []layer.Sequence

// Params implements layer.Layer.
func (m mixed) Params() []layer.Spec {
	var specs []layer.Spec
	for _, branch := range m {
		specs = append(specs, branch.Params()...)
	}
	return specs
}

// Apply implements layer.Layer.
func (m mixed) Apply(x *Node, weights []*Node) *Node {
	var results []*Node
	for _, branch := range m {
		n := len(branch.Params())
		results = append(results, branch.Apply(x, weights[:n]))
		weights = weights[n:]
	}
	return Concatenate(results, 3)
}
