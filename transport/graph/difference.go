package graph

import . "github.com/gomlx/gomlx/core/graph"

// separable is the cost Σ_k value(x_k − y_k) with slope its derivative.
func separable(value, slope func(d *Node) *Node) Cost {
	return func(x, y *Node) *Node {
		checkPoints(x, y)
		var parts []*Node
		for _, d := range differences(x, y) {
			parts = append(parts, ReduceSum(value(d), -1))
		}
		return withGradient(sum(parts), x, y, func(x, y, weights *Node) (byX, byY *Node) {
			var xs, ys []*Node
			weights = InsertAxes(weights, -1)
			for _, d := range differences(x, y) {
				pull := Mul(weights, slope(d))
				xs, ys = append(xs, ReduceSum(pull, -2)), append(ys, Neg(ReduceSum(pull, -3)))
			}
			return Concatenate(xs, -1), Concatenate(ys, -1)
		})
	}
}

// differences returns x_i − y_j, [batch..., n, m, d], in slices of d.
func differences(x, y *Node) []*Node {
	dim := x.Shape().Dimensions[x.Rank()-1]
	step := dim
	if onGoBackend(x) {
		pairs := x.Shape().Size() / dim * y.Shape().Dimensions[y.Rank()-2]
		step = max(1, min(dim, sliceSize/pairs))
	}
	var all []*Node
	for from := 0; from < dim; from += step {
		part := AxisRange(from, min(dim, from+step))
		all = append(all, Sub(InsertAxes(SliceAxis(x, -1, part), -2), InsertAxes(SliceAxis(y, -1, part), -3)))
	}
	return all
}

// sliceSize is how many differences the Go backend, which writes down every
// result, is given at a time: few enough for its processor's caches.
const sliceSize = 1 << 20

func sum(parts []*Node) *Node {
	total := parts[0]
	for _, part := range parts[1:] {
		total = Add(total, part)
	}
	return total
}

// withGradient returns c with a gradient by x and y that the function gives from
// the gradient by c, in place of the one that GoMLX would work out. GoMLX has
// that for functions of one node (IdentityWithCustomGradient), so x and y and
// a zero for each number of c are made into one.
func withGradient(c, x, y *Node, gradient func(x, y, weights *Node) (byX, byY *Node)) *Node {
	flat := func(v *Node) *Node { return Reshape(v, v.Shape().Size()) }
	sizes := []int{x.Shape().Size(), y.Shape().Size()}
	packed := Concatenate([]*Node{flat(x), flat(y), flat(ZerosLike(c))}, 0)
	packed = IdentityWithCustomGradient(packed, func(packed, v *Node) *Node {
		weights := ReshapeWithShape(Slice(v, AxisRangeToEnd(sizes[0]+sizes[1])), c.Shape())
		byX, byY := gradient(StopGradient(x), StopGradient(y), weights)
		return Concatenate([]*Node{flat(byX), flat(byY), flat(ZerosLike(c))}, 0)
	})
	zeros := ReshapeWithShape(Slice(packed, AxisRangeToEnd(sizes[0]+sizes[1])), c.Shape())
	return Add(StopGradient(c), zeros)
}
