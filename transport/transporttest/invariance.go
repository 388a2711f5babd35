package transporttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

// same returns an error unless r has the given value, plan and gradients, within
// the tolerance of problem p. A nil slice is not looked at.
func (e Sinkhorn) same(p sinkhorn.Problem, r *Solution, value float64, plan, byX, byY []float64) error {
	err := near("the value", r.Value, value, 3*e.Tolerance.Value*scaleOf(p))
	if plan != nil && !e.lacks(Plans) {
		err = errors.Join(err, nearSum("the plan", r.Plan, plan, 3*e.Tolerance.Plan))
	}
	if !e.lacks(Gradients) {
		if byX != nil {
			err = errors.Join(err, nearNorm("the gradient by x", r.ByX, byX, 3*e.Tolerance.Gradient, 0.1))
		}
		if byY != nil {
			err = errors.Join(err, nearNorm("the gradient by y", r.ByY, byY, 3*e.Tolerance.Gradient, 0.1))
		}
	}
	return err
}

// again solves p and returns an error unless that has the given solution.
func (e Sinkhorn) again(p sinkhorn.Problem, s sinkhorn.Solver, value float64, plan, byX, byY []float64) error {
	r, err := e.solve(p, s)
	if err != nil {
		return err
	}
	return e.same(p, r, value, plan, byX, byY)
}

// symmetry: OT_ε(y, x) = OT_ε(x, y) with the plan transposed, for costs that do
// not mind the order.
func symmetry(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		back := sinkhorn.Problem{X: p.Y, Y: p.X, Cost: p.Cost}
		return e.again(back, s, r.Value, transposed(r.Plan, p.X.Len(), p.Y.Len()), r.ByY, r.ByX)
	})
}

// orderOfPoints: the order of points is none of the measure's.
func orderOfPoints(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		rng := rand.New(rand.NewPCG(6, 1))
		n, m := p.X.Len(), p.Y.Len()
		rows, columns := rng.Perm(n), rng.Perm(m)
		q := sinkhorn.Problem{
			X:    transport.Measure{Points: p.X.Subset(rows), Weights: reordered(p.X.Weights, 1, rows)},
			Y:    transport.Measure{Points: p.Y.Subset(columns), Weights: reordered(p.Y.Weights, 1, columns)},
			Cost: p.Cost,
		}
		plan := transposed(reordered(transposed(reordered(r.Plan, m, rows), n, m), n, columns), m, n)
		return e.again(q, s, r.Value, plan, reordered(r.ByX, 2, rows), reordered(r.ByY, 2, columns))
	})
}

// scaledCost: with the cost λ·c and λ·ε the value is λ times as large and the
// plan the same.
func scaledCost(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		mixture, ok := p.Cost.(sinkhorn.Mixture)
		if !ok {
			return nil // L2: see scaledPoints
		}
		const lambda = 7.5
		p.Cost = sinkhorn.Mixture{Squared: lambda * mixture.Squared, Absolute: lambda * mixture.Absolute}
		s.Epsilon *= lambda
		return e.again(p, s, lambda*r.Value, r.Plan, scaled(r.ByX, lambda), scaled(r.ByY, lambda))
	})
}

// scaledPoints: points times t make the costs L1 and L2 t times, the squared one
// t² times as large.
func scaledPoints(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		const t = 4
		factor := float64(t)
		switch p.Cost {
		case sinkhorn.SquaredL2:
			factor = t * t
		case sinkhorn.L1, sinkhorn.L2:
		default:
			return nil
		}
		p.X.Points, p.Y.Points = times(p.X.Points, t), times(p.Y.Points, t)
		s.Epsilon *= factor
		return e.again(p, s, factor*r.Value, r.Plan, scaled(r.ByX, factor/t), scaled(r.ByY, factor/t))
	})
}

// scaledWeights: of weights only their ratios matter.
func scaledWeights(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		p.X.Weights, p.Y.Weights = scaled(p.X.Shares(), 1e-3), scaled(p.Y.Shares(), 256)
		return e.again(p, s, r.Value, r.Plan, r.ByX, r.ByY)
	})
}

// movedTogether: costs of x − y do not see where the two are.
func movedTogether(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		p.X.Points, p.Y.Points = shifted(p.X.Points, 16, -3), shifted(p.Y.Points, 16, -3)
		return e.again(p, s, r.Value, r.Plan, r.ByX, r.ByY)
	})
}

