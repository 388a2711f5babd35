// Package sinkhorn solves entropic optimal transport between weighted points
// on the host, in double precision, with or without ever holding the matrix of
// costs, and makes of it the Sinkhorn divergences of 001 ("Don't Generate Me",
// Cao et al. 2021).
package sinkhorn

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
)

// Problem is the transport between two measures:
//
//	OT_ε(x, y) = min over plans P of ⟨C, P⟩ + ε·KL(P | a⊗b),  C_ij = c(x_i, y_j),
//
// over couplings of the shares a and b of x and y (Peyré & Cuturi 2019, Section
// 4; 001 Section 3.2 with λ for ε). Where X and Y share their memory the
// problem is one of a measure and itself, and takes half the time.
type Problem struct {
	X, Y transport.Measure
	Cost Cost
}

// Solver says how to solve a Problem. Only Epsilon is needed.
type Solver struct {
	Epsilon float64 // ε > 0, in the unit of the cost

	// Reach is ρ > 0 of unbalanced transport: the marginals need not be met, but
	// cost ρ·KL(P1|a) + ρ·KL(Pᵀ1|b), and weights are taken as they are
	// (Chizat et al. 2018), with sums from 1e-100 to 1e100. 0 asks for both
	// marginals.
	Reach float64

	Tolerance     float64 // on MarginalError; 0: 1e-6
	MaxIterations int     // 0: 10,000

	// Start are potentials to start from, as another Result has them; nil: none.
	// Balanced ones are brought within the range that a solution's can have.
	Start *Potentials

	// Online never holds the cost matrix, but computes its rows whenever they
	// are needed: memory O(dim·(n+m)) in place of 16·n·m bytes, or 8·n·m where
	// MemoryLimit is short.
	Online bool

	// Watch, if set, is told of every iteration: by one goroutine at a time, but
	// SolveAll does not say of which problem.
	Watch func(iteration int, marginalError float64)
}

// Potentials are the dual variables, [n] and [m], in the unit of the cost:
//
//	P_ij = a_i·b_j·exp((F_i + G_j − C_ij)/ε).
//
// Balanced ones are free up to a constant, which is chosen so that ⟨a, F⟩ =
// ⟨b, G⟩.
type Potentials struct{ F, G []float64 }

// Result is what Solve found. It holds on to the points of the problem, which
// are not to change as long as its methods are used; those are for several
// goroutines at once.
type Result struct {
	Potentials
	Iterations int // updates of both potentials, over all ε on the way

	// MarginalError is ‖P1−a‖₁ + ‖Pᵀ1−b‖₁. In unbalanced transport, where the
	// optimal plan has marginals of its own, it is how far one more update would
	// move them, over the mean of the masses of x and y.
	MarginalError float64
	Converged     bool // MarginalError ≤ Tolerance

	// Dual ≤ OT_ε ≤ Primal, whether converged or not: Dual is the value of the
	// potentials, Primal that of a plan with the right marginals made from P
	// (Altschuler, Weed & Rigollet 2017, Algorithm 2), or of P if unbalanced. The
	// value to report is Dual: its error is of the order of MarginalError².
	Dual, Primal float64

	// Transport is ⟨C, P⟩ of the plan of Primal: its cost without the entropy.
	Transport float64

	solution *state
	kept     kept
}

// kept are the indices of points that weigh something: more than negligible of
// all. The others take no part in the iterations.
type kept struct {
	x, y []int            // nil: all
	n, m int              // of the problem
	from transport.Points // x of the problem, [n, dim]
}

// negligible is the part of a measure's mass that its logarithm would be of no use
// for, and that no sum in double precision could be changed by.
const negligible = 1e-250

// MemoryLimit is the most bytes that a cost matrix or a plan may take; programs
// may change it.
var MemoryLimit = int64(4) << 30

// Solve returns the solution, or as near to it as MaxIterations came: look at
// Converged. Errors are of settings and points that are not finite or do not agree, of an
// Epsilon below 10⁻¹² of the costs, of costs that overflow, and of problems that take more
// than MemoryLimit where Online is not set.
func (s Solver) Solve(p Problem) (*Result, error) { return s.solve(p, runtime.GOMAXPROCS(0)) }

