package transporttest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/transport"
	"molehill/transport/assign"
	"molehill/transport/sinkhorn"
)

// cloud returns n points whose coordinates are multiples of ¼ in [−2, 2) plus a
// shift. With shifts of 0 and ⅛ for x and y no two coordinates are nearer than
// ⅛, so that costs with kinks where they meet have derivatives all around, and
// steps of finite differences are exact in float32.
func cloud(seed uint64, n, dim int, shift float32) transport.Points {
	rng := rand.New(rand.NewPCG(seed, 0xc10d))
	p := transport.NewPoints(n, dim)
	for i := range p.Data {
		p.Data[i] = float32(rng.IntN(16))/4 - 2 + shift
	}
	return p
}

// uneven returns n positive weights that do not sum to 1.
func uneven(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0x3e19))
	w := make([]float64, n)
	for i := range w {
		w[i] = float64(1+rng.IntN(8)) / 8
	}
	return w
}

// instance is a problem that laws are tried on.
type instance struct {
	name string
	sinkhorn.Problem
}

// instances are problems of the shapes and weights that the executor takes.
func (e Sinkhorn) instances() []instance {
	pair := func(n, m int, weighted bool, cost sinkhorn.Cost) sinkhorn.Problem {
		p := sinkhorn.Problem{
			X:    transport.Uniform(cloud(1, n, 2, 0)),
			Y:    transport.Uniform(cloud(2, m, 2, 1./8)),
			Cost: cost,
		}
		if weighted {
			p.X.Weights, p.Y.Weights = uneven(3, n), uneven(4, m)
		}
		return p
	}
	all := []instance{{"equal sizes", pair(6, 6, false, sinkhorn.SquaredL2)}}
	n, m := 7, 5
	if e.lacks(Sizes) {
		n, m = 6, 6
	} else {
		all = append(all, instance{"different sizes", pair(n, m, false, sinkhorn.SquaredL2)})
	}
	weighted := !e.lacks(Weights)
	if weighted {
		all = append(all, instance{"weights", pair(n, m, true, sinkhorn.SquaredL2)})
	}
	return append(all,
		instance{"L1", pair(n, m, weighted, sinkhorn.L1)},
		instance{"L2", pair(n, m, weighted, sinkhorn.L2)},
		instance{"mixture", pair(n, m, weighted, sinkhorn.Mixture{Squared: 1, Absolute: 0.5})})
}

func (e Sinkhorn) lacks(f Feature) bool {
	for _, l := range e.Lacks {
		if l == f {
			return true
		}
	}
	return false
}

func costsOf(p sinkhorn.Problem) []float64 { return assign.Costs(p.X.Points, p.Y.Points, p.Cost.At) }

// scaleOf is the largest cost.
func scaleOf(p sinkhorn.Problem) float64 {
	var scale float64
	for _, c := range costsOf(p) {
		scale = max(scale, math.Abs(c))
	}
	return scale
}

// solver returns what laws solve p with at ε = fraction of the largest cost.
func (e Sinkhorn) solver(p sinkhorn.Problem, fraction float64) sinkhorn.Solver {
	return e.solverAt(p, fraction*scaleOf(p))
}

// solverAt is solver with ε itself. Potentials are of the size of the costs and
// stand in exponents divided by ε, so their rounding, and with it the error that
// can be asked for, grows with the largest cost over ε.
func (e Sinkhorn) solverAt(p sinkhorn.Problem, epsilon float64) sinkhorn.Solver {
	return sinkhorn.Solver{
		Epsilon:       epsilon,
		Tolerance:     e.Tolerance.Marginal * max(1, scaleOf(p)/epsilon/10),
		MaxIterations: 100_000,
	}
}

// solve returns the solution of p, or an error unless it converged to finite
// numbers.
func (e Sinkhorn) solve(p sinkhorn.Problem, s sinkhorn.Solver) (*Solution, error) {
	r, err := e.Solve(p, s)
	if err != nil {
		return nil, err
	}
	return r, e.checkSolution(p, s, r)
}

