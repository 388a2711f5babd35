package transporttest

import (
	"fmt"
	"math/rand/v2"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

// divergenceOfTranslation: for the squared distance S_ε(x, x + v) = ‖v‖² for all
// ε, and its gradient by x is −2v/n.
func divergenceOfTranslation(e Sinkhorn) error {
	x := cloud(1, 6, 2, 0)
	p := sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(shifted(x, 0.5, -1.25)), Cost: sinkhorn.SquaredL2}
	want := make([]float64, 12)
	for i := range want {
		want[i] = -2 * []float64{0.5, -1.25}[i%2] / 6
	}
	for _, fraction := range []float64{0.05, 0.5, 5} {
		value, byX, _, err := e.divergence(p, e.solver(p, fraction))
		if err == nil {
			err = near("the divergence", value, 0.25+1.5625, 3*e.Tolerance.Value*scaleOf(p)*max(1, fraction/10))
		}
		if err == nil && byX != nil {
			err = nearNorm("its gradient by x", byX, want, 2*e.Tolerance.Gradient, 1)
		}
		if err != nil {
			return fmt.Errorf("ε = %g of the cost: %w", fraction, err)
		}
	}
	return nil
}

// divergence is the executor's, or one made of three solutions.
func (e Sinkhorn) divergence(p sinkhorn.Problem, s sinkhorn.Solver) (value float64, byX, byY []float64, err error) {
	if e.Divergence != nil {
		return e.Divergence(p, s)
	}
	xy, err := e.solve(p, s)
	if err != nil {
		return 0, nil, nil, err
	}
	xx, err := e.solve(sinkhorn.Problem{X: p.X, Y: p.X, Cost: p.Cost}, s)
	if err != nil {
		return 0, nil, nil, err
	}
	yy, err := e.solve(sinkhorn.Problem{X: p.Y, Y: p.Y, Cost: p.Cost}, s)
	if err != nil {
		return 0, nil, nil, err
	}
	value = xy.Value - (xx.Value+yy.Value)/2
	if e.lacks(Gradients) {
		return value, nil, nil, nil
	}
	byX, byY = append([]float64(nil), xy.ByX...), append([]float64(nil), xy.ByY...)
	for k := range byX {
		byX[k] -= (xx.ByX[k] + xx.ByY[k]) / 2
	}
	for k := range byY {
		byY[k] -= (yy.ByX[k] + yy.ByY[k]) / 2
	}
	return value, byX, byY, nil
}

// divergenceSign: S_ε(x, y) ≥ 0, with equality for equal measures only, for the
// costs whose kernel exp(−c/ε) is positive and universal (Feydy et al. 2019,
// Theorem 1): here squared L2, L1, L2 and mixtures of the first two.
func divergenceSign(e Sinkhorn) error {
	for _, in := range e.instances() {
		p := in.Problem
		for _, fraction := range []float64{0.1, 1} {
			s := e.solver(p, fraction)
			rounding := 3 * e.Tolerance.Value * scaleOf(p)
			apart, _, _, err := e.divergence(p, s)
			if err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
			if !(apart > 10*rounding) {
				return fmt.Errorf("%s: S_ε = %v between different measures", in.name, apart)
			}
			// The same measure in another order.
			order := rand.New(rand.NewPCG(11, 1)).Perm(p.X.Len())
			same := sinkhorn.Problem{X: p.X, Cost: p.Cost,
				Y: transport.Measure{Points: p.X.Subset(order), Weights: reordered(p.X.Weights, 1, order)}}
			zero, byX, _, err := e.divergence(same, s)
			if err == nil {
				err = near("S_ε between equal measures", zero, 0, rounding)
			}
			if err == nil && byX != nil {
				err = nearNorm("its gradient", byX, make([]float64, len(byX)), 3*e.Tolerance.Gradient, 1)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
		}
	}
	return nil
}
