package transporttest

import (
	"slices"
	"testing"

	"molehill/transport/sinkhorn"
)

func TestOracle(t *testing.T)       { Sinkhorns(t, oracle{}.executor()) }
func TestLineOracle(t *testing.T)   { Lines(t, lineOracle{}.executor()) }
func TestSlicedOracle(t *testing.T) { Sliceds(t, slicedOracle{}.executor()) }

// wrong is an executor that is wrong on purpose and laws that must say so.
type wrong[E any] struct {
	name     string
	executor E
	broken   []string
}

// powerful fails unless each law that is named finds fault with the executor,
// and every law with some executor.
func powerful[E any](t *testing.T, laws []law[E], mutants []wrong[E]) {
	t.Helper()
	found := map[string]bool{}
	for _, m := range mutants {
		for _, name := range m.broken {
			at := slices.IndexFunc(laws, func(l law[E]) bool { return l.name == name })
			if at < 0 {
				t.Fatalf("there is no law %q", name)
			}
			if err := laws[at].holds(m.executor); err == nil {
				t.Errorf("%s: the law %q does not see it", m.name, name)
			}
			found[name] = true
		}
	}
	for _, l := range laws {
		if !found[l.name] {
			t.Errorf("no executor breaks the law %q: it may not be able to fail", l.name)
		}
	}
}

func TestSinkhornLawsHavePower(t *testing.T) {
	type names = []string
	mutants := []wrong[Sinkhorn]{
		{"entropy against 1", oracle{entropyToOne: true}.executor(),
			names{"one place against many", "permutation", "translation", "convex gradient", "Gaussians", "entropic Gaussians", "exact assignment", "quantiles on the line", "large epsilon", "split atom", "dual below primal", "transport cost", "unbalanced Diracs"}},
		{"no entropy", oracle{staleValue: true}.executor(),
			names{"entropic Gaussians", "permutation", "gradient", "unbalanced gradient", "dual below primal", "transport cost"}},
		{"no terms of mass", oracle{noMass: true}.executor(), names{"unbalanced Diracs", "unbalanced marginals", "unbalanced gradient"}},
		{"equal weights always", oracle{forgetWeights: true}.executor(),
			names{"entropic Gaussians", "quantiles on the line", "marginals", "atom without weight", "one place against many"}},
		{"transposed plan", oracle{transposed: true}.executor(), names{"marginals", "plan of potentials", "transport cost", "order of points"}},
		{"plan of 2ε", oracle{halfEpsilon: true}.executor(), names{"marginals", "plan of potentials", "translation", "transport cost", "gradient"}},
		{"gradient of ⟨C, a⊗b⟩", oracle{slopeOfCost: true}.executor(), names{"gradient", "gradient of the divergence", "unbalanced gradient", "translation", "permutation"}},
		{"gradient by y is double", oracle{slopeFactor: 2}.executor(), names{"Diracs", "gradient", "unbalanced gradient", "symmetry"}},
		{"gradient by y has the sign of x", oracle{costOfX: true}.executor(), names{"Diracs", "gradient", "symmetry"}},
		{"done too early", oracle{loose: 1e6}.executor(), names{"marginals", "gradient", "symmetry"}},
		{"error of one side", oracle{oneSide: true}.executor(), names{"marked when not converged"}},
		{"always done", oracle{alwaysDone: true}.executor(), names{"marked when not converged"}},
		{"cold start", oracle{ignoresStart: true}.executor(), names{"warm start"}},
		{"values 1e-6 too large", oracle{drift: 1e-6}.executor(),
			names{"Diracs", "one place against many", "entropic Gaussians", "dual below primal", "unbalanced Diracs"}},
		{"values 1e-3 too large", oracle{drift: 1e-3}.executor(), names{"divergence of a translation", "large epsilon"}},
		{"values 5 percent too small", oracle{drift: -5e-2}.executor(), names{"exact assignment", "translation", "small epsilon"}},
		{"no checks", oracle{careless: true}.executor(), names{"bad input", "overflow"}},
		{"weights divided by their sum", oracle{normalises: true}.executor(), names{"unbalanced Diracs", "unbalanced marginals"}},
		{"ρ taken for ε", oracle{reachAsOne: true}.executor(), names{"unbalanced Diracs", "unbalanced marginals", "unbalanced gradient", "unbalanced tends to balanced"}},
		{"batches with the first weights", oracle{mixesBatch: true}.executor(), names{"batched as looped"}},
		{"weights not divided", changed(func(p *sinkhorn.Problem, s *sinkhorn.Solver) { s.Reach = 1e9 }), names{"scaled weights"}},
		{"ε of the unit of 1", changed(func(p *sinkhorn.Problem, s *sinkhorn.Solver) { s.Epsilon += 0.01 }), names{"scaled cost", "scaled points", "entropic Gaussians"}},
		{"the order of points counts", changed(func(p *sinkhorn.Problem, s *sinkhorn.Solver) { s.Epsilon *= 1 + 0.01*float64(p.X.Data[0]) }), names{"order of points", "moved together", "symmetry"}},
		{"the cost of positions", changed(func(p *sinkhorn.Problem, s *sinkhorn.Solver) {
			cost := p.Cost
			p.Cost = sinkhorn.Func{
				Value:  func(x, y []float32) float64 { return cost.At(x, y) * (1 + 0.01*float64(x[0]*x[0])) },
				Slopes: func(_, _ []float64, _, _ []float32, _ float64) {},
			}
		}), names{"moved together", "scaled points", "symmetry"}},
		{"own costs doubled", changed(func(p *sinkhorn.Problem, s *sinkhorn.Solver) {
			if own, ok := p.Cost.(sinkhorn.Func); ok {
				p.Cost = sinkhorn.Func{Value: func(x, y []float32) float64 { return 2 * own.Value(x, y) }, Slopes: own.Slopes}
			}
		}), names{"cost of one's own"}},
		{"mixtures without their absolute part", changed(func(p *sinkhorn.Problem, s *sinkhorn.Solver) {
			if m, ok := p.Cost.(sinkhorn.Mixture); ok && m.Squared > 0 {
				p.Cost = sinkhorn.Mixture{Squared: m.Squared}
			}
		}), names{"concave in the cost", "Diracs"}},
		{"biased divergence", biased(), names{"divergence is a divergence", "divergence of a translation", "gradient of the divergence"}},
	}
	powerful(t, sinkhornLaws(), mutants)
}

