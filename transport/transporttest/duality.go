package transporttest

import (
	"errors"
	"fmt"
	"math"

	"molehill/transport/sinkhorn"
)

// fractions are the ε, of the largest cost, that most laws are tried at.
var fractions = []float64{0.02, 0.2}

// each tries a law on all instances at all fractions.
func (e Sinkhorn) each(holds func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error) error {
	for _, in := range e.instances() {
		for _, fraction := range fractions {
			s := e.solver(in.Problem, fraction)
			r, err := e.solve(in.Problem, s)
			if err == nil {
				err = holds(in.Problem, s, r)
			}
			if err != nil {
				return fmt.Errorf("%s, ε = %g of the cost: %w", in.name, fraction, err)
			}
		}
	}
	return nil
}

// sums returns the marginals of a plan.
func sums(plan []float64, n, m int) (rows, columns []float64) {
	rows, columns = make([]float64, n), make([]float64, m)
	for k, mass := range plan {
		rows[k/m] += mass
		columns[k%m] += mass
	}
	return rows, columns
}

// marginals: P1 = a and Pᵀ1 = b within the error that is reported, and that
// error is the one there is.
func marginals(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		for k, mass := range r.Plan {
			if !(mass >= 0) {
				return fmt.Errorf("the plan has %v at %d", mass, k)
			}
		}
		rows, columns := sums(r.Plan, p.X.Len(), p.Y.Len())
		return errors.Join(
			nearSum("the first marginal", rows, p.X.Shares(), r.MarginalError+s.Tolerance/10),
			nearSum("the second marginal", columns, p.Y.Shares(), r.MarginalError+s.Tolerance/10))
	})
}

// planOfPotentials: P_ij = a_i·b_j·exp((F_i + G_j − C_ij)/ε).
func planOfPotentials(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		return nearSum("the plan", r.Plan, planOf(p, s, r), 10*e.Tolerance.Plan)
	})
}

func planOf(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) []float64 {
	a, b := p.X.Shares(), p.Y.Shares()
	plan := costsOf(p)
	for k, c := range plan {
		i, j := k/len(b), k%len(b)
		plan[k] = a[i] * b[j] * math.Exp((r.F[i]+r.G[j]-c)/s.Epsilon)
	}
	return plan
}

// dualBelowPrimal: whatever the potentials are,
// Σ a·F + Σ b·G − ε·(Σ P − 1) ≤ OT_ε ≤ ⟨C, Q⟩ + ε·KL(Q | a⊗b)
// for the plan P of the potentials and every coupling Q of a and b; the law's Q
// is P rounded to a coupling (Altschuler, Weed & Rigollet 2017, Algorithm 2). At
// convergence the two meet, and the value lies between.
func dualBelowPrimal(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		a, b := p.X.Shares(), p.Y.Shares()
		plan := planOf(p, s, r)
		dual, mass := 0., 0.
		for _, v := range plan {
			mass += v
		}
		for i, f := range r.F {
			dual += a[i] * f
		}
		for j, g := range r.G {
			dual += b[j] * g
		}
		dual -= s.Epsilon * (mass - 1)
		primal := primalOf(costsOf(p), rounded(plan, a, b), a, b, s.Epsilon)
		slack := scaleOf(p) * (e.Tolerance.Value + s.Tolerance)
		if dual > primal+1e-12*scaleOf(p) {
			return fmt.Errorf("the dual is %.12g, above the primal %.12g", dual, primal)
		}
		return errors.Join(
			near("the dual", dual, primal, slack),
			between("the value", r.Value, dual, primal, slack))
	})
}

// rounded returns a coupling of a and b near the plan: rows and then columns are
// scaled down to their mass, and what is missing is spread as a product.
func rounded(plan, a, b []float64) []float64 {
	n, m := len(a), len(b)
	q := append([]float64(nil), plan...)
	rows, _ := sums(q, n, m)
	for k := range q {
		q[k] *= min(1, a[k/m]/rows[k/m])
	}
	_, columns := sums(q, n, m)
	for k := range q {
		q[k] *= min(1, b[k%m]/columns[k%m])
	}
	rows, columns = sums(q, n, m)
	var missing float64
	for i := range a {
		missing += a[i] - rows[i]
	}
	if missing <= 0 {
		return q
	}
	for k := range q {
		q[k] += (a[k/m] - rows[k/m]) * (b[k%m] - columns[k%m]) / missing
	}
	return q
}

func primalOf(costs, plan, a, b []float64, epsilon float64) float64 {
	var value float64
	for k, mass := range plan {
		if mass > 0 {
			value += mass * (costs[k] + epsilon*math.Log(mass/(a[k/len(b)]*b[k%len(b)])))
		}
	}
	return value
}

// valueOfPlan: the value is ⟨C, P⟩ + ε·KL(P | a⊗b) of the plan that is returned.
func valueOfPlan(e Sinkhorn) error {
	return e.each(func(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
		a, b := p.X.Shares(), p.Y.Shares()
		return near("the value", r.Value, primalOf(costsOf(p), r.Plan, a, b, s.Epsilon),
			scaleOf(p)*(e.Tolerance.Value+e.Tolerance.Plan+s.Tolerance))
	})
}