// concaveInCost: OT_ε is the least of functions linear in the cost and ε, so it
// is concave in them: OT_2ε(c + d) ≥ OT_ε(c) + OT_ε(d).
func concaveInCost(e Sinkhorn) error {
	in := e.instances()
	p := in[len(in)-1].Problem
	s := e.solver(p, 0.05)
	value := func(cost sinkhorn.Cost, epsilon float64) (float64, error) {
		q := sinkhorn.Problem{X: p.X, Y: p.Y, Cost: cost}
		r, err := e.solve(q, e.solverAt(q, epsilon))
		if err != nil {
			return 0, err
		}
		return r.Value, nil
	}
	both, err1 := value(sinkhorn.Mixture{Squared: 1, Absolute: 2}, 2*s.Epsilon)
	squared, err2 := value(sinkhorn.SquaredL2, s.Epsilon)
	absolute, err3 := value(sinkhorn.Mixture{Absolute: 2}, s.Epsilon)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if both < squared+absolute-3*e.Tolerance.Value*scaleOf(p) {
		return fmt.Errorf("the sum of costs has value %v, less than %v + %v", both, squared, absolute)
	}
	return nil
}

// ownCost: a function of one's own that says what a cost of the package does
// gives the same solution.
func ownCost(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		cost := p.Cost
		p.Cost = sinkhorn.Func{
			Value: cost.At,
			Slopes: func(dx, dy []float64, x, y []float32, weight float64) {
				if dx != nil {
					cost.ByX(dx, x, y, weight)
				}
				if dy != nil {
					cost.ByY(dy, x, y, weight)
				}
			},
		}
		return e.again(p, s, r.Value, r.Plan, r.ByX, r.ByY)
	})
}

// splitAtom: two atoms in one place are one atom with the sum of their weights.
func splitAtom(e Sinkhorn) error {
	p := e.weighted()
	n, m := p.X.Len(), p.Y.Len()
	p.X.Points = p.X.Clone()
	copy(p.X.Row(n-1), p.X.Row(n-2))
	s := e.solver(p, 0.05)
	var first *Solution
	for _, share := range []float64{0.5, 0.25, 0.9375} {
		q := p
		q.X.Weights = slices.Clone(p.X.Weights)
		q.X.Weights[n-2], q.X.Weights[n-1] = share, 1-share
		r, err := e.solve(q, s)
		if err != nil {
			return err
		}
		// The atom's rows, added up.
		for j := range m {
			r.Plan[(n-2)*m+j] += r.Plan[(n-1)*m+j]
		}
		r.Plan = r.Plan[:(n-1)*m]
		if first == nil {
			first = r
			continue
		}
		err = errors.Join(
			near("the value", r.Value, first.Value, 3*e.Tolerance.Value*scaleOf(p)),
			nearSum("the plan", r.Plan, first.Plan, 3*e.Tolerance.Plan))
		if err != nil {
			return fmt.Errorf("split %v to %v: %w", share, 1-share, err)
		}
	}
	return nil
}

// weightless: an atom of weight 0 is none. It has no row in the plan and no
// gradient, wherever it lies.
func weightless(e Sinkhorn) error {
	p := e.weighted()
	n, m := p.X.Len(), p.Y.Len()
	p.X.Points = p.X.Clone()
	p.X.Weights = slices.Clone(p.X.Weights)
	p.X.Weights[n-1] = 0
	s := e.solver(p, 0.05)

	without := p
	without.X = transport.Measure{Points: transport.Points{Dim: 2, Data: p.X.Data[:2*(n-1)]}, Weights: p.X.Weights[:n-1]}
	want, err := e.solve(without, s)
	if err != nil {
		return err
	}
	plan := append(slices.Clone(want.Plan), make([]float64, m)...)
	byX := append(slices.Clone(want.ByX), 0, 0)
	for _, place := range [][]float32{{0, 0}, {50, -50}} {
		copy(p.X.Row(n-1), place)
		r, err := e.solve(p, s)
		if err == nil {
			// The law's own scale: a far atom widens no tolerance.
			err = e.same(without, r, want.Value, plan, byX, want.ByY)
		}
		if err != nil {
			return fmt.Errorf("the atom at %v: %w", place, err)
		}
	}
	return nil
}

// weighted is the instance with weights.
func (e Sinkhorn) weighted() sinkhorn.Problem {
	for _, in := range e.instances() {
		if in.name == "weights" {
			return in.Problem
		}
	}
	panic("transporttest: a law of weights needs the feature Weights")
}