// SolveAll solves problems of any sizes side by side, one a core.
func (s Solver) SolveAll(problems []Problem) ([]*Result, error) {
	if len(problems) == 1 {
		r, err := s.Solve(problems[0])
		return []*Result{r}, err
	}
	if watch := s.Watch; watch != nil {
		var mu sync.Mutex
		s.Watch = func(iteration int, marginalError float64) {
			mu.Lock()
			defer mu.Unlock()
			watch(iteration, marginalError)
		}
	}
	results, errs := make([]*Result, len(problems)), make([]error, len(problems))
	transport.InParallel(len(problems), func(i int) {
		results[i], errs[i] = s.solve(problems[i], 1)
	})
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return results, nil
}

func (s Solver) solve(p Problem, workers int) (*Result, error) {
	s, err := s.checked()
	if err != nil {
		return nil, err
	}
	if p, err = p.checked(); err != nil {
		return nil, err
	}
	k := kept{n: p.X.Len(), m: p.Y.Len(), from: p.X.Points}
	same := p.same()
	x, a, err := s.side("x", p.X, &k.x)
	if err != nil {
		return nil, err
	}
	y, b := x, a
	if same {
		k.y = k.x
	} else if y, b, err = s.side("y", p.Y, &k.y); err != nil {
		return nil, err
	}
	if bytes := int64(len(a)) * int64(len(b)) * 8; !s.Online && bytes > MemoryLimit {
		return nil, fmt.Errorf("sinkhorn: the costs of %d and %d points take %.1f GiB, more than the %.1f GiB allowed (MemoryLimit); set Online to compute them as they are needed",
			len(a), len(b), float64(bytes)/(1<<30), float64(MemoryLimit)/(1<<30))
	}
	matrix := newRows(x, y, p.Cost, workers)
	low, high, err := matrix.survey(!s.Online)
	if err != nil {
		return nil, err
	}
	spread := high - low
	if math.IsInf(spread, 0) {
		return nil, fmt.Errorf("sinkhorn: costs from %v to %v; their difference overflows, divide them by a constant", low, high)
	}
	if limit := max(math.Abs(low), math.Abs(high)) * 1e-12; s.Epsilon < limit {
		return nil, fmt.Errorf("sinkhorn: ε = %v for costs up to %v; double precision needs at least %.2g", s.Epsilon, max(math.Abs(low), math.Abs(high)), limit)
	}
	if s.Reach == 0 && (low > spread || high < -spread) {
		// Plans of mass 1 all cost so much, and precision is for the rest.
		matrix.takeOff(low)
		low, high = 0, spread
	}
	matrix.size = max(math.Abs(low), math.Abs(high))
	solution := newState(matrix, a, b, s.Reach, same)
	solution.epsilon = s.Epsilon
	if bytes := int64(len(a)) * int64(len(b)) * 16; !s.Online && bytes <= MemoryLimit {
		solution.keep()
	}
	r := &Result{solution: solution, kept: k}
	if s.Start != nil {
		if err := k.start(solution, s.Start, low, high); err != nil {
			return nil, err
		}
		spread = 0
	}
	s.iterate(r, spread)
	r.extend(p)
	for _, values := range [][]float64{{r.Dual, r.Primal, r.Transport, r.MarginalError}, r.F, r.G} {
		if sum := floats.Sum(values); math.IsNaN(sum) || math.IsInf(sum, 0) {
			return nil, fmt.Errorf("sinkhorn: a result of %v for costs from %v to %v at ε = %v; double precision does not reach that far, divide the points or the weights by a constant", sum, low, high, s.Epsilon)
		}
	}
	return r, nil
}

