package transporttest

import (
	"testing"

	"molehill/transport"
	"molehill/transport/sinkhorn"
	"molehill/transport/sliced"
)

// host is molehill/transport/sinkhorn. Its value is the dual one, which is the
// nearer: the potentials' error enters it squared.
func host(online bool) Sinkhorn {
	solution := func(r *sinkhorn.Result) (*Solution, error) {
		plan, err := r.Plan()
		if err != nil {
			return nil, err
		}
		byX, byY, err := r.Gradient()
		return &Solution{
			F: r.F, G: r.G, Value: r.Dual, Iterations: r.Iterations,
			MarginalError: r.MarginalError, Converged: r.Converged,
			Plan: plan, ByX: byX, ByY: byY,
		}, err
	}
	name := "host"
	if online {
		name = "host online"
	}
	return Sinkhorn{
		Name:      name,
		Tolerance: Double,
		Solve: func(p sinkhorn.Problem, s sinkhorn.Solver) (*Solution, error) {
			s.Online = online
			r, err := s.Solve(p)
			if err != nil {
				return nil, err
			}
			return solution(r)
		},
		SolveAll: func(problems []sinkhorn.Problem, s sinkhorn.Solver) ([]*Solution, error) {
			s.Online = online
			results, err := s.SolveAll(problems)
			var all []*Solution
			for _, r := range results {
				one, err := solution(r)
				if err != nil {
					return nil, err
				}
				all = append(all, one)
			}
			return all, err
		},
		// Biased is twice this divergence and has the gradient by its first
		// measure.
		Divergence: func(p sinkhorn.Problem, s sinkhorn.Solver) (value float64, byX, byY []float64, err error) {
			s.Online = online
			forth, err := s.Biased(p.X, p.Y, p.Cost)
			if err != nil {
				return 0, nil, nil, err
			}
			back, err := s.Biased(p.Y, p.X, p.Cost)
			if err != nil {
				return 0, nil, nil, err
			}
			return forth.Value / 2, scaled(forth.ByX, 0.5), scaled(back.ByX, 0.5), nil
		},
	}
}

func hostSliced() Sliced {
	return Sliced{
		Name:      "host",
		Tolerance: Tolerance{Value: 1e-7, Gradient: 2e-6, Step: Double.Step}, // projections are float32
		Power: func(x, y transport.Measure, p float64, u sliced.Directions) (float64, []float64, []float64, error) {
			d, byX, byY, err := sliced.SWGradient(x, y, p, u)
			return d.Power, widened(byX), widened(byY), err
		},
	}
}

func widened[T float32 | float64](values []T) []float64 {
	wide := make([]float64, len(values))
	for i, v := range values {
		wide[i] = float64(v)
	}
	return wide
}

func hostLine() Line {
	return Line{
		Name:      "host",
		Tolerance: Double,
		Power: func(x, y []float32, a, b []float64, p float64) (float64, []float64, []float64, error) {
			c, err := transport.Line{X: widened(x), Y: widened(y), A: a, B: b}.Solve()
			if err != nil {
				return 0, nil, nil, err
			}
			value, err := c.Cost(p)
			if err != nil {
				return 0, nil, nil, err
			}
			byX, byY, err := c.Gradient(p)
			return value, byX, byY, err
		},
	}
}

func TestHostSinkhorn(t *testing.T)       { Sinkhorns(t, host(false)) }
func TestHostSinkhornOnline(t *testing.T) { Sinkhorns(t, host(true)) }
func TestHostSliced(t *testing.T)         { Sliceds(t, hostSliced()) }
func TestHostLine(t *testing.T)           { Lines(t, hostLine()) }