// changed solves another problem than it is given.
func changed(change func(p *sinkhorn.Problem, s *sinkhorn.Solver)) Sinkhorn {
	e := oracle{}.executor()
	solve := e.Solve
	e.Solve = func(p sinkhorn.Problem, s sinkhorn.Solver) (*Solution, error) {
		change(&p, &s)
		return solve(p, s)
	}
	return e
}

// biased has OT_ε for a divergence, without the self terms.
func biased() Sinkhorn {
	e := oracle{}.executor()
	e.Divergence = func(p sinkhorn.Problem, s sinkhorn.Solver) (float64, []float64, []float64, error) {
		r, err := e.Solve(p, s)
		if err != nil {
			return 0, nil, nil, err
		}
		// The gradient of half of it.
		return r.Value, scaled(r.ByX, 0.5), r.ByY, nil
	}
	return e
}

func TestLineLawsHavePower(t *testing.T) {
	type names = []string
	powerful(t, lineLaws(), []wrong[Line]{
		{"not sorted", lineOracle{unsorted: true}.executor(), names{"quantiles", "distribution functions", "exact assignment", "Gaussian quantiles", "order of points"}},
		{"ties by position", lineOracle{byPosition: true}.executor(), names{"ties share", "order of points"}},
		{"no power", lineOracle{noPower: true}.executor(), names{"Diracs", "quantiles", "translation", "scaled points"}},
		{"p = 2 always", lineOracle{squareAlways: true}.executor(), names{"Diracs", "quantiles", "distribution functions"}},
		{"equal weights always", lineOracle{forgetWeight: true}.executor(), names{"quantiles", "split and weightless atoms"}},
		{"sign of the gradient by y", lineOracle{wrongSign: true}.executor(), names{"gradient", "symmetry", "Diracs"}},
		{"x is elsewhere", lineOracle{offset: 0.01}.executor(), names{"translation", "quantiles"}},
		{"values 1e-6 too large", lineOracle{drift: 1e-6}.executor(), names{"quantiles", "exact assignment", "Diracs"}},
		{"weights not divided", lineOracle{total: true}.executor(), names{"quantiles"}},
		{"left is twice as far", lineOracle{lopsided: true}.executor(), names{"symmetry", "scaled points", "quantiles"}},
		{"no checks", lineOracle{careless: true}.executor(), names{"bad input"}},
		{"squared distances", Line{Power: func(x, y []float32, a, b []float64, p float64) (float64, []float64, []float64, error) {
			value, byX, byY := lineOracle{}.power(widened(x), widened(y), a, b, 2*p)
			return value, byX, byY, nil
		}}, names{"triangle inequality"}},
	})
}

func TestSlicedLawsHavePower(t *testing.T) {
	type names = []string
	powerful(t, slicedLaws(), []wrong[Sliced]{
		{"sum over directions", slicedOracle{sum: true}.executor(), names{"Diracs", "mean over lines", "translation", "below the distance in space", "Gaussians"}},
		{"one direction", slicedOracle{firstOnly: true}.executor(), names{"Diracs", "mean over lines", "translation"}},
		{"gradient along another line", slicedOracle{noChain: true}.executor(), names{"Diracs", "gradient", "gradients of one record"}},
		{"values off", slicedOracle{extra: 1e-3}.executor(), names{"Diracs", "permutation", "scaled points"}},
		{"not sorted", slicedOracle{line: lineOracle{unsorted: true}}.executor(), names{"permutation", "order of points", "Gaussians"}},
		{"ties by position", slicedOracle{line: lineOracle{byPosition: true}}.executor(), names{"ties share"}},
		{"equal weights always", slicedOracle{line: lineOracle{forgetWeight: true}}.executor(), names{"split and weightless atoms", "mean over lines"}},
		{"sign of the gradient by y", slicedOracle{line: lineOracle{wrongSign: true}}.executor(), names{"forces balance", "gradient", "symmetry"}},
		{"left is twice as far", slicedOracle{line: lineOracle{lopsided: true}}.executor(), names{"symmetry"}},
		{"no checks", slicedOracle{line: lineOracle{careless: true}}.executor(), names{"bad input"}},
		{"squares for distances", slicedOracle{line: lineOracle{squareAlways: true}}.executor(), names{"triangle inequality", "scaled points"}},
	})
}
