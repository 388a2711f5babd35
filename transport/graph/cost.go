package graph

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// Cost is a ground cost as a graph: from x, [batch..., n, d], and y,
// [batch..., m, d], to the matrices c(x_i, y_j), [batch..., n, m]. Any function
// of that shape serves, as long as GoMLX can differentiate it: there are no
// gradients through Sort, While, Pad and a few more, those of If are silently
// zero, that of Abs at 0 is 1, and those of norms at 0 are NaN, behind Where too.
//
// Transport with equal points on both sides, Solve(x, x), calls a cost
// with the same node twice, and takes c to be symmetric.
type Cost func(x, y *Node) *Node

// SquaredL2 is ‖x−y‖₂², the cost of W₂², as ‖x‖² + ‖y‖² − 2⟨x, y⟩: one matrix
// product, where differences take n·m·d numbers.
//
// Points are moved to the mean of y first, which changes no distance, and
// results below 0 become 0. What is left is an error of about 1e-7·‖x−ȳ‖² in
// single precision: beside an ε of the same size it matters, and nearly equal
// points far from ȳ lose their distance. Mixture(1, 0) has the error relative to
// each distance.
func SquaredL2(x, y *Node) *Node {
	checkPoints(x, y)
	mean := StopGradient(ReduceAndKeep(y, ReduceMean, -2))
	same := x == y
	x, y = Sub(x, mean), Sub(y, mean)
	squares := Add(InsertAxes(squaredNorms(x), -1), InsertAxes(squaredNorms(y), -2))
	batch := axes(x.Rank() - 2)
	c := Sub(squares, MulScalar(DotGeneral(x, []int{-1}, batch, y, []int{-1}, batch), 2))
	// Rounding is corrected in the value alone: cut off, it would take the
	// gradient of points that nearly coincide with it.
	exact := MaxScalar(c, 0)
	if same {
		exact = Mul(exact, OneMinus(diagonal(c)))
	}
	return Add(c, StopGradient(Sub(exact, c)))
}

// squaredNorms returns ‖x_i‖², [batch..., n]. The Go backend has a fast product
// and slow sums.
func squaredNorms(x *Node) *Node {
	if onGoBackend(x) {
		batch := axes(x.Rank() - 1)
		return DotGeneral(x, []int{-1}, batch, x, []int{-1}, batch)
	}
	return ReduceSum(Square(x), -1)
}

// axes returns 0, 1, …, n−1.
func axes(n int) []int {
	all := make([]int, n)
	for axis := range all {
		all[axis] = axis
	}
	return all
}

// onGoBackend says whether the graph of x runs on GoMLX's Go backend.
func onGoBackend(x *Node) bool { return x.Graph().Backend().String() == "go" }

// L1 is ‖x−y‖₁. The derivative of |t| at 0 is 0.
func L1(x, y *Node) *Node { return Mixture(0, 1)(x, y) }

// L2 is the Euclidean distance ‖x−y‖₂, the cost of W₁. Its derivative where
// points coincide is 0.
func L2(x, y *Node) *Node {
	squares := Mixture(1, 0)(x, y)
	// The root of 0 has an infinite slope, which times 0 is NaN, so the root is
	// taken of 1 there.
	apart := GreaterThan(squares, ZerosLike(squares))
	root := Sqrt(Where(apart, squares, OnesLike(squares)))
	return Where(apart, root, ZerosLike(root))
}

// Mixture is squared·‖x−y‖₂² + absolute·‖x−y‖₁, the cost of 001 Section 4.4 with
// squared = 1 and absolute = m. The derivative of |t| at 0 is 0.
//
// It takes differences, coordinate by coordinate, n·m·d of them, and again for
// the gradient, so that none are kept. XLA never writes them down; the Go backend
// gets them in slices of the dimension.
func Mixture(squared, absolute float64) Cost {
	if !(squared >= 0 && absolute >= 0 && squared+absolute > 0) {
		panic(fmt.Errorf("graph: a cost of %v·squares and %v·absolute values; take weights of at least 0, and one above", squared, absolute))
	}
	value := func(d *Node) *Node {
		switch {
		case squared == 0:
			return MulScalar(Abs(d), absolute)
		case absolute == 0:
			return MulScalar(Square(d), squared)
		}
		return Mul(Abs(d), AddScalar(MulScalar(Abs(d), squared), absolute))
	}
	slope := func(d *Node) *Node {
		switch {
		case squared == 0:
			return MulScalar(Sign(d), absolute)
		case absolute == 0:
			return MulScalar(d, 2*squared)
		}
		return Add(MulScalar(d, 2*squared), MulScalar(Sign(d), absolute))
	}
	return separable(value, slope)
}

// Labelled appends weight·one-hot(label) to points [batch..., n, d] with labels
// [batch..., n] of integers from 0 to classes−1: [batch..., n, d+classes]. With
// it a cost sees labels (001 Section 4.4): under SquaredL2 points of different
// classes are 2·weight² further apart. A label out of range adds zeros.
func Labelled(points, labels *Node, classes int, weight float64) *Node {
	if !labels.DType().IsInt() || labels.Rank() != points.Rank()-1 || !sameSizes(labels, points, labels.Rank()) {
		panic(fmt.Errorf("graph: labels %s for points %s; want integers [batch..., n] for [batch..., n, d]", labels.Shape(), points.Shape()))
	}
	if classes < 1 {
		panic(fmt.Errorf("graph: labels of %d classes; take at least 1", classes))
	}
	return Concatenate([]*Node{points, MulScalar(OneHot(labels, classes, points.DType()), weight)}, -1)
}

// diagonal is 1 where i = j in the matrices of c, [batch..., n, n], and 0 elsewhere.
func diagonal(c *Node) *Node {
	unit := ConvertDType(Diagonal(c.Graph(), c.Shape().Dimensions[c.Rank()-1]), c.DType())
	return ExpandLeftToRank(unit, c.Rank())
}

func checkPoints(x, y *Node) {
	rank := x.Rank()
	if rank < 2 || y.Rank() != rank || !sameSizes(x, y, rank-2) || x.Shape().Dimensions[rank-1] != y.Shape().Dimensions[rank-1] {
		panic(fmt.Errorf("graph: points %s and %s; want [batch..., n, d] and [batch..., m, d]", x.Shape(), y.Shape()))
	}
	if !x.DType().IsFloat() || x.DType() != y.DType() {
		panic(fmt.Errorf("graph: points of type %s and %s; want one type of floating point numbers", x.DType(), y.DType()))
	}
	if x.Shape().Size() == 0 || y.Shape().Size() == 0 {
		panic(fmt.Errorf("graph: points %s and %s; want at least one of each", x.Shape(), y.Shape()))
	}
}

// sameSizes says whether the first axes of a and b have the same sizes.
func sameSizes(a, b *Node, axes int) bool {
	for axis := range axes {
		if a.Shape().Dimensions[axis] != b.Shape().Dimensions[axis] {
			return false
		}
	}
	return true
}
