package transporttest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/transport"
	"molehill/transport/assign"
	"molehill/transport/sinkhorn"
)

// diracs: between δ_x and δ_y there is one plan, and OT_ε is c(x, y) for all ε.
func diracs(e Sinkhorn) error {
	x := transport.Points{Dim: 2, Data: []float32{1, -0.5}}
	y := transport.Points{Dim: 2, Data: []float32{-2, 1.5}}
	for _, c := range []struct {
		cost   sinkhorn.Cost
		value  float64
		slopeX []float64
		name   string
	}{
		{cost: sinkhorn.SquaredL2, name: "squared L2", value: 13, slopeX: []float64{6, -4}},
		{cost: sinkhorn.L1, name: "L1", value: 5, slopeX: []float64{1, -1}},
		{cost: sinkhorn.L2, name: "L2", value: math.Sqrt(13), slopeX: []float64{3 / math.Sqrt(13), -2 / math.Sqrt(13)}},
		{cost: sinkhorn.Mixture{Squared: 1, Absolute: 2}, name: "mixture", value: 23, slopeX: []float64{8, -6}},
	} {
		p := sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: c.cost}
		for _, fraction := range []float64{0.01, 1, 100} {
			r, err := e.solve(p, e.solver(p, fraction))
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			err = near("the value", r.Value, c.value, e.Tolerance.Value*c.value)
			if !e.lacks(Plans) {
				err = errors.Join(err, nearSum("the plan", r.Plan, []float64{1}, e.Tolerance.Plan))
			}
			if !e.lacks(Gradients) {
				err = errors.Join(err,
					nearNorm("the gradient by x", r.ByX, c.slopeX, e.Tolerance.Gradient, 1),
					nearNorm("the gradient by y", r.ByY, scaled(c.slopeX, -1), e.Tolerance.Gradient, 1))
			}
			if err != nil {
				return fmt.Errorf("%s, ε = %g of the cost: %w", c.name, fraction, err)
			}
		}
	}
	return nil
}

