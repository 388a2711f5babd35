package transporttest

import (
	"errors"
	"fmt"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

// differences returns the derivatives of value by the coordinates of p, which it
// moves and puts back, by central differences of fourth order: the steps are
// exact, the error is of the order of step⁴ and of the value's rounding over the
// step.
func differences(p transport.Points, step float64, value func() (float64, error)) ([]float64, error) {
	slopes := make([]float64, len(p.Data))
	for k, at := range p.Data {
		for _, stencil := range []struct{ steps, weight float64 }{{-2, 1. / 12}, {-1, -2. / 3}, {1, 2. / 3}, {2, -1. / 12}} {
			p.Data[k] = at + float32(stencil.steps*step)
			v, err := value()
			if err != nil {
				p.Data[k] = at
				return nil, err
			}
			slopes[k] += stencil.weight * v / step
		}
		p.Data[k] = at
	}
	return slopes, nil
}

// againstDifferences checks gradients by the points of p, of which value is the
// function.
func (e Sinkhorn) againstDifferences(p sinkhorn.Problem, byX, byY []float64, value func() (float64, error)) error {
	for _, side := range []struct {
		name   string
		points transport.Points
		by     []float64
	}{{"the gradient by x", p.X.Points, byX}, {"the gradient by y", p.Y.Points, byY}} {
		want, err := differences(side.points, e.Tolerance.Step, value)
		if err != nil {
			return err
		}
		if err := nearNorm(side.name, side.by, want, e.Tolerance.Gradient, 0.1); err != nil {
			return err
		}
	}
	return nil
}

// cloned returns p with points of its own, to be moved.
func cloned(p sinkhorn.Problem) sinkhorn.Problem {
	p.X.Points, p.Y.Points = p.X.Clone(), p.Y.Clone()
	return p
}

// gradient: by the envelope theorem the gradient is that of the cost under the
// plan, which is that of OT_ε.
func gradient(e Sinkhorn) error {
	for _, in := range e.instances() {
		p := cloned(in.Problem)
		s := e.solver(p, 0.2)
		r, err := e.solve(p, s)
		if err == nil {
			err = e.againstDifferences(p, r.ByX, r.ByY, func() (float64, error) {
				r, err := e.solve(p, s)
				if err != nil {
					return 0, err
				}
				return r.Value, nil
			})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	return nil
}

// gradientOfDivergence: the self terms move with the points too.
func gradientOfDivergence(e Sinkhorn) error {
	for _, in := range e.instances() {
		if in.Cost != sinkhorn.SquaredL2 {
			continue // the kinks of the others lie on the diagonal of the self terms
		}
		p := cloned(in.Problem)
		s := e.solver(p, 0.2)
		_, byX, byY, err := e.divergence(p, s)
		if err == nil && (byX == nil || byY == nil) {
			err = errors.New("the divergence has no gradient")
		}
		if err == nil {
			err = e.againstDifferences(p, byX, byY, func() (float64, error) {
				value, _, _, err := e.divergence(p, s)
				return value, err
			})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	return nil
}

// unbalancedGradient is gradient of unbalanced transport.
func unbalancedGradient(e Sinkhorn) error {
	p := cloned(e.weighted())
	s := e.solver(p, 0.2)
	s.Reach = scaleOf(p) / 4
	r, err := e.solve(p, s)
	if err != nil {
		return err
	}
	return e.againstDifferences(p, r.ByX, r.ByY, func() (float64, error) {
		r, err := e.solve(p, s)
		if err != nil {
			return 0, err
		}
		return r.Value, nil
	})
}
