package graph

import . "github.com/gomlx/gomlx/core/graph"

// evaluation is what potentials are worth, all of [batch...].
type evaluation struct{ value, transport, plan, err *Node }

// evaluate computes the dual objective, live in c, a and b:
//
//	⟨a, φ(f)⟩ + ⟨b, φ(g)⟩ − ε·Σ (P − a⊗b),  φ(f) = f, or ρ·(1 − exp(−f/ρ)) unbalanced
//
// With f and g constant its derivative by C is P, the envelope theorem's. By a_i
// it is f_i plus the same for all i (balanced; weights are divided by their sum,
// which removes it).
func (t transportation) evaluate(f, g *Node) evaluation {
	exponents := Div(Sub(Add(InsertAxes(f, -1), InsertAxes(g, -2)), t.c), t.epsilon)
	product := Mul(InsertAxes(t.a, -1), InsertAxes(t.b, -2))
	live := Mul(Exp(exponents), product)
	plan := StopGradient(live)
	a, b := StopGradient(t.a), StopGradient(t.b)
	size := number(f, 1)
	if t.unbalanced {
		size = MulScalar(Add(ReduceSum(a, -1), ReduceSum(b, -1)), 0.5)
	}
	fa, gb := f, g
	if t.unbalanced {
		fa, gb = StopGradient(t.conjugate(f)), StopGradient(t.conjugate(g))
		a, b = Mul(a, Exp(Neg(Div(f, t.reach)))), Mul(b, Exp(Neg(Div(g, t.reach))))
	}
	dual := Add(ReduceSum(Mul(t.a, fa), -1), ReduceSum(Mul(t.b, gb), -1))
	// Its gradient is that of P − a⊗b. Its value is of what exponentials differ from
	// 1 by, of which a large ε leaves nothing in a difference.
	excess := ReduceSum(Sub(live, product), -1, -2)
	exact := ReduceSum(Mul(product, Expm1(exponents)), -1, -2)
	excess = Add(StopGradient(exact), Sub(excess, StopGradient(excess)))
	rows := ReduceSum(Abs(Sub(ReduceSum(plan, -1), a)), -1)
	columns := ReduceSum(Abs(Sub(ReduceSum(plan, -2), b)), -1)
	return evaluation{
		value:     Sub(dual, Mul(t.epsilon, excess)),
		transport: ReduceSum(Mul(plan, t.c), -1, -2),
		plan:      plan,
		err:       Div(Add(rows, columns), size),
	}
}

// conjugate returns ρ·(1 − exp(−f/ρ)).
func (t transportation) conjugate(f *Node) *Node {
	return Neg(Mul(t.reach, Expm1(Neg(Div(f, t.reach)))))
}
