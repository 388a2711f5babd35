package transporttest

import (
	"errors"
	"fmt"
	"math"

	"molehill/transport"
	"molehill/transport/assign"
	"molehill/transport/sinkhorn"
)

// batched: problems solved together have the solutions that each has alone.
func batched(e Sinkhorn) error {
	var problems []sinkhorn.Problem
	for seed := range uint64(4) {
		p := sinkhorn.Problem{X: transport.Uniform(cloud(40+seed, 6, 2, 0)), Y: transport.Uniform(cloud(50+seed, 6, 2, 1./8)), Cost: sinkhorn.SquaredL2}
		if !e.lacks(Weights) && seed%2 == 1 {
			p.X.Weights, p.Y.Weights = uneven(60+seed, 6), uneven(70+seed, 6)
		}
		if seed == 3 { // an easy one must wait for the others and not run away
			p.Y = p.X
		}
		problems = append(problems, p)
	}
	s := e.solver(problems[0], 0.05)
	all, err := e.SolveAll(problems, s)
	if err != nil {
		return err
	}
	if len(all) != len(problems) {
		return fmt.Errorf("%d solutions of %d problems", len(all), len(problems))
	}
	for i, p := range problems {
		alone, err := e.solve(p, s)
		if err == nil {
			err = e.checkSolution(p, s, all[i])
		}
		if err == nil {
			err = e.same(p, all[i], alone.Value, alone.Plan, alone.ByX, alone.ByY)
		}
		if err != nil {
			return fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return nil
}

// warmStart: from the solution there is nowhere to go.
func warmStart(e Sinkhorn) error {
	for _, in := range e.instances() {
		s := e.solver(in.Problem, 0.02)
		first, err := e.solve(in.Problem, s)
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		s.Start = &sinkhorn.Potentials{F: first.F, G: first.G}
		again, err := e.solve(in.Problem, s)
		if err == nil {
			err = e.same(in.Problem, again, first.Value, first.Plan, first.ByX, first.ByY)
		}
		if err == nil && again.Iterations > 2 {
			err = fmt.Errorf("%d iterations from the solution, at most 2 wanted; %d from nothing", again.Iterations, first.Iterations)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	return nil
}

// notConverged: what is not done in time is returned as it is, and marked.
func notConverged(e Sinkhorn) error {
	for _, in := range e.instances() {
		s := e.solver(in.Problem, 0.01)
		s.Tolerance, s.MaxIterations = 1e-9, 2
		r, err := e.Solve(in.Problem, s)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w; want a solution that is marked", in.name, err)
		case r.Converged || !(r.MarginalError > s.Tolerance) || math.IsInf(r.MarginalError, 0):
			return fmt.Errorf("%s: converged %v at marginal error %v after %d iterations", in.name, r.Converged, r.MarginalError, r.Iterations)
		case r.Iterations > 2:
			return fmt.Errorf("%s: %d iterations, at most 2 were allowed", in.name, r.Iterations)
		}
		err = errors.Join(finite("F", r.F), finite("G", r.G), finite("the value", []float64{r.Value}), finite("the plan", r.Plan), finite("the gradient", r.ByX))
		if err == nil && !e.lacks(Plans) {
			// The error is that of the plan that is returned.
			rows, columns := sums(r.Plan, in.X.Len(), in.Y.Len())
			a, b := in.X.Shares(), in.Y.Shares()
			var off float64
			for i := range a {
				off += math.Abs(rows[i] - a[i])
			}
			for j := range b {
				off += math.Abs(columns[j] - b[j])
			}
			err = near("the marginal error", r.MarginalError, off, 1e-9+0.01*off+e.Tolerance.Plan)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	return nil
}

// smallEpsilon: at ε of 1e-4 of the largest cost the solution converges, to
// within ε·log n of the exact assignment.
func smallEpsilon(e Sinkhorn) error {
	for seed := range uint64(3) {
		x, y := cloud(80+seed, 12, 2, 0), cloud(90+seed, 12, 2, 1./8)
		p := sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: sinkhorn.SquaredL2}
		s := e.solver(p, 1e-4)
		s.Tolerance = max(s.Tolerance, 1e-3)
		r, err := e.solve(p, s)
		if err != nil {
			return err
		}
		exact, err := assign.Match(x, y, p.Cost.At)
		if err != nil {
			return err
		}
		w := exact.Total / 12
		if err := between("the value", r.Value, w, w+s.Epsilon*math.Log(12), scaleOf(p)*(e.Tolerance.Value+s.Tolerance)); err != nil {
			return err
		}
	}
	return nil
}

// overflow: costs too large for ε, or for the executor's numbers, give an error,
// a solution that is right or one that is marked, never a silent NaN.
func overflow(e Sinkhorn) error {
	for _, size := range []float32{1e10, 1e19, 1e30, 3e38} {
		x, y := cloud(1, 6, 2, 0), cloud(2, 6, 2, 1./8)
		for i := range x.Data {
			x.Data[i] *= size / 4
			y.Data[i] *= size / 4
		}
		p := sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: sinkhorn.SquaredL2}
		for _, epsilon := range []float64{1e-300, 1, 0.1 * scaleOf(p)} {
			r, err := e.Solve(p, sinkhorn.Solver{Epsilon: epsilon, Tolerance: 1e-4, MaxIterations: 200})
			if err != nil {
				continue
			}
			err = errors.Join(finite("the value", []float64{r.Value}), finite("the marginal error", []float64{r.MarginalError}),
				finite("F", r.F), finite("G", r.G), finite("the plan", r.Plan), finite("the gradient", r.ByX))
			if err == nil && r.Converged && !e.lacks(Plans) {
				rows, columns := sums(r.Plan, 6, 6)
				err = errors.Join(nearSum("the first marginal", rows, p.X.Shares(), 2e-4), nearSum("the second marginal", columns, p.Y.Shares(), 2e-4))
			}
			if err == nil && r.Converged {
				if exact, fail := assign.Match(x, y, p.Cost.At); fail == nil {
					w := exact.Total / 6
					err = between("the value", r.Value, w, w+epsilon*math.Log(6), 2e-4*scaleOf(p))
				}
			}
			if err != nil {
				return fmt.Errorf("points of size %g, ε = %g: %w", size, epsilon, err)
			}
		}
	}
	return nil
}

// badInput: each of these is an error and no panic.
func badInput(e Sinkhorn) error {
	nan, inf := math.NaN(), math.Inf(1)
	tried := func(change func(p *sinkhorn.Problem, s *sinkhorn.Solver)) (err error) {
		defer func() {
			if caught := recover(); caught != nil {
				err = fmt.Errorf("panic: %v", caught)
			}
		}()
		p := cloned(e.instances()[0].Problem)
		s := e.solver(p, 0.1)
		s.MaxIterations = 1000
		change(&p, &s)
		if r, refused := e.Solve(p, s); refused == nil {
			return fmt.Errorf("was solved: value %v, converged %v", r.Value, r.Converged)
		}
		return nil
	}
	type problem = sinkhorn.Problem
	type solver = sinkhorn.Solver
	var errs []error
	for _, c := range []struct {
		name   string
		change func(p *problem, s *solver)
	}{
		{"no points", func(p *problem, s *solver) { p.X.Points = transport.Points{Dim: 2} }},
		{"a measure of nothing", func(p *problem, s *solver) { p.Y = transport.Measure{} }},
		{"NaN in x", func(p *problem, s *solver) { p.X.Data[3] = float32(nan) }},
		{"infinity in y", func(p *problem, s *solver) { p.Y.Data[0] = float32(-inf) }},
		{"ragged points", func(p *problem, s *solver) { p.X.Data = p.X.Data[:5] }},
		{"two dimensions", func(p *problem, s *solver) { p.Y.Points = cloud(2, 6, 3, 0) }},
		{"a negative weight", func(p *problem, s *solver) { p.X.Weights = []float64{1, 1, -1, 1, 1, 1} }},
		{"a NaN weight", func(p *problem, s *solver) { p.Y.Weights = []float64{1, 1, nan, 1, 1, 1} }},
		{"an infinite weight", func(p *problem, s *solver) { p.Y.Weights = []float64{1, 1, inf, 1, 1, 1} }},
		{"weights of 0", func(p *problem, s *solver) { p.X.Weights = make([]float64, 6) }},
		{"too few weights", func(p *problem, s *solver) { p.X.Weights = []float64{1, 1} }},
		{"weights that overflow", func(p *problem, s *solver) { p.X.Weights = []float64{1e308, 1e308, 1, 1, 1, 1} }},
		{"ε = 0", func(p *problem, s *solver) { s.Epsilon = 0 }},
		{"ε < 0", func(p *problem, s *solver) { s.Epsilon = -1 }},
		{"ε is NaN", func(p *problem, s *solver) { s.Epsilon = nan }},
		{"ε is infinite", func(p *problem, s *solver) { s.Epsilon = inf }},
		{"a negative reach", func(p *problem, s *solver) { s.Reach = -1 }},
		{"a reach of NaN", func(p *problem, s *solver) { s.Reach = nan }},
		{"a tolerance of NaN", func(p *problem, s *solver) { s.Tolerance = nan }},
		{"a negative tolerance", func(p *problem, s *solver) { s.Tolerance = -1 }},
		{"negative iterations", func(p *problem, s *solver) { s.MaxIterations = -1 }},
		{"no cost", func(p *problem, s *solver) { p.Cost = nil }},
	} {
		if err := tried(c.change); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	if !e.lacks(WarmStart) {
		for name, start := range map[string]*sinkhorn.Potentials{
			"a start of other size": {F: make([]float64, 2), G: make([]float64, 6)},
			"a start of NaN":        {F: []float64{0, 0, nan, 0, 0, 0}, G: make([]float64, 6)},
		} {
			if err := tried(func(p *problem, s *solver) { s.Start = start }); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	if !e.lacks(OwnCosts) {
		for name, cost := range map[string]float64{"a cost of NaN": nan, "a cost of infinity": inf} {
			if err := tried(func(p *problem, s *solver) {
				p.Cost = sinkhorn.Func{Value: func(x, y []float32) float64 { return cost }}
			}); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}