func (e Sinkhorn) checkSolution(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution) error {
	n, m, dim := p.X.Len(), p.Y.Len(), p.X.Dim
	switch {
	case !r.Converged:
		return fmt.Errorf("did not converge: ε = %g, marginal error %g after %d iterations, %g asked for", s.Epsilon, r.MarginalError, r.Iterations, s.Tolerance)
	case !(r.MarginalError <= s.Tolerance):
		return fmt.Errorf("marked converged at marginal error %g, %g asked for", r.MarginalError, s.Tolerance)
	case len(r.F) != n || len(r.G) != m:
		return fmt.Errorf("%d and %d potentials, want %d and %d", len(r.F), len(r.G), n, m)
	case !e.lacks(Plans) && len(r.Plan) != n*m:
		return fmt.Errorf("a plan of %d masses, want %d", len(r.Plan), n*m)
	case !e.lacks(Gradients) && (len(r.ByX) != n*dim || len(r.ByY) != m*dim):
		return fmt.Errorf("gradients of %d and %d numbers, want %d and %d", len(r.ByX), len(r.ByY), n*dim, m*dim)
	}
	for name, values := range map[string][]float64{
		"the value": {r.Value}, "the marginal error": {r.MarginalError},
		"the plan": r.Plan, "the gradient by x": r.ByX, "the gradient by y": r.ByY,
	} {
		if err := finite(name, values); err != nil {
			return err
		}
	}
	return nil
}

func finite(what string, values []float64) error {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s has %v at %d", what, v, i)
		}
	}
	return nil
}

// near returns an error unless |got − want| ≤ tolerance.
func near(what string, got, want, tolerance float64) error {
	if !(math.Abs(got-want) <= tolerance) {
		return fmt.Errorf("%s is %.12g, want %.12g within %.2g", what, got, want, tolerance)
	}
	return nil
}

// nearSum returns an error unless Σ|got − want| ≤ tolerance: for plans.
func nearSum(what string, got, want []float64, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	var sum float64
	for i := range got {
		sum += math.Abs(got[i] - want[i])
	}
	if !(sum <= tolerance) {
		return fmt.Errorf("%s is off by %.3g in all, at most %.2g allowed: %.6g, want %.6g", what, sum, tolerance, got, want)
	}
	return nil
}

// nearNorm returns an error unless ‖got − want‖ ≤ tolerance·max(‖want‖, floor):
// for gradients, with the size of one cost's slope for floor.
func nearNorm(what string, got, want []float64, tolerance, floor float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	var off, size float64
	for i := range got {
		off += (got[i] - want[i]) * (got[i] - want[i])
		size += want[i] * want[i]
	}
	if !(math.Sqrt(off) <= tolerance*max(math.Sqrt(size), floor)) {
		return fmt.Errorf("%s is off by %.3g, its size is %.3g: %.6g, want %.6g", what, math.Sqrt(off), math.Sqrt(size), got, want)
	}
	return nil
}

func scaled(values []float64, by float64) []float64 {
	s := make([]float64, len(values))
	for i, v := range values {
		s[i] = by * v
	}
	return s
}

// times returns the points multiplied by a power of two, exactly.
func times(p transport.Points, by float32) transport.Points {
	q := p.Clone()
	for i := range q.Data {
		q.Data[i] *= by
	}
	return q
}

// shifted returns the points plus v.
func shifted(p transport.Points, v ...float32) transport.Points {
	q := p.Clone()
	for i := range q.Data {
		q.Data[i] += v[i%p.Dim]
	}
	return q
}

// reordered returns rows of width numbers in the given order.
func reordered[T any](rows []T, width int, order []int) []T {
	if rows == nil {
		return nil
	}
	out := make([]T, 0, len(rows))
	for _, i := range order {
		out = append(out, rows[i*width:(i+1)*width]...)
	}
	return out
}

func transposed(plan []float64, n, m int) []float64 {
	t := make([]float64, len(plan))
	for i := range n {
		for j := range m {
			t[j*n+i] = plan[i*m+j]
		}
	}
	return t
}
