package ghost

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Norms are of gradients of examples, in double precision.
type Norms struct {
	// Products are inner products of an example's gradients: of d gradients each,
	// [n, d] squared norms, or [n, d, d] all of them (their Gram matrix).
	Products *graph.Node
	// Rounding, [n, d], bounds how far these are off: the product of gradients c and e
	// by at most Rounding_c·Rounding_e. So a norm is at most √Products + Rounding, and
	// the error of a Gram matrix at most ΣRounding² in spectral norm.
	Rounding *graph.Node
}

// Norms are those of each gradient by all parameters together, or of an example's all
// products. They bound what is held if they are found in a graph that is given that: in
// the graph that makes it, a compiler may compute it twice, and round it in two ways.
func (g Gradients) Norms(all bool) Norms {
	var total Norms
	for _, p := range g {
		of := p.norms(all)
		of.Rounding = graph.Square(of.Rounding)
		if total.Products == nil {
			total = of
			continue
		}
		total.Products = graph.Add(total.Products, of.Products)
		total.Rounding = graph.Add(total.Rounding, of.Rounding)
	}
	total.Rounding = graph.Sqrt(total.Rounding)
	return total
}

// Most is how many examples a sum (Gradients.Sum) may be of, for what Rounding says to cover
// what it loses, too.
const Most = 4096

// spare is by how much Rounding is larger for that, of gradients in several factors (gram).
const spare = 512

// unit is the largest relative error of an operation in double precision.
const unit = 0x1p-53

func wide(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float64) }

// norms is of d gradients of n examples by one parameter.
//
// Products of two numbers of single precision are exact here, and far from where doubles
// end. Sums of m terms, in any order, are off by less than (m+1)·u of the sum of their
// sizes (Higham 2002, 3.1), and these by no more than the product of two lengths.
func (p Part) norms(all bool) Norms {
	shape := p.Values.Shape().Dimensions
	if p.Inputs == nil {
		return p.lengths(all, float64(shape[2]*shape[3]+3)*unit)
	}
	in, out := p.Inputs.Shape().Dimensions[2], shape[3]
	if positions := shape[1]; positions > 1 {
		return p.gram(all, float64(positions*positions+in+out+6)*unit)
	}
	// ⟨a·gᵀ, a·g′ᵀ⟩ = ‖a‖²·⟨g, g′⟩
	size := graph.ReduceSum(graph.Square(wide(p.Inputs)), 1, 2) // [n]
	found := p.lengths(all, float64(in+out+6)*unit)
	return Norms{graph.Mul(found.Products, widen(size, found.Products)), graph.Mul(found.Rounding, widen(graph.Sqrt(size), found.Rounding))}
}

// lengths returns norms of the values of each gradient, whose products are off by a
// share of their lengths. Where all products are found, squares are among them.
func (p Part) lengths(all bool, relative float64) (found Norms) {
	n, d := p.Values.Shape().Dimensions[0], p.Count()
	values := wide(graph.Reshape(p.Values, n, d, -1))
	var squares *graph.Node // [n, d]
	if all {
		found.Products = graph.Einsum("nca,nea->nce", values, values)
		diagonal := graph.BroadcastToShape(graph.ExpandLeftToRank(graph.Diagonal(values.Graph(), d), 3), shapes.Make(dtypes.Bool, n, d, d))
		squares = graph.ReduceSum(graph.Where(diagonal, found.Products, graph.ZerosLike(found.Products)), 2)
	} else {
		squares = graph.ReduceSum(graph.Square(values), 2)
		found.Products = squares
	}
	found.Rounding = graph.MulScalar(graph.Sqrt(squares), math.Sqrt(relative))
	return found
}

// gram returns norms by inner products of positions, which are fewer than the numbers
// of a gradient:
//
//	⟨∇, ∇′⟩ = Σ_{s,t} ⟨a_s, a_t⟩·⟨g_s, g′_t⟩
//
// They are off by a share of the gradients' reaches, (Σ_t ‖a_t‖²·Σ_t ‖g_t‖²)^½, whatever
// cancels: a norm that cancels to nothing is only known to the root of that. Rounding is
// spare times as much. Clipped with that to C, an example's reach is C/(spare·T·√u) at most,
// and a sum over n of them is off by n²·C·√u/spare: less than 2⁻¹⁰ of C up to Most.
func (p Part) gram(all bool, relative float64) Norms {
	a, d := wide(p.Inputs), p.Count()
	inputs := graph.Einsum("nsi,nti->nst", a, a)
	values, reach := make([]*graph.Node, d), make([]*graph.Node, d) // [n, T, out], [n]
	for c := range values {
		values[c] = wide(graph.Squeeze(graph.SliceAxis(p.Values, p.axis(), graph.AxisElem(c)), p.axis()))
		reach[c] = graph.ReduceSum(graph.Square(values[c]), 1, 2)
	}
	product := func(c, e int) *graph.Node { // [n]
		return graph.ReduceSum(graph.Mul(inputs, graph.Einsum("nso,nto->nst", values[c], values[e])), 1, 2)
	}
	size := graph.ReduceSum(graph.Square(a), 1, 2)
	reaches := graph.Sqrt(graph.Mul(graph.Stack(reach, 1), graph.InsertAxes(size, -1)))
	found := Norms{Rounding: graph.MulScalar(reaches, spare*math.Sqrt(relative))}
	if all {
		found.Products = table(d, product)
		return found
	}
	squares := make([]*graph.Node, d)
	for c := range squares {
		squares[c] = product(c, c)
	}
	found.Products = graph.Stack(squares, 1)
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

// widen repeats x, [n], along what else like has.
func widen(x, like *graph.Node) *graph.Node {
	for x.Rank() < like.Rank() {
		x = graph.InsertAxes(x, -1)
	}
	return x
}
