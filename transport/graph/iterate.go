package graph

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// transportation is a batch of problems in terms of their costs.
type transportation struct {
	settings
	c            *Node // [batch, n, m]
	a, b         *Node // [batch, n] and [batch, m]
	zeroA, zeroB *Node // where weights are 0; nil: nowhere
	same         bool  // c is symmetric and a = b, so f = g
}

// iterate returns potentials f and g, constants of the gradient, and the number
// of full iterations made.
//
// A block of iterations scales one kernel
//
//	K_ij = exp((f_i + g_j − C_ij)/ε)
//
// as Sinkhorn & Knopp did, v ← 1/Kᵀ(a∘u), u ← 1/K(b∘v), which are products of a
// matrix and a vector and take no exponential, and then moves the scalings into
// the potentials, f ← f + ε·log u (Schmitzer 2019, "absorption"). What makes this
// stable at any ε:
//
//   - The first potentials are f_i = min_j C_ij and g_j = min_i (C_ij − f_i), so
//     that every row and every column of the first kernel has an entry 1 and none
//     above it.
//   - Scalings are kept within 1e±12. The dual is concave in each of them, so a
//     step cut short still climbs, and the next block goes on from there. After a
//     block each row sums to 1 and each column to 1e-24 or more: none vanishes.
//   - ε falls by a factor of 4 at most: entries of a solution's kernel, which are
//     below 1/a_i, stay below 1/a_i⁴.
func (t transportation) iterate(startF, startG *Node) (f, g, iterations *Node) {
	c, a, b := StopGradient(t.c), StopGradient(t.a), StopGradient(t.b)
	dtype, count := c.DType(), c.Shape().Dimensions[0]
	each := func(v *Node) *Node { return BroadcastToDims(v, count, 1) } // of the batch
	made, open, epsilon := 0, each(ScalarOne(c.Graph(), dtype)), each(t.epsilon)
	if startF == nil && startG == nil {
		f, g = t.minima(c)
		top := DivScalar(Reshape(ReduceMax(c, 1, 2), count, 1), 16)
		gradually := each(NotEqual(t.scaling, OnesLike(t.scaling)))
		epsilon = Where(gradually, Max(epsilon, top), epsilon)
	} else {
		f, g = t.resume(c, a, b, startF, startG)
		made = 1
		far := GreaterThan(StopGradient(t.evaluate(f, g).err), t.tolerance)
		open = Reshape(ConvertDType(far, dtype), count, 1)
	}
	constants := []*Node{c, a, b, t.epsilon, t.reach, t.tolerance, t.scaling, t.iterations}
	state := []*Node{f, g, Scalar(c.Graph(), dtypes.Int32, made), epsilon, open, GreaterThan(ReduceAllMax(open), ScalarZero(c.Graph(), dtype))}
	out := while(constants, state,
		func(constant, state []*Node) *Node {
			if t.fixed > 0 {
				return LessThan(state[2], Const(state[2].Graph(), int32(t.fixed)))
			}
			return And(LessThan(state[2], constant[7]), state[5])
		},
		func(constant, state []*Node) []*Node {
			s := t // in terms of the loop's own nodes
			f, g, open := state[0], state[1], state[4]
			s.epsilon, s.reach, s.tolerance, s.iterations = state[3], constant[4], constant[5], constant[7]
			newF, newG, far := s.step(constant[0], constant[1], constant[2], f, g)
			falling := ConvertDType(GreaterThan(s.epsilon, BroadcastToShape(constant[3], s.epsilon.Shape())), c.DType())
			epsilon := Max(Mul(s.epsilon, constant[6]), constant[3])
			made := Add(state[2], Const(f.Graph(), int32(s.block)))
			// A problem that is solved stays as it is, while others go on: so each is
			// solved as it would be by itself, and tells nothing of the others.
			held := func(now, before *Node) *Node {
				zero := BroadcastToShape(number(now, 0), now.Shape())
				return Where(GreaterThan(Add(open, zero), zero), now, before)
			}
			still := Mul(open, Max(falling, far))
			count := DotGeneral(still, []int{0, 1}, nil, still, []int{0, 1}, nil)
			return []*Node{held(newF, f), held(newG, g), made, held(epsilon, s.epsilon), still, GreaterThan(count, number(count, 0))}
		})
	f, g = t.settle(c, a, b, out[0], out[1])
	if t.zeroA != nil || t.zeroB != nil {
		f, g = t.extend(c, a, b, f, g)
	}
	return StopGradient(f), StopGradient(g), out[2]
}