func (s Solver) checked() (Solver, error) {
	if !(s.Epsilon > 0) || math.IsInf(s.Epsilon, 0) {
		return s, fmt.Errorf("sinkhorn: ε = %v; it must be positive and finite, in the unit of the cost", s.Epsilon)
	}
	if !(s.Reach >= 0) || math.IsInf(s.Reach, 0) {
		return s, fmt.Errorf("sinkhorn: reach ρ = %v; it must be positive and finite, or 0 to meet both marginals", s.Reach)
	}
	if !(s.Tolerance >= 0) {
		return s, fmt.Errorf("sinkhorn: tolerance %v; it must be positive, or 0 for 1e-6", s.Tolerance)
	}
	if s.MaxIterations < 0 {
		return s, fmt.Errorf("sinkhorn: at most %d iterations; allow at least 1, or 0 for 10,000", s.MaxIterations)
	}
	if s.Tolerance == 0 {
		s.Tolerance = 1e-6
	}
	if s.MaxIterations == 0 {
		s.MaxIterations = 10_000
	}
	return s, nil
}

// checked returns the problem with a cost that is no pointer, if it is one of this
// package.
func (p Problem) checked() (Problem, error) {
	if err := p.X.Check(); err != nil {
		return p, fmt.Errorf("sinkhorn: x: %w", err)
	}
	if err := p.Y.Check(); err != nil {
		return p, fmt.Errorf("sinkhorn: y: %w", err)
	}
	if p.X.Dim != p.Y.Dim {
		return p, fmt.Errorf("sinkhorn: points of dimension %d and %d; both sides need the same", p.X.Dim, p.Y.Dim)
	}
	if v := reflect.ValueOf(p.Cost); v.Kind() == reflect.Pointer && v.IsNil() {
		p.Cost = nil
	}
	switch c := p.Cost.(type) {
	case *Mixture:
		p.Cost = *c
	case *Euclidean:
		p.Cost = *c
	case *Func:
		p.Cost = *c
	}
	switch c := p.Cost.(type) {
	case nil:
		return p, fmt.Errorf("sinkhorn: no cost; SquaredL2 is the usual one")
	case Mixture:
		if !(c.Squared >= 0 && c.Absolute >= 0 && c.Squared+c.Absolute > 0) || math.IsInf(c.Squared+c.Absolute, 0) {
			return p, fmt.Errorf("sinkhorn: cost %v·‖x−y‖₂² + %v·‖x−y‖₁; the factors must be finite, at least 0, and not both 0", c.Squared, c.Absolute)
		}
	case Func:
		if c.Value == nil {
			return p, fmt.Errorf("sinkhorn: a Func cost without Value; give it a function of two points")
		}
	}
	return p, nil
}

// same says whether x and y are one measure, by the memory they share.
func (p Problem) same() bool {
	return symmetric(p.Cost) && shared(p.X.Data, p.Y.Data) && (p.X.Weights == nil && p.Y.Weights == nil || shared(p.X.Weights, p.Y.Weights))
}

func shared[T any](a, b []T) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// side returns the points of a measure that weigh something and their weights,
// shares or, if unbalanced, masses. It sets kept to their indices, or nil for all.
func (s Solver) side(name string, m transport.Measure, kept *[]int) (transport.Points, []float64, error) {
	points, weights := m.Points, m.Shares()
	total := 1.
	if s.Reach != 0 && m.Weights != nil {
		copy(weights, m.Weights)
		if total = floats.Sum(weights); !(total > 1e-100 && total < 1e100) {
			return points, nil, fmt.Errorf("sinkhorn: %s has a mass of %v, which unbalanced transport takes as it is; want 1e-100 to 1e100", name, total)
		}
	}
	for i, w := range weights {
		if w > negligible*total {
			*kept = append(*kept, i)
		}
	}
	if len(*kept) == len(weights) {
		*kept = nil
		return points, weights, nil
	}
	return points.Subset(*kept), pick(weights, *kept), nil
}

func pick(values []float64, indices []int) []float64 {
	if indices == nil {
		return slices.Clone(values)
	}
	picked := make([]float64, len(indices))
	for to, from := range indices {
		picked[to] = values[from]
	}
	return picked
}
