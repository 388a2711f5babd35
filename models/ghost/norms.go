package ghost

import (
	"math"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// Norms are of gradients of examples, as float32 found them.
type Norms struct {
	// Products are inner products of an example's gradients: of d gradients each,
	// [n, d] squared norms, or [n, d, d] all of them (their Gram matrix).
	Products *graph.Node
	// Rounding bounds, for each gradient, how far the one that Products speak of may
	// be from the one that it should be, [n, d]: a true norm is at most
	// √Products + Rounding. It counts how products and sums of activations and
	// their gradients are rounded, whatever cancels in them, but not how those came
	// about.
	Rounding *graph.Node
}

// LossNorms is of the gradient of each loss, [n], by all parameters of the trace: d is
// 1. Loss i depends on row i alone.
func (t *Trace) LossNorms(losses *graph.Node) Norms {
	return t.norms([]*graph.Node{graph.ReduceAllSum(losses)}, false)
}

// RowNorms is of the d rows of each example's Jacobian of Output, [n, d], by all
// parameters of the trace.
func (t *Trace) RowNorms() Norms { return t.norms(t.columns(), false) }

// RowProducts is RowNorms with all products of an example's rows, J_i·J_iᵀ.
func (t *Trace) RowProducts() Norms { return t.norms(t.columns(), true) }

// columns are the sums over examples of each number of the output.
func (t *Trace) columns() []*graph.Node {
	sums := make([]*graph.Node, t.Output.Shape().Dimensions[1])
	for c := range sums {
		sums[c] = graph.ReduceAllSum(graph.SliceAxis(t.Output, 1, graph.AxisElem(c)))
	}
	return sums
}

func (t *Trace) norms(sums []*graph.Node, all bool) Norms {
	pulled := make([][]*graph.Node, len(sums))
	for c, sum := range sums {
		pulled[c] = t.pull(sum)
	}
	var total Norms
	for i, tap := range t.taps {
		var gradients [][]layer.Factors // [d][parameter]
		for c := range sums {
			gradients = append(gradients, tap.layer.Factors(tap.input, pulled[c][i]))
		}
		for p := range gradients[0] {
			of := make([]layer.Factors, len(sums))
			for c := range sums {
				of[c] = gradients[c][p]
			}
			part := norms(of, all)
			part.Rounding = graph.Square(part.Rounding)
			if total.Products == nil {
				total = part
				continue
			}
			total.Products = graph.Add(total.Products, part.Products)
			total.Rounding = graph.Add(total.Rounding, part.Rounding)
		}
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

// norms is of d gradients of n examples by one parameter, in factors that share their
// inputs.
//
// An example's reach bounds its gradient whatever cancels in the sum over positions.
// Sums of m products, in any order, are off by less than (m+1)·u of the sum of their
// sizes (Higham 2002, 3.1), u the unit of rounding. So a gradient that is multiplied
// out is off by (T+1)·u times its reach; and products of vectors of s numbers go into a
// norm with half of (s+1)·u of it.
func norms(of []layer.Factors, all bool) Norms {
	g, a := of[0].Gradients, of[0].Inputs
	u, positions, in, out := unit(g), g.Shape().Dimensions[1], 1, g.Shape().Dimensions[2]
	if a != nil {
		in = a.Shape().Dimensions[2]
	}
	vectors := make([]*graph.Node, len(of)) // [n, s]
	if a != nil && positions == 1 {
		// ‖a·gᵀ‖ = ‖a‖·‖g‖: nothing cancels.
		size := graph.ReduceSum(graph.Square(a), 1, 2) // [n]
		for c, f := range of {
			vectors[c] = graph.Reshape(f.Gradients, -1, out)
		}
		found := products(vectors, all, float64(in+out+3)*u)
		return Norms{graph.Mul(found.Products, widen(size, found.Products)), graph.Mul(found.Rounding, widen(graph.Sqrt(size), found.Rounding))}
	}
	if a != nil && in*out > positions*(in+out) {
		return gram(of, all, u)
	}
	// Multiplied out a gradient has no more numbers than its factors. All d at once take
	// little longer than one, as products of small matrices go.
	for c, f := range of {
		vectors[c] = f.Gradients
	}
	if a == nil {
		for c := range vectors {
			vectors[c] = graph.ReduceSum(vectors[c], 1)
		}
	} else {
		joint := graph.Reshape(graph.Einsum("nti,nto->nio", a, graph.Concatenate(vectors, 2)), -1, in, len(of), out)
		for c := range vectors {
			vectors[c] = graph.Reshape(graph.SliceAxis(joint, 2, graph.AxisElem(c)), -1, in*out)
		}
	}
	found := products(vectors, all, float64(in*out+1)*u)
	found.Rounding = graph.Add(found.Rounding, graph.MulScalar(reach(of), float64(positions+1)*u))
	return found
}

// reach returns the reaches of d gradients, [n, d].
func reach(of []layer.Factors) *graph.Node {
	each := make([]*graph.Node, len(of))
	for c, f := range of {
		each[c] = f.Reach
	}
	return graph.Stack(each, 1)
}

// products returns norms of vectors, d of [n, s], whose sums are off by a relative
// error. It multiplies number by number: of the few and long vectors here a matrix
// product would take copies.
func products(vectors []*graph.Node, all bool, relative float64) Norms {
	product := func(c, e int) *graph.Node { return graph.ReduceSum(graph.Mul(vectors[c], vectors[e]), 1) }
	squares := make([]*graph.Node, len(vectors))
	for c := range vectors {
		squares[c] = product(c, c)
	}
	lengths := graph.Stack(squares, 1)
	found := Norms{lengths, graph.MulScalar(graph.Sqrt(lengths), relative/2)}
	if all {
		found.Products = table(len(vectors), product)
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
// Here it is the square that is off, by a share of the squared reach: a norm that
// cancels to nothing is only known to the root of that.
func gram(of []layer.Factors, all bool, u float64) Norms {
	a := of[0].Inputs
	positions := a.Shape().Dimensions[1]
	inputs := graph.Einsum("nsi,nti->nst", a, a)
	product := func(c, e int) *graph.Node { // [n]
		gradients := graph.Einsum("nso,nto->nst", of[c].Gradients, of[e].Gradients)
		return graph.ReduceSum(graph.Mul(inputs, gradients), 1, 2)
	}
	relative := float64(positions*positions+a.Shape().Dimensions[2]+of[0].Gradients.Shape().Dimensions[2]+3) * u
	squares := make([]*graph.Node, len(of))
	for c := range of {
		squares[c] = product(c, c)
	}
	found := Norms{graph.MaxScalar(graph.Stack(squares, 1), 0), graph.MulScalar(reach(of), math.Sqrt(relative))}
	if all {
		found.Products = table(len(of), product)
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