// step makes a block of iterations, at an ε for each problem, [batch, 1], and says which
// are to go on, 1 or 0. It is the body of a loop, where go-xla 0.4.1 has no reductions:
// sums are products.
func (t transportation) step(c, a, b, f, g *Node) (*Node, *Node, *Node) {
	k := Exp(Div(Sub(Add(InsertAxes(f, -1), InsertAxes(g, -2)), c), InsertAxes(t.epsilon, -1)))
	one := number(f, 1)
	u, v := BroadcastToShape(one, f.Shape()), BroadcastToShape(one, g.Shape())
	rows := func(v *Node) *Node { return DotGeneral(k, []int{2}, []int{0}, Mul(b, v), []int{1}, []int{0}) }
	columns := func(u *Node) *Node { return DotGeneral(Mul(a, u), []int{1}, []int{0}, k, []int{1}, []int{0}) }
	var miss *Node // [batch], the marginal error of f and g as they are after the block
	size := number(f, 1)
	if t.unbalanced {
		size = Mul(Add(mass(a, u), mass(b, v)), number(f, 0.5)) // u and v are 1 here
	}
	if t.same {
		inverse := t.inverse(f)
		for range t.block {
			// The mean of the old and the new potential: alternating would never
			// settle, and the mean converges faster than alternation does.
			u = bounded(Sqrt(Mul(u, inverse(rows(u)))))
		}
		v = u
		miss = mass(a, Sub(Mul(u, rows(u)), t.density(f, u)))
		miss = Add(miss, miss)
	} else {
		byF, byG := t.inverse(f), t.inverse(g)
		for range t.block {
			v = bounded(byG(columns(u)))
			u = bounded(byF(rows(v)))
		}
		miss = mass(b, Sub(Mul(v, columns(u)), t.density(g, v)))
	}
	f, g = Add(f, Mul(t.epsilon, Log(u))), Add(g, Mul(t.epsilon, Log(v)))
	if t.unbalanced && !t.same {
		var off *Node
		f, g, off = t.center(a, b, f, g)
		miss = Add(miss, off)
	}
	// Stop a little below the tolerance: MarginalError is computed afresh from
	// the potentials, with its own rounding.
	far := ConvertDType(GreaterThan(miss, Mul(Mul(t.tolerance, number(f, 0.8)), size)), c.DType())
	return f, g, InsertAxes(far, -1)
}

// center moves the constant between the potentials of unbalanced transport that
// is best for the dual, and returns how far the masses a∘exp(−f/ρ) and b∘exp(−g/ρ),
// which it makes equal, were apart. The plan stays as it is. Without it that constant
// alone takes of the order of ρ/ε iterations (Séjourné, Vialard & Peyré 2022).
func (t transportation) center(a, b, f, g *Node) (*Node, *Node, *Node) {
	sum := func(w, potential *Node) *Node {
		const farthest, least, most = 60, 1e-30, 1e30 // within single precision
		held := Exp(Min(Neg(Div(potential, t.reach)), number(f, farthest)))
		return Min(Max(mass(w, held), number(f, least)), number(f, most))
	}
	massA, massB := sum(a, f), sum(b, g)
	shift := Mul(Mul(t.reach, number(f, 0.5)), Log(Div(massA, massB)))
	shift = InsertAxes(shift, -1)
	return Add(f, shift), Sub(g, shift), Abs(Sub(massA, massB))
}

// density returns what the sums of the plan's rows are to be, over a, once u is
// absorbed: 1 or, unbalanced, exp(−(f + ε·log u)/ρ).
func (t transportation) density(f, u *Node) *Node {
	if !t.unbalanced {
		return number(f, 1)
	}
	return Exp(Neg(Div(Add(f, Mul(t.epsilon, Log(u))), t.reach)))
}

// inverse returns the map from sums of the kernel's rows (or columns) to their
// scalings: 1/r for balanced transport, else exp(−f/(ρ+ε))·r^{−ρ/(ρ+ε)}, where f
// is what the kernel holds already (Chizat et al. 2018, Section 5). A row that is
// too far from all others to be worth its cost may vanish: at r = 0 the scaling is
// as large as bounded lets it be, and settle finds the potential.
func (t transportation) inverse(f *Node) func(r *Node) *Node {
	if !t.unbalanced {
		return func(r *Node) *Node { return Div(number(r, 1), r) }
	}
	total := Add(t.reach, t.epsilon)
	held := Div(f, total)
	power := Div(t.reach, total)
	return func(r *Node) *Node { return Exp(Neg(Add(held, Mul(power, Log(r))))) }
}

// bounded keeps scalings within what single precision multiplies safely.
func bounded(u *Node) *Node {
	const limit = 1e12
	return Min(Max(u, number(u, 1/limit)), number(u, limit))
}

// number returns a scalar of the type of v. In a loop it takes the place of
// GoMLX's own (AddScalar, OnesLike, …), which are shared by the whole graph, so
// that the loop would capture those of outside, or the outside those of the loop.
func number(v *Node, value float64) *Node {
	return Const(v.Graph(), shapes.CastAsDType(value, v.DType()))
}

