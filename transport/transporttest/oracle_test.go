package transporttest

import (
	"errors"
	"fmt"
	"math"

	"molehill/transport/sinkhorn"
)

// oracle solves by the textbook: Sinkhorn's iterations on the potentials in
// double precision, nothing else. It shares no code with what it stands beside,
// and its fields make it wrong on purpose, one way each.
type oracle struct {
	entropyToOne  bool // the entropy is KL(P | 1) in place of KL(P | a⊗b)
	noMass        bool // unbalanced values without the terms of mass
	forgetWeights bool
	oneSide       bool    // the marginal error of one side, just after it was met
	transposed    bool    // the plan comes as [m, n]
	halfEpsilon   bool    // P = exp(·/2ε)
	slopeOfCost   bool    // gradients not weighted by the plan
	slopeFactor   float64 // on the gradient by y; 0: 1
	loose         float64 // times as large a tolerance as asked for; 0: 1
	alwaysDone    bool    // marked converged whatever happened
	ignoresStart  bool
	reachAsOne    bool    // damped as if ρ were ε
	drift         float64 // relative error of values
	careless      bool    // no checks of input
	normalises    bool    // unbalanced weights divided by their sum
	staleValue    bool    // the value without the entropy
	costOfX       bool    // the gradient by x for the gradient by y
	mixesBatch    bool    // a batch solved with the first problem's weights
}

func (o oracle) executor() Sinkhorn {
	return Sinkhorn{
		Name:      "oracle",
		Solve:     o.solve,
		SolveAll:  o.solveAll,
		Tolerance: Double,
	}
}

