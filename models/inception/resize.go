package inception

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// prepare maps images [batch, height, width, channels] of values 0…255 to what
// the first layer takes, [batch, Side, Side, 3]: resized as the graph itself
// does it, (x − 128)/128, and one grey channel repeated. Resizing is linear
// along each axis, so it is a product with a matrix for each.
func prepare(images *Node) *Node {
	size := images.Shape().Dimensions
	rows := Const(images.Graph(), interpolation(size[1]))
	columns := Const(images.Graph(), interpolation(size[2]))
	x := Einsum("bhwc,wx->bhcx", images, columns)
	x = Einsum("bhcx,hy->bcxy", x, rows)
	x = TransposeAllDims(x, 0, 3, 2, 1)
	x = MulScalar(AddScalar(x, -128), 1./128)
	if size[3] == 1 {
		x = Concatenate([]*Node{x, x, x}, 3)
	}
	return x
}

// interpolation returns the [size, Side] matrix of TensorFlow 1's
// ResizeBilinear along an axis of the given size, with align_corners and
// half_pixel_centers false, as the graph of 2015 has it: output i lies at
// i·size/Side of the input, in float32, and beyond the last pixel is that
// pixel. Libraries that put pixel centres at halves give other distances
// (Parmar, Zhang & Zhu 2022).
func interpolation(size int) [][]float32 {
	matrix := make([][]float32, size)
	for i := range matrix {
		matrix[i] = make([]float32, Side)
	}
	scale := float32(size) / Side
	for i := range Side {
		at := float32(i) * scale
		low := min(int(at), size-1) // at ≥ 0
		high := min(low+1, size-1)
		part := at - float32(low)
		matrix[low][i] += 1 - part
		matrix[high][i] += part
	}
	return matrix
}