// onePlace: if all of x lies in one place the cost does not depend on the plan,
// so the plan is a⊗b and OT_ε = Σ_j b_j·c(x, y_j) for all ε.
func onePlace(e Sinkhorn) error {
	for _, in := range e.instances() {
		p := in.Problem
		p.X.Points = p.X.Clone()
		for i := range p.X.Len() {
			copy(p.X.Row(i), []float32{0.5, -1})
		}
		a, b := p.X.Shares(), p.Y.Shares()
		var want float64
		product := make([]float64, 0, len(a)*len(b))
		for i := range a {
			for j := range b {
				product = append(product, a[i]*b[j])
				want += a[i] * b[j] * p.Cost.At(p.X.Row(i), p.Y.Row(j))
			}
		}
		r, err := e.solve(p, e.solver(p, 0.1))
		if err == nil {
			err = errors.Join(near("the value", r.Value, want, e.Tolerance.Value*scaleOf(p)),
				nearSum("the plan", r.Plan, product, e.Tolerance.Plan))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	return nil
}

// lattice returns 12 distinct points of the plane at least 1 apart in one
// coordinate, so that plans at ε of 1/50 are permutations up to e⁻²⁵.
func lattice() transport.Points {
	p := transport.NewPoints(12, 2)
	for i := range p.Len() {
		copy(p.Row(i), []float32{float32(i%4) - 1.5, float32(i/4) - 1 + 0.25*float32(i%2)})
	}
	return p
}

const latticeEpsilon = 1. / 50

// crude is the marginal error that laws ask for where the plan is nearly a
// permutation: there the error of Sinkhorn's iterations falls as slowly as the
// inverse of their number.
const crude = 1e-4

// matched checks a solution of n against n points whose plan is σ/n: the value
// is the cost of σ plus ε·KL(σ/n | 1/n²) = ε·log n.
func (e Sinkhorn) matched(x, y transport.Points, sigma []int) error {
	p := sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: sinkhorn.SquaredL2}
	n := x.Len()
	s := e.solverAt(p, latticeEpsilon)
	s.Tolerance = max(s.Tolerance, crude)
	r, err := e.solve(p, s)
	if err != nil {
		return err
	}
	plan := make([]float64, n*n)
	byX := make([]float64, 2*n)
	var cost float64
	for i, j := range sigma {
		plan[i*n+j] = 1 / float64(n)
		cost += p.Cost.At(x.Row(i), y.Row(j)) / float64(n)
		p.Cost.ByX(byX[2*i:2*i+2], x.Row(i), y.Row(j), 1/float64(n))
	}
	err = errors.Join(
		near("the value", r.Value, cost+latticeEpsilon*math.Log(float64(n)), (e.Tolerance.Value+s.Tolerance/2)*scaleOf(p)),
		nearSum("the plan", r.Plan, plan, e.Tolerance.Plan+5*s.Tolerance))
	if !e.lacks(Gradients) {
		err = errors.Join(err, nearNorm("the gradient by x", r.ByX, byX, e.Tolerance.Gradient+10*s.Tolerance, 1))
	}
	return err
}

// permutation: a measure and the same points in another order are equal.
func permutation(e Sinkhorn) error {
	x := lattice()
	order := rand.New(rand.NewPCG(5, 1)).Perm(x.Len())
	sigma := make([]int, x.Len())
	for to, from := range order {
		sigma[from] = to
	}
	return e.matched(x, x.Subset(order), sigma)
}

// translation: the optimal map to x + v is x ↦ x + v.
func translation(e Sinkhorn) error {
	return e.matched(lattice(), shifted(lattice(), 2, -0.75), identity(12))
}

// convexGradient: a gradient of a convex function is the optimal map to where
// it maps to (Brenier 1991), here ∇φ with
// φ(x) = ½xᵀAx + log cosh x₁ + log cosh x₂ + ⟨v, x⟩ and A = [[1, ½], [½, 1]].
func convexGradient(e Sinkhorn) error {
	x := lattice()
	y := transport.NewPoints(x.Len(), 2)
	for i := range x.Len() {
		u, v := float64(x.Row(i)[0]), float64(x.Row(i)[1])
		y.Row(i)[0] = float32(u + v/2 + math.Tanh(u) + 0.5)
		y.Row(i)[1] = float32(u/2 + v + math.Tanh(v) - 0.25)
	}
	return e.matched(x, y, identity(x.Len()))
}

func identity(n int) []int {
	sigma := make([]int, n)
	for i := range sigma {
		sigma[i] = i
	}
	return sigma
}

// gaussians: between Gaussians the optimal map is the linear
// T = A^(−½)(A^½BA^½)^½A^(−½) and W₂² = ‖a − b‖² + Tr A + Tr B − 2·Tr(A^½BA^½)^½
// (Gelbrich 1990). The map is optimal from any sample of points to its image, so
// a sample whose mean and covariance are a and A has exactly that W₂². The plan
// is as good as the permutation, so OT_ε exceeds it by ε·log n.
func gaussians(e Sinkhorn) error {
	x, y, squared := gaussianSamples()
	p := sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: sinkhorn.SquaredL2}
	s := e.solverAt(p, latticeEpsilon)
	s.Tolerance = max(s.Tolerance, crude)
	r, err := e.solve(p, s)
	if err != nil {
		return err
	}
	// 1e-5: the rounding of the points to float32.
	return near("the value", r.Value, squared+s.Epsilon*math.Log(float64(x.Len())), (e.Tolerance.Value+s.Tolerance/2)*scaleOf(p)+1e-5)
}

