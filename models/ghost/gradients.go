package ghost

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// Gradients are those of n examples by each parameter of a network in its order: d of
// each example.
type Gradients []Part

// Part is d gradients of n examples by one parameter, in the order of its numbers. Where
// the factors of one are fewer numbers it is not multiplied out: gradient c of example i is
//
//	Σ_t Inputs[i, t]·Values[i, t, c]ᵀ   [in, out]
type Part struct {
	Values *graph.Node // [n, T, d, out] of T positions, or multiplied out [n, d, out, in]
	Inputs *graph.Node // [n, T, in], or nil where Values are multiplied out
}

// Gradients returns those of d scalars by all parameters of the trace. Each scalar is a
// sum over examples, whose summands see one example each.
func (t *Trace) Gradients(scalars ...*graph.Node) Gradients {
	pulled := make([][]*graph.Node, len(scalars))
	for c, scalar := range scalars {
		pulled[c] = t.pull(scalar)
	}
	var all Gradients
	for i, tap := range t.taps {
		of := make([][]layer.Factors, len(scalars)) // [d][parameter]
		for c := range scalars {
			of[c] = tap.layer.Factors(tap.input, pulled[c][i])
		}
		for p, first := range of[0] {
			values := make([]*graph.Node, len(of))
			for c := range of {
				values[c] = of[c][p].Gradients
			}
			all = append(all, part(first.Inputs, values))
		}
	}
	return all
}

// Columns are the sums over examples of each number of Output, [n, d]: scalars whose
// gradients are the rows of each example's Jacobian.
func (t *Trace) Columns() []*graph.Node {
	sums := make([]*graph.Node, t.Output.Shape().Dimensions[1])
	for c := range sums {
		sums[c] = graph.ReduceAllSum(graph.SliceAxis(t.Output, 1, graph.AxisElem(c)))
	}
	return sums
}

// part joins d gradients, [n, T, out] each, that share their inputs, [n, T, in] or nil
// for ones. They are multiplied out one by one: to put their values side by side for one
// product takes longer than the products. Ones are multiplied too, because XLA's sums along
// an axis that is not the last take several times as long on a CPU.
func part(inputs *graph.Node, values []*graph.Node) Part {
	n, positions, out := dimensions3(values[0])
	if inputs == nil {
		inputs = graph.Ones(values[0].Graph(), shapes.Make(values[0].DType(), n, positions, 1))
	}
	in := inputs.Shape().Dimensions[2]
	if in > 1 && (in*out > positions*(in+out) || positions == 1) {
		return Part{graph.Stack(values, 2), inputs}
	}
	products := make([]*graph.Node, len(values))
	for c, v := range values {
		products[c] = graph.Einsum("nto,nti->noi", v, inputs)
	}
	return Part{Values: graph.Stack(products, 1)}
}

func dimensions3(x *graph.Node) (a, b, c int) {
	shape := x.Shape().Dimensions
	return shape[0], shape[1], shape[2]
}

// Nodes are what the gradients consist of: what a graph has to return for Held to find
// them in another one.
func (g Gradients) Nodes() (nodes []*graph.Node) {
	for _, p := range g {
		nodes = append(nodes, p.Values)
		if p.Inputs != nil {
			nodes = append(nodes, p.Inputs)
		}
	}
	return nodes
}

// Held are the gradients that consist of nodes, as Nodes has listed them.
func Held(nodes []*graph.Node) (g Gradients) {
	for _, node := range nodes {
		if node.Rank() == 3 {
			g[len(g)-1].Inputs = node
			continue
		}
		g = append(g, Part{Values: node})
	}
	return g
}

// axis is that of Values along which the d gradients are.
func (p Part) axis() int {
	if p.Inputs == nil {
		return 1
	}
	return 2
}

// Count is d.
func (p Part) Count() int { return p.Values.Shape().Dimensions[p.axis()] }

// Positions reports whether a sum has terms for each position, which may cancel in the
// gradient of an example: gram says what that costs.
func (g Gradients) Positions() bool {
	return slices.ContainsFunc(g, func(p Part) bool { return p.Inputs != nil && p.Inputs.Shape().Dimensions[1] > 1 })
}

// Sum adds up over examples and their d gradients, each of them times a weight, [n, d] in
// double precision: one vector by all parameters, likewise. An example whose weights are
// all 0 counts nothing, whatever its gradients are. Its own add up first: those of others
// are not rounded to what cancels between them.
func (g Gradients) Sum(weight *graph.Node) *graph.Node {
	n, d := weight.Shape().Dimensions[0], weight.Shape().Dimensions[1]
	counts := graph.GreaterThan(graph.ReduceMax(graph.Abs(weight), 1), graph.ScalarZero(weight.Graph(), weight.DType())) // [n]
	counting := func(x *graph.Node) *graph.Node {
		x = wide(x)
		rows := graph.BroadcastToShape(widen(counts, x), shapes.Make(dtypes.Bool, x.Shape().Dimensions...))
		return graph.Where(rows, x, graph.ZerosLike(x))
	}
	sums := make([]*graph.Node, len(g))
	for i, p := range g {
		values := counting(p.Values)
		if p.Inputs == nil {
			shape := p.Values.Shape().Dimensions
			values = graph.ReduceSum(graph.Mul(values, graph.Reshape(weight, n, d, 1, 1)), 1)
			sums[i] = graph.Einsum("s,sp->p", graph.Ones(values.Graph(), shapes.Make(values.DType(), n)), graph.Reshape(values, n, -1))
			sums[i] = graph.Transpose(graph.Reshape(sums[i], shape[2], shape[3]), 0, 1)
		} else {
			_, positions, in := dimensions3(p.Inputs)
			values = graph.ReduceSum(graph.Mul(values, graph.Reshape(weight, n, 1, d, 1)), 2)
			sums[i] = graph.Einsum("si,so->io", graph.Reshape(counting(p.Inputs), n*positions, in), graph.Reshape(values, n*positions, -1))
		}
		sums[i] = graph.Reshape(sums[i], -1)
	}
	return graph.Concatenate(sums, 0)
}
