package graph

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"molehill/transport"
)

// SW returns SW_p^p(x, y), [batch...], between equally weighted points x,
// [batch..., n, d], and y, [batch..., m, d], for p ≥ 1: the mean of W_p^p over
// the k directions u, [k, d], that package sliced has on the host (Bonneel et al.
// 2015). Its gradient by x and y is that of the coupling, which is a constant.
//
// Points that coincide on a direction are taken in the order of their indices;
// on the host they share what the plan gives them. Where ties matter, as with
// clipped outputs of private records, use the host's gradient.
//
// It sorts in the graph, k rows of n and of m. XLA does that well; GoMLX's Go
// backend takes a thousand times longer than plain Go.
func SW(x, y, u *Node, p float64) *Node {
	checkSliced(x, y, u, p)
	return lines(project(x, u), project(y, u), p, x.Shape().Dimensions[:x.Rank()-2])
}

// project returns ⟨θ_l, x_i⟩, [k, batch..., n].
func project(x, u *Node) *Node {
	return DotGeneral(u, []int{1}, nil, x, []int{-1}, nil)
}

// overDirections returns the mean over the first axis, [k, batch...]. k ≥ 1.
func overDirections(v *Node) *Node { return ReduceMean(v, 0) }

// lines returns the mean of W_p^p of projections at, [k, batch..., n], and to,
// [k, batch..., m], over k.
func lines(at, to *Node, p float64, batch []int) *Node {
	at, to = sorted(at), sorted(to)
	n, m := at.Shape().Dimensions[1], to.Shape().Dimensions[1]
	var powers *Node
	if n == m {
		powers = ReduceMean(power(Sub(at, to), p), 1)
	} else {
		// The plan between ranks is the same for every row: a constant.
		plan := transport.Couple(nil, transport.Levels(nil, n), transport.Levels(nil, m))
		i, j, mass := make([]int32, len(plan)), make([]int32, len(plan)), make([]float64, len(plan))
		for l, pair := range plan {
			i[l], j[l], mass[l] = int32(pair.I), int32(pair.J), pair.Mass
		}
		apart := power(Sub(ranks(at, i), ranks(to, j)), p) // [pairs, rows]
		powers = DotGeneral(ConstAsDType(at.Graph(), at.DType(), mass), []int{0}, nil, apart, []int{0}, nil)
	}
	k := powers.Shape().Size()
	for _, size := range batch {
		k /= size
	}
	return overDirections(Reshape(powers, append([]int{k}, batch...)...))
}

// sorted returns the rows of v, [k, batch..., n], as [rows, n], each in ascending
// order. Its gradient goes back to where the numbers were: the order is found on
// constants, which GoMLX's sort would not differentiate, and gathered.
func sorted(v *Node) *Node {
	n := v.Shape().Dimensions[v.Rank()-1]
	v = Reshape(v, -1, n)
	rows := v.Shape().Dimensions[0]
	g, dtype := v.Graph(), v.DType()
	if rows*n > math.MaxInt32 {
		panic(fmt.Errorf("graph: %d projections to sort; split the batch or the directions so that there are fewer than 2³¹", rows*n))
	}
	before := NewClosure(g, func(g *Graph) []*Node {
		left, right := Parameter(g, "left", shapes.Make(dtype)), Parameter(g, "right", shapes.Make(dtype))
		Parameter(g, "index of left", shapes.Make(dtypes.Int32))
		Parameter(g, "index of right", shapes.Make(dtypes.Int32))
		return []*Node{LessThan(left, right)}
	})
	places := Reshape(Iota(g, shapes.Make(dtypes.Int32, rows*n), 0), rows, n)
	order := SortFunc(before, 1, true, StopGradient(v), places)[1]
	return Gather(Reshape(v, rows*n), Reshape(order, rows, n, 1))
}

// ranks returns the numbers of the given ranks of sorted rows, [pairs, rows].
func ranks(rows *Node, of []int32) *Node {
	indices := Reshape(Const(rows.Graph(), of), len(of), 1)
	return Gather(Transpose(rows, 0, 1), indices, true)
}

// power returns |v|^p, with derivative p·|v|^(p−1)·sign(v), 0 at 0.
func power(v *Node, p float64) *Node {
	if p == 2 {
		return Square(v)
	}
	size := Abs(v)
	value, slope := size, Sign(v)
	if p != 1 {
		slope = Mul(slope, MulScalar(PowScalar(size, p-1), p))
		value = PowScalar(size, p)
	}
	return Add(StopGradient(value), Mul(StopGradient(slope), Sub(v, StopGradient(v))))
}

func checkSliced(x, y, u *Node, p float64) {
	checkPoints(x, y)
	dims := u.Shape().Dimensions
	if len(dims) != 2 || dims[0] < 1 || dims[1] != x.Shape().Dimensions[x.Rank()-1] || u.DType() != x.DType() {
		panic(fmt.Errorf("graph: directions %s for points %s; want [k, d] of the same type", u.Shape(), x.Shape()))
	}
	if err := transport.CheckPower(p); err != nil {
		panic(err)
	}
}