func (o oracle) solveAll(problems []sinkhorn.Problem, s sinkhorn.Solver) ([]*Solution, error) {
	var all []*Solution
	for _, p := range problems {
		if o.mixesBatch {
			p.X.Weights, p.Y.Weights = problems[0].X.Weights, problems[0].Y.Weights
		}
		r, err := o.solve(p, s)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func (o oracle) check(p sinkhorn.Problem, s sinkhorn.Solver) error {
	if err := errors.Join(p.X.Check(), p.Y.Check()); err != nil {
		return err
	}
	switch {
	case p.X.Dim != p.Y.Dim:
		return errors.New("oracle: dimensions differ")
	case p.Cost == nil:
		return errors.New("oracle: no cost")
	case !(s.Epsilon > 0) || math.IsInf(s.Epsilon, 0) || !(s.Reach >= 0) || !(s.Tolerance >= 0) || s.MaxIterations < 0:
		return fmt.Errorf("oracle: %+v", s)
	}
	if s.Start != nil {
		if len(s.Start.F) != p.X.Len() || len(s.Start.G) != p.Y.Len() {
			return errors.New("oracle: a start of other size")
		}
		if err := finite("the start", append(append([]float64(nil), s.Start.F...), s.Start.G...)); err != nil {
			return err
		}
	}
	return finite("the cost", costsOf(p))
}

func (o oracle) solve(p sinkhorn.Problem, s sinkhorn.Solver) (*Solution, error) {
	if !o.careless {
		if err := o.check(p, s); err != nil {
			return nil, err
		}
	}
	n, m, epsilon := p.X.Len(), p.Y.Len(), s.Epsilon
	if o.forgetWeights {
		p.X.Weights, p.Y.Weights = nil, nil
	}
	a, b := p.X.Shares(), p.Y.Shares()
	if s.Reach > 0 && !o.normalises {
		if p.X.Weights != nil {
			a = p.X.Weights
		}
		if p.Y.Weights != nil {
			b = p.Y.Weights
		}
	}
	damping := 1.0
	if s.Reach > 0 {
		damping = s.Reach / (s.Reach + epsilon)
		if o.reachAsOne {
			damping = 0.5
		}
	}
	costs := costsOf(p)
	r := &Solution{F: make([]float64, n), G: make([]float64, m)}
	if s.Start != nil && !o.ignoresStart {
		copy(r.F, s.Start.F)
		copy(r.G, s.Start.G)
	}
	entry := func(i, j int) float64 { return (r.F[i] + r.G[j] - costs[i*m+j]) / epsilon }
	tolerance := s.Tolerance
	if o.loose > 0 {
		tolerance *= o.loose
	}
	column, row := make([]float64, n), make([]float64, m)
	for r.Iterations = 0; ; r.Iterations++ {
		// The error: how far half-steps would move the plan's marginals.
		r.MarginalError = 0
		for j := range m {
			for i := range n {
				column[i] = entry(i, j)
			}
			if !o.oneSide {
				target := math.Exp(-r.G[j] / reachOf(s))
				r.MarginalError += b[j] * math.Abs(math.Exp(logSum(column, a))-target)
			}
		}
		for i := range n {
			for j := range m {
				row[j] = entry(i, j)
			}
			target := math.Exp(-r.F[i] / reachOf(s))
			r.MarginalError += a[i] * math.Abs(math.Exp(logSum(row, b))-target)
		}
		r.Converged = r.MarginalError <= tolerance
		if r.Converged || r.Iterations == s.MaxIterations {
			break
		}
		for j := range m {
			for i := range n {
				column[i] = (r.F[i] - costs[i*m+j]) / epsilon
			}
			r.G[j] = -damping * epsilon * logSum(column, a)
		}
		for i := range n {
			for j := range m {
				row[j] = (r.G[j] - costs[i*m+j]) / epsilon
			}
			r.F[i] = -damping * epsilon * logSum(row, b)
		}
	}
	if o.loose > 0 {
		r.MarginalError = min(r.MarginalError, s.Tolerance)
	}
	if o.alwaysDone {
		r.Converged = true
	}
	o.finish(p, s, r, costs, a, b)
	if !o.careless {
		if err := finite("the solution", append([]float64{r.Value, r.MarginalError}, r.Plan...)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// reachOf is ρ, infinite for balanced transport.
func reachOf(s sinkhorn.Solver) float64 {
	if s.Reach > 0 {
		return s.Reach
	}
	return math.Inf(1)
}

// finish writes the plan, the dual value and the gradients.
func (o oracle) finish(p sinkhorn.Problem, s sinkhorn.Solver, r *Solution, costs, a, b []float64) {
	n, m, dim := len(a), len(b), p.X.Dim
	temperature := s.Epsilon
	if o.halfEpsilon {
		temperature *= 2
	}
	r.Plan = make([]float64, n*m)
	r.ByX, r.ByY = make([]float64, n*dim), make([]float64, m*dim)
	var mass, product, transport float64
	for k := range r.Plan {
		i, j := k/m, k%m
		if a[i] > 0 && b[j] > 0 {
			r.Plan[k] = a[i] * b[j] * math.Exp((r.F[i]+r.G[j]-costs[k])/temperature)
		}
		mass += r.Plan[k]
		product += a[i] * b[j]
		transport += r.Plan[k] * costs[k]
		weight := r.Plan[k]
		if o.slopeOfCost {
			weight = a[i] * b[j]
		}
		p.Cost.ByX(r.ByX[i*dim:(i+1)*dim], p.X.Row(i), p.Y.Row(j), weight)
		if o.slopeFactor != 0 {
			weight *= o.slopeFactor
		}
		if o.costOfX {
			p.Cost.ByX(r.ByY[j*dim:(j+1)*dim], p.X.Row(i), p.Y.Row(j), weight)
			continue
		}
		p.Cost.ByY(r.ByY[j*dim:(j+1)*dim], p.X.Row(i), p.Y.Row(j), weight)
	}
	r.Value = s.Epsilon * (product - mass)
	for _, side := range []struct{ weights, potentials []float64 }{{a, r.F}, {b, r.G}} {
		for i, w := range side.weights {
			switch {
			case w == 0:
			case s.Reach > 0:
				r.Value -= s.Reach * w * math.Expm1(-side.potentials[i]/s.Reach)
			default:
				r.Value += w * side.potentials[i]
			}
			if o.entropyToOne && w > 0 {
				r.Value += s.Epsilon * w * math.Log(w)
			}
		}
	}
	if o.noMass && s.Reach > 0 {
		r.Value -= s.Epsilon * (product - mass)
	}
	if o.staleValue {
		r.Value = transport
	}
	r.Value *= 1 + o.drift
	if o.transposed {
		r.Plan = transposed(r.Plan, n, m)
	}
}

// logSum is log Σ w·exp(v), over the entries with weight.
func logSum(v, w []float64) float64 {
	top := math.Inf(-1)
	for i := range v {
		if w[i] > 0 {
			top = max(top, v[i])
		}
	}
	var sum float64
	for i := range v {
		if w[i] > 0 {
			sum += w[i] * math.Exp(v[i]-top)
		}
	}
	return top + math.Log(sum)
}