// mass returns Σ_i w_i·|v_i| of [batch, n], as a product.
func mass(w, v *Node) *Node {
	return DotGeneral(w, []int{1}, []int{0}, Abs(v), []int{1}, []int{0})
}

// minima returns the first potentials: those of the kernel's limit as ε → 0,
// among points that have weight.
func (t transportation) minima(c *Node) (f, g *Node) {
	f = ReduceMin(without(c, t.zeroB, -2), -1)
	if t.same {
		f = MulScalar(f, 0.5)
		return f, f
	}
	g = ReduceMin(without(Sub(c, InsertAxes(f, -1)), t.zeroA, -1), -2)
	return f, g
}

// without returns c with a cost above all others where zero holds, a mask of
// [batch, n] along the axis other than the one inserted.
func without(c, zero *Node, inserted int) *Node {
	if zero == nil {
		return c
	}
	far := AddScalar(MulScalar(ReduceAndKeep(Abs(c), ReduceMax, -1, -2), 4), 1)
	mask := BroadcastToShape(InsertAxes(zero, inserted), shapes.Make(dtypes.Bool, c.Shape().Dimensions...))
	return Where(mask, BroadcastToShape(far, c.Shape()), c)
}

// resume makes an iteration from given potentials with sums that no kernel
// underflows.
func (t transportation) resume(c, a, b, f, g *Node) (*Node, *Node) {
	if t.same {
		return t.settle(c, a, b, f, f)
	}
	if f == nil {
		f = t.soften(c, b, g, -2)
	}
	g = t.soften(c, a, f, -1)
	f = t.soften(c, b, g, -2)
	return f, g
}

// settle makes the last half of an iteration once more, at ε itself and with sums
// that nothing overflows. At a solution it changes nothing; where the limit cut
// the iterations short, at a larger ε perhaps, the kernel of the potentials could
// be infinite, and now its rows sum to 1.
func (t transportation) settle(c, a, b, f, g *Node) (*Node, *Node) {
	softened := t.soften(c, b, g, -2)
	if t.same {
		f = MulScalar(Add(f, softened), 0.5)
		return f, f
	}
	if t.unbalanced { // columns may have vanished, too
		g = t.soften(c, a, softened, -1)
		softened = t.soften(c, b, g, -2)
	}
	return softened, g
}

// extend gives points without weight the potentials that the others imply.
// Their own scalings mean nothing.
func (t transportation) extend(c, a, b, f, g *Node) (*Node, *Node) {
	// Those of the other side that have no weight take no part.
	if t.zeroB != nil {
		g = Where(t.zeroB, ZerosLike(g), g)
	}
	if t.zeroA != nil {
		f = Where(t.zeroA, t.soften(c, b, g, -2), f)
	}
	if t.zeroB != nil {
		g = Where(t.zeroB, t.soften(c, a, f, -1), g)
	}
	return f, g
}

// soften returns the potential opposite g, −λ·ε·log Σ_j b_j·exp((g_j − C_ij)/ε)
// with λ = 1 or, unbalanced, ρ/(ρ+ε). The axis of c that g does not have is
// inserted.
func (t transportation) soften(c, b, g *Node, inserted int) *Node {
	along := -3 - inserted // −1 for −2 and −2 for −1
	exponents := Div(Sub(InsertAxes(g, inserted), c), t.epsilon)
	largest := ReduceAndKeep(exponents, ReduceMax, along)
	sum := ReduceSum(Mul(InsertAxes(b, inserted), Exp(Sub(exponents, largest))), along)
	f := Neg(Mul(t.epsilon, Add(Squeeze(largest, along), Log(sum))))
	if t.unbalanced {
		f = Mul(f, Div(t.reach, Add(t.reach, t.epsilon)))
	}
	return f
}

// while loops over state as long as cond says. The constants go through the loop
// as state too, because go-xla's loops capture nothing.
func while(constants, state []*Node, cond func(constants, state []*Node) *Node, body func(constants, state []*Node) []*Node) []*Node {
	all := slices.Concat(constants, state)
	parameters := func(g *Graph) (constant, state []*Node) {
		nodes := make([]*Node, len(all))
		for i, v := range all {
			nodes[i] = Parameter(g, "", v.Shape())
		}
		return nodes[:len(constants)], nodes[len(constants):]
	}
	out := While(
		NewClosure(state[0].Graph(), func(g *Graph) []*Node {
			return []*Node{cond(parameters(g))}
		}),
		NewClosure(state[0].Graph(), func(g *Graph) []*Node {
			constant, state := parameters(g)
			return slices.Concat(constant, body(constant, state))
		}), all...)
	return out[len(constants):]
}
