package ghost

import (
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Norms are of gradients of examples, as float32 found them.
type Norms struct {
	// Products are inner products of an example's gradients: of d gradients each,
	// [n, d] squared norms, or [n, d, d] all of them (their Gram matrix).
	Products *graph.Node
	// Rounding bounds, for each gradient, how far the norm of the one that is held may
	// be above √Products, [n, d]. It counts all that float32 loses from the held
	// numbers on, whatever cancels.
	Rounding *graph.Node
}

// Norms are those of each gradient by all parameters together, or of an example's all
// products. They bound what is held if they are found in a graph that is given that: in
// the graph that makes it, a compiler may compute it twice, and round it in two ways.
func (g Gradients) Norms(all bool) Norms {
	var total Norms
	for _, p := range g {
		part := p.norms(all)
		part.Rounding = graph.Square(part.Rounding)
		if total.Products == nil {
			total = part
			continue
		}
		total.Products = graph.Add(total.Products, part.Products)
		total.Rounding = graph.Add(total.Rounding, part.Rounding)
	}
	total.Rounding = graph.Sqrt(total.Rounding)
	return total
}

// unit returns the largest relative error of an operation on the backend of x. GPUs
// multiply matrices of float32 in fewer digits (TensorFloat-32) unless told otherwise,
// and nobody here tells them.
func unit(x *graph.Node) float64 {
	on := strings.ToLower(x.Graph().Backend().Description())
	if strings.Contains(on, "cuda") || strings.Contains(on, "gpu") || strings.Contains(on, "rocm") {
		return 0x1p-11
	}
	return 0x1p-24
}

// norms is of d gradients of n examples by one parameter.
//
// Sums of m products, in any order, are off by less than (m+1)·u of the sum of their
// sizes (Higham 2002, 3.1), u the unit of rounding, which goes into a root with half of
// that.
func (p Part) norms(all bool) Norms {
	u, shape := unit(p.Values), p.Values.Shape().Dimensions
	if p.Inputs == nil {
		return p.lengths(all, float64(shape[2]*shape[3]+1)*u)
	}
	if positions, out := shape[1], shape[3]; positions == 1 {
		// ‖a·gᵀ‖ = ‖a‖·‖g‖: nothing cancels.
		size := graph.ReduceSum(graph.Square(p.Inputs), 1, 2) // [n]
		found := p.lengths(all, float64(p.Inputs.Shape().Dimensions[2]+out+3)*u)
		return Norms{graph.Mul(found.Products, widen(size, found.Products)), graph.Mul(found.Rounding, widen(graph.Sqrt(size), found.Rounding))}
	}
	return gram(p.Inputs, p.each(), all, u)
}

// each are the values of each of the d gradients, [n, …].
func (p Part) each() []*graph.Node {
	values := make([]*graph.Node, p.Count())
	for c := range values {
		values[c] = graph.Squeeze(graph.SliceAxis(p.Values, p.axis(), graph.AxisElem(c)), p.axis())
	}
	return values
}

// lengths returns norms of the values of each gradient, whose sums are off by a relative
// error. All their products are found where squares would do, too: a product of matrices
// is several times faster on the CPU than as many sums as it has numbers.
func (p Part) lengths(all bool, relative float64) Norms {
	n, d := p.Values.Shape().Dimensions[0], p.Count()
	values := graph.Reshape(p.Values, n, d, -1)
	gram := graph.Einsum("nca,nea->nce", values, values)
	diagonal := graph.BroadcastToShape(graph.ExpandLeftToRank(graph.Diagonal(gram.Graph(), d), 3), shapes.Make(dtypes.Bool, n, d, d))
	squares := graph.ReduceSum(graph.Where(diagonal, gram, graph.ZerosLike(gram)), 2) // [n, d]
	found := Norms{squares, graph.MulScalar(graph.Sqrt(squares), relative)}
	if all {
		found.Products = gram
	}
	return found
}

// table builds [n, d, d] from products, [n], which are symmetric.
func table(d int, product func(c, e int) *graph.Node) *graph.Node {
	entries := make([]*graph.Node, d*d)
	for c := range d {
		for e := c; e < d; e++ {
			entries[c*d+e] = product(c, e)
			entries[e*d+c] = entries[c*d+e]
		}
	}
	flat := graph.Stack(entries, 1)
	return graph.Reshape(flat, -1, d, d)
}

// gram returns norms by inner products of positions, which are fewer than the numbers
// of a gradient:
//
//	⟨∇, ∇′⟩ = Σ_{s,t} ⟨a_s, a_t⟩·⟨g_s, g′_t⟩
//
// Here it is the square that is off, by a share of the squared reach,
// (Σ_t ‖a_t‖²)·(Σ_t ‖g_t‖²), which bounds it whatever cancels: a norm that cancels to
// nothing is only known to the root of that.
func gram(a *graph.Node, vectors []*graph.Node, all bool, u float64) Norms {
	_, positions, in := dimensions3(a)
	inputs := graph.Einsum("nsi,nti->nst", a, a)
	product := func(c, e int) *graph.Node { // [n]
		gradients := graph.Einsum("nso,nto->nst", vectors[c], vectors[e])
		return graph.ReduceSum(graph.Mul(inputs, gradients), 1, 2)
	}
	relative := float64(positions*positions+in+vectors[0].Shape().Dimensions[2]+3) * u
	size := graph.ReduceSum(graph.Square(a), 1, 2)
	squares, reach := make([]*graph.Node, len(vectors)), make([]*graph.Node, len(vectors))
	for c, g := range vectors {
		squares[c] = product(c, c)
		reach[c] = graph.Sqrt(graph.Mul(size, graph.ReduceSum(graph.Square(g), 1, 2)))
	}
	found := Norms{graph.MaxScalar(graph.Stack(squares, 1), 0), graph.MulScalar(graph.Stack(reach, 1), math.Sqrt(relative))}
	if all {
		found.Products = table(len(vectors), product)
	}
	return found
}

// widen repeats x, [n], along what else like has.
func widen(x, like *graph.Node) *graph.Node {
	for x.Rank() < like.Rank() {
		x = graph.InsertAxes(x, -1)
	}
	return x
}
