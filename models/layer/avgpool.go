package layer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// AvgPool2D takes the mean of each size×size block of
// [batch, height, width, channels]: [batch, height/size, width/size, channels].
// Rows and columns that fill no block are left out, as in PyTorch.
//
// It is made of slices, as MaxPool2D is, whose gradient both backends have.
func AvgPool2D(size int) Func {
	return func(x *Node) *Node {
		n, h, w, c := x.Shape().Dimensions[0], x.Shape().Dimensions[1], x.Shape().Dimensions[2], x.Shape().Dimensions[3]
		rows, columns := h/size, w/size
		if rows == 0 || columns == 0 {
			panic(fmt.Errorf("layer: %d×%d pixels are fewer than the %d×%d that are averaged; take larger images", h, w, size, size))
		}
		if rows*size < h {
			x = SliceAxis(x, 1, AxisRange(0, rows*size))
		}
		if columns*size < w {
			x = SliceAxis(x, 2, AxisRange(0, columns*size))
		}
		x = added(Reshape(x, n*rows, size, columns*size*c))
		x = added(Reshape(x, n*rows*columns, size, c))
		return Reshape(MulScalar(x, 1/float64(size*size)), n, rows, columns, c)
	}
}

// added reduces the middle axis of x to its sum.
func added(x *Node) *Node {
	sum := SliceAxis(x, 1, AxisElem(0))
	for i := 1; i < x.Shape().Dimensions[1]; i++ {
		sum = Add(sum, SliceAxis(x, 1, AxisElem(i)))
	}
	return sum
}
