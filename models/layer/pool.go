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
// It is made of slices, because GoMLX's Go backend has no gradient for pools of its
// own.
func MaxPool2D(size int) Func {
	return pool(size, func(x *Node) *Node {
		most := SliceAxis(x, 1, AxisElem(0))
		for i := 1; i < size; i++ {
			most = Max(most, SliceAxis(x, 1, AxisElem(i)))
		}
		return most
	})
}

// AvgPool2D takes the mean of each size×size block, as MaxPool2D the largest value.
//
// It is made of sums, whose gradients are copies: those of slices are sums of padded
// images.
func AvgPool2D(size int) Func {
	sum := pool(size, func(x *Node) *Node { return ReduceSum(x, 1) })
	return func(x *Node) *Node { return MulScalar(sum(x), 1/float64(size*size)) }
}

// pool joins the values of each size×size block: join makes [n, size, k] to n·k numbers.
func pool(size int, join func(x *Node) *Node) Func {
	return func(x *Node) *Node {
		if size < 1 {
			panic(fmt.Errorf("layer: expected blocks of 1×1 or more pixels to pool, found %d×%[1]d", size))
		}
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
		x = join(Reshape(x, n*rows, size, columns*size*c))
		x = join(Reshape(x, n*rows*columns, size, c))
		return Reshape(x, n, rows, columns, c)
	}
}
