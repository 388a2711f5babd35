package transporttest

import (
	"errors"
	"fmt"
	"math"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

// unbalancedDiracs: between α·δ_x and β·δ_y the plan is one mass t, of which
//
//	c·t + ε·KL(t | αβ) + ρ·KL(t | α) + ρ·KL(t | β),  KL(t | s) = t·log(t/s) − t + s,
//
// is least at log t = ((ε+ρ)·log αβ − c)/(ε+2ρ), where it is ε·αβ + ρ·(α+β) −
// (ε+2ρ)·t.
func unbalancedDiracs(e Sinkhorn) error {
	for _, c := range []struct{ alpha, beta, rho, epsilon float64 }{
		{1, 1, 10, 1}, {1, 1, 1, 10}, {2, 0.5, 13, 2}, {3, 3, 5, 0.5},
	} {
		p := sinkhorn.Problem{
			X:    transport.Measure{Points: transport.Points{Dim: 2, Data: []float32{1, -0.5}}, Weights: []float64{c.alpha}},
			Y:    transport.Measure{Points: transport.Points{Dim: 2, Data: []float32{-2, 1.5}}, Weights: []float64{c.beta}},
			Cost: sinkhorn.SquaredL2,
		}
		s := e.solverAt(p, c.epsilon)
		s.Reach = c.rho
		r, err := e.solve(p, s)
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		product := c.alpha * c.beta
		mass := math.Exp(((c.epsilon+c.rho)*math.Log(product) - 13) / (c.epsilon + 2*c.rho))
		want := c.epsilon*product + c.rho*(c.alpha+c.beta) - (c.epsilon+2*c.rho)*mass
		err = errors.Join(
			near("the value", r.Value, want, e.Tolerance.Value*(13+c.rho+c.epsilon)*max(1, product)),
			near("the mass", r.Plan[0], mass, e.Tolerance.Plan*max(1, mass)))
		if !e.lacks(Gradients) {
			err = errors.Join(err, nearNorm("the gradient by x", r.ByX, []float64{6 * mass, -4 * mass}, e.Tolerance.Gradient, 1))
		}
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
	}
	return nil
}

// unbalancedMarginals: at the solution P1 = a·exp(−F/ρ) and Pᵀ1 = b·exp(−G/ρ)
// (Chizat et al. 2018), weights taken as they are, P_ij = a_i·b_j·exp((F_i + G_j
// − C_ij)/ε), and the dual of these potentials is the value.
func unbalancedMarginals(e Sinkhorn) error {
	p := e.weighted()
	for _, fraction := range fractions {
		s := e.solver(p, fraction)
		s.Reach = scaleOf(p) / 5
		r, err := e.solve(p, s)
		if err != nil {
			return err
		}
		a, b := p.X.Weights, p.Y.Weights
		n, m := len(a), len(b)
		plan := costsOf(p)
		var mass, product float64
		for k, c := range plan {
			plan[k] = a[k/m] * b[k%m] * math.Exp((r.F[k/m]+r.G[k%m]-c)/s.Epsilon)
			mass += plan[k]
			product += a[k/m] * b[k%m]
		}
		left, right := make([]float64, n), make([]float64, m)
		value := -s.Epsilon * (mass - product)
		for i := range a {
			left[i] = a[i] * math.Exp(-r.F[i]/s.Reach)
			value += s.Reach * (a[i] - left[i])
		}
		for j := range b {
			right[j] = b[j] * math.Exp(-r.G[j]/s.Reach)
			value += s.Reach * (b[j] - right[j])
		}
		rows, columns := sums(r.Plan, n, m)
		size := max(1, mass)
		err = errors.Join(
			nearSum("the plan", r.Plan, plan, 10*e.Tolerance.Plan*size),
			nearSum("the first marginal", rows, left, 10*(s.Tolerance+e.Tolerance.Plan)*size),
			nearSum("the second marginal", columns, right, 10*(s.Tolerance+e.Tolerance.Plan)*size),
			near("the value", r.Value, value, 10*e.Tolerance.Value*scaleOf(p)*size))
		if err != nil {
			return fmt.Errorf("ε = %g of the cost: %w", fraction, err)
		}
	}
	return nil
}

// unbalancedTendsToBalanced: the value rises with ρ towards the balanced one,
// whose potentials show how near it is: their unbalanced dual value is lower by
// at most (Σ a·F² + Σ b·G²)/(2ρ), up to a factor near 1 where they are negative.
func unbalancedTendsToBalanced(e Sinkhorn) error {
	for _, in := range e.instances() {
		if in.X.Weights != nil {
			continue // weights that do not sum to 1 have no balanced limit
		}
		p := in.Problem
		s := e.solver(p, 0.1)
		balanced, err := e.solve(p, s)
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		var squares float64
		for _, f := range balanced.F {
			squares += f * f / float64(len(balanced.F))
		}
		for _, g := range balanced.G {
			squares += g * g / float64(len(balanced.G))
		}
		below, scale := math.Inf(-1), scaleOf(p)
		for _, factor := range []float64{10, 100, 1000} {
			s.Reach = factor * scale
			r, err := e.solve(p, s)
			// ε·ρ-large sums cancel in the value: rounding grows with ρ.
			rounding := 3 * e.Tolerance.Value * scale * factor
			if err == nil {
				err = between("the value", r.Value, max(below, balanced.Value-1.2*squares/(2*s.Reach)), balanced.Value, rounding)
			}
			if err != nil {
				return fmt.Errorf("%s, ρ = %g of the cost: %w", in.name, factor, err)
			}
			below = r.Value
		}
	}
	return nil
}
