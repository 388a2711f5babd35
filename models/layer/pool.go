package layer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// MaxPool2D takes the largest value of each size×size block of
// [batch, height, width, channels]: [batch, height/size, width/size, channels].
// Rows and columns that fill no block are left out, as in PyTorch. Where values
// are equal the gradient goes to one of them.
//
// It is made of slices, because GoMLX's Go backend has no gradient for its own.
func MaxPool2D(size int) Func {
	return func(x *Node) *Node {
		n, h, w, c := x.Shape().Dimensions[0], x.Shape().Dimensions[1], x.Shape().Dimensions[2], x.Shape().Dimensions[3]
		rows, columns := h/size, w/size
		if rows == 0 || columns == 0 {
			panic(fmt.Errorf("layer: %d×%d pixels are fewer than the %d×%d that are pooled; take larger images", h, w, size, size))
		}
		if rows*size < h {
			x = SliceAxis(x, 1, AxisRange(0, rows*size))
		}
		if columns*size < w {
			x = SliceAxis(x, 2, AxisRange(0, columns*size))
		}
		x = largest(Reshape(x, n*rows, size, columns*size*c))
		x = largest(Reshape(x, n*rows*columns, size, c))
		return Reshape(x, n, rows, columns, c)
	}
}

// largest reduces the middle axis of x to its largest value.
func largest(x *Node) *Node {
	most := SliceAxis(x, 1, AxisElem(0))
	for i := 1; i < x.Shape().Dimensions[1]; i++ {
		most = Max(most, SliceAxis(x, 1, AxisElem(i)))
	}
	return most
}