// gaussianSamples returns samples of 12 points with means (0, 0) and (1, −½) and
// covariances A = diag(1, ¼) and TAT, T = [[1.5, 0.5], [0.5, 2]], and W₂² between
// them. T is positive, hence the optimal map whatever A is.
func gaussianSamples() (x, y transport.Points, squared float64) {
	// The lattice is symmetric enough to be whitened by hand: Gram–Schmidt on
	// its two coordinates.
	raw := lattice()
	n := float64(raw.Len())
	var mean [2]float64
	for i := range raw.Len() {
		mean[0] += float64(raw.Row(i)[0]) / n
		mean[1] += float64(raw.Row(i)[1]) / n
	}
	var uu, uv, vv float64
	for i := range raw.Len() {
		u, v := float64(raw.Row(i)[0])-mean[0], float64(raw.Row(i)[1])-mean[1]
		uu, uv, vv = uu+u*u/n, uv+u*v/n, vv+v*v/n
	}
	x, y = transport.NewPoints(raw.Len(), 2), transport.NewPoints(raw.Len(), 2)
	for i := range raw.Len() {
		u, v := float64(raw.Row(i)[0])-mean[0], float64(raw.Row(i)[1])-mean[1]
		v = (v - uv/uu*u) / math.Sqrt(vv-uv*uv/uu) / 2
		u /= math.Sqrt(uu)
		copy(x.Row(i), []float32{float32(u), float32(v)})
		copy(y.Row(i), []float32{float32(1.5*u + 0.5*v + 1), float32(0.5*u + 2*v - 0.5)})
	}
	// B = TAT: [1.5²+0.25·0.25, 0.75+0.25; ·, 0.25+4/4]; and A^½BA^½ = (A^½TA^½)²,
	// whose root has the trace 1.5·1 + 2·¼.
	traceB := (1.5*1.5 + 0.25*0.25) + (0.25 + 4*0.25)
	return x, y, 1 + 0.25 + (1 + 0.25) + traceB - 2*(1.5+0.5)
}

// between returns an error unless low ≤ got ≤ high up to the tolerance.
func between(what string, got, low, high, tolerance float64) error {
	if !(got >= low-tolerance && got <= high+tolerance) {
		return fmt.Errorf("%s is %.12g, want it in [%.12g, %.12g] within %.2g", what, got, low, high, tolerance)
	}
	return nil
}

// entropicGaussians: OT_ε between N(a, s²) and N(b, r²) for the cost (x−y)² is
// in closed form (Janati, Muzellec, Peyré & Cuturi 2020, Theorem 1, with 2σ² =
// ε): (a−b)² + s² + r² − D + σ²(1 − log 2σ²) + σ²·log(D + σ²),
// D = (4s²r² + σ⁴)^½. The measures are 40 equally spaced points weighted by the
// density: the error of that quadrature for smooth integrands is below e⁻³⁰.
func entropicGaussians(e Sinkhorn) error {
	const n = 40
	quadrature := func(mean, deviation float64) transport.Measure {
		m := transport.Measure{Points: transport.NewPoints(n, 1), Weights: make([]float64, n)}
		for i := range n {
			z := (float64(i) - (n-1)/2.) / 3.5 // ± 5.6 standard deviations
			m.Data[i] = float32(mean + deviation*z)
			// The weight is that of the point as rounded to float32.
			z = (float64(m.Data[i]) - mean) / deviation
			m.Weights[i] = math.Exp(-z * z / 2)
		}
		return m
	}
	for _, c := range []struct{ a, s, b, r, epsilon float64 }{
		{0, 1, 0, 1, 1},
		{0, 1, 1.5, 0.5, 1},
		{-1, 0.75, 1, 1.25, 2},
		{0, 1, 0, 0.5, 10},
	} {
		p := sinkhorn.Problem{X: quadrature(c.a, c.s), Y: quadrature(c.b, c.r), Cost: sinkhorn.SquaredL2}
		r, err := e.solve(p, e.solverAt(p, c.epsilon))
		if err != nil {
			return err
		}
		half := c.epsilon / 2
		d := math.Sqrt(4*c.s*c.s*c.r*c.r + half*half)
		want := (c.a-c.b)*(c.a-c.b) + c.s*c.s + c.r*c.r - d + half*(1-math.Log(2*half)) + half*math.Log(d+half)
		// 1e-6: the tails beyond 5.6 standard deviations.
		if err := near("the value", r.Value, want, 1e-6+e.Tolerance.Value*scaleOf(p)); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		if e.lacks(Gradients) {
			continue
		}
		// The whole of x moves as one point would: d/da = 2(a − b).
		var pull float64
		for _, g := range r.ByX {
			pull += g
		}
		if err := near("the sum of the gradient by x", pull, 2*(c.a-c.b), 1e-5+e.Tolerance.Gradient*scaleOf(p)); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
	}
	return nil
}

// exactAssignment: for equal sizes and weights
// OT ≤ OT_ε ≤ OT + ε·log n, as 0 ≤ KL(P | a⊗b) ≤ log n, and OT_ε rises with ε.
func exactAssignment(e Sinkhorn) error {
	for seed := range uint64(3) {
		x, y := cloud(20+seed, 12, 2, 0), cloud(30+seed, 12, 2, 1./8)
		for _, cost := range []sinkhorn.Cost{sinkhorn.SquaredL2, sinkhorn.L1} {
			p := sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: cost}
			exact, err := assign.Match(x, y, cost.At)
			if err != nil {
				return err
			}
			w, scale := exact.Total/12, scaleOf(p)
			above := math.Inf(1)
			for _, fraction := range []float64{10, 1, 0.1, 0.01, 0.001} {
				s := e.solver(p, fraction)
				s.Tolerance = max(s.Tolerance, crude)
				r, err := e.solve(p, s)
				if err != nil {
					return err
				}
				tolerance := scale * (e.Tolerance.Value + s.Tolerance/2)
				if err := between("the value", r.Value, w, min(above, w+s.Epsilon*math.Log(12)), tolerance); err != nil {
					return fmt.Errorf("clouds %d, ε = %g of the cost: %w", seed, fraction, err)
				}
				above = r.Value
			}
		}
	}
	return nil
}

// quantiles: on the line OT is that of the quantile functions for any sizes and
// weights, and OT ≤ OT_ε ≤ OT + ε·min(H(a), H(b)).
func quantiles(e Sinkhorn) error {
	x, y := cloud(7, 7, 1, 0), cloud(8, 5, 1, 1./8)
	p := sinkhorn.Problem{
		X: transport.Measure{Points: x, Weights: uneven(9, 7)}, Y: transport.Measure{Points: y, Weights: uneven(10, 5)},
		Cost: sinkhorn.SquaredL2,
	}
	w := quantilePower(x.Data, y.Data, p.X.Weights, p.Y.Weights, 2)
	for _, fraction := range []float64{1, 0.1, 0.01, 0.001} {
		s := e.solver(p, fraction)
		s.Tolerance = max(s.Tolerance, crude)
		r, err := e.solve(p, s)
		if err != nil {
			return err
		}
		most := w + s.Epsilon*min(entropy(p.X.Shares()), entropy(p.Y.Shares()))
		if err := between("the value", r.Value, w, most, scaleOf(p)*(e.Tolerance.Value+s.Tolerance/2)); err != nil {
			return fmt.Errorf("ε = %g of the cost: %w", fraction, err)
		}
	}
	return nil
}

func entropy(shares []float64) float64 {
	var h float64
	for _, a := range shares {
		if a > 0 {
			h -= a * math.Log(a)
		}
	}
	return h
}

// largeEpsilon: ⟨C, a⊗b⟩ − R²/(8ε) ≤ OT_ε ≤ ⟨C, a⊗b⟩ for costs in a range of
// size R. Above stands the plan a⊗b; below −ε·log E exp(−C/ε), the value of
// constant potentials, and Hoeffding's lemma.
func largeEpsilon(e Sinkhorn) error {
	for _, in := range e.instances() {
		p := in.Problem
		a, b := p.X.Shares(), p.Y.Shares()
		costs, mean := costsOf(p), 0.
		for i := range a {
			for j := range b {
				mean += a[i] * b[j] * costs[i*len(b)+j]
			}
		}
		scale := scaleOf(p)
		for _, fraction := range []float64{1, 30, 1000} {
			s := e.solver(p, fraction)
			r, err := e.solve(p, s)
			if err == nil {
				err = between("the value", r.Value, mean-scale*scale/(8*s.Epsilon), mean, e.Tolerance.Value*scale*max(1, fraction/10))
			}
			if err != nil {
				return fmt.Errorf("%s, ε = %g of the cost: %w", in.name, fraction, err)
			}
		}
	}
	return nil
}
