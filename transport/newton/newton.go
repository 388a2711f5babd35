// Package newton solves entropic optimal transport between few points at any ε, small ones
// above all: where Sinkhorn's algorithm takes of the order of max C/ε iterations, it takes
// the exact plan and a handful of Newton's.
//
// As ε → 0 the potentials tend to those of exact transport, whose plan is a tree
// (assign.Transport). From there the dual is climbed in g alone, with f as the marginal a
// asks for,
//
//	D(g) = Σ_i a_i·f_i(g) + Σ_j b_j·g_j,   f_i(g) = −ε·log Σ_j b_j·exp((g_j − C_ij)/ε),
//
// which is concave, with the gradient b − Pᵀ1 and the Hessian −(diag(Pᵀ1) − Pᵀ·diag(1/a)·P)/ε
// (Cuturi & Peyré 2018, "Semidual regularized optimal transport"). At a small ε few entries
// of the plan P are not 0.
package newton

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"molehill/transport/assign"
)

// Problem is entropic transport of weights a, [n], and b, [m], nil for equal ones, which are
// divided by their sum:
//
//	min over plans P of ⟨C, P⟩ + ε·KL(P | a⊗b).
type Problem struct {
	Cost    []float64 // C, [n, m], row by row
	N, M    int
	A, B    []float64
	Epsilon float64 // ε > 0, in the unit of the cost
}

// Solution is what Solve found.
type Solution struct {
	F, G          []float64 // potentials, [n] and [m], in the unit of the cost: P_ij = a_i·b_j·exp((F_i + G_j − C_ij)/ε)
	Plan          []Entry   // of P, row by row, but what is below 10⁻¹⁸ of a row
	Value         float64   // the dual at F and G: at most the optimum
	Transport     float64   // ⟨C, P⟩
	MarginalError float64   // ‖P1 − a‖₁ + ‖Pᵀ1 − b‖₁
	Iterations    int       // Newton's
}

// Entry is one of a plan.
type Entry struct {
	I, J int
	Mass float64
}

// most is how many iterations there are at most. A handful is usual; some tens come where
// parts of the plan hardly touch, and all where ε is next to what rounding leaves of costs.
const most = 300

// Solve climbs until the marginals are off by tolerance at most. Where it does not get there,
// such as with costs of which the largest is 10¹⁴ times ε, MarginalError says so. Points
// without weight have no potential of their own: theirs are those that the others imply.
// It takes memory for the costs, and for as many numbers as the smaller side has squared.
func (p Problem) Solve(tolerance float64) (*Solution, error) {
	if !(p.Epsilon > 0) || math.IsInf(p.Epsilon, 0) {
		return nil, fmt.Errorf("newton: ε = %v; it is a positive number in the unit of the cost", p.Epsilon)
	}
	if !(tolerance > 0) {
		return nil, errors.New("newton: no tolerance of the marginals; give one, such as 1e-6")
	}
	if p.M > max(0, p.N) { // the Hessian is of the columns
		return p.turned(tolerance)
	}
	exact, err := assign.Transport(p.Cost, p.N, p.M, p.A, p.B)
	if err != nil {
		return nil, fmt.Errorf("newton: %w", err)
	}
	c := newClimb(p, exact)
	c.look(c.g)
	s := &Solution{}
	for c.off() > tolerance && s.Iterations < most {
		if s.Iterations++; !c.step() {
			break
		}
	}
	c.imply()
	s.F, s.G, s.Plan = c.f, c.g, c.entries
	s.Value, s.MarginalError = c.dual, c.off()
	for _, e := range s.Plan {
		s.Transport += e.Mass * p.Cost[e.I*p.M+e.J]
	}
	return s, nil
}

// turned solves the problem with rows for columns.
func (p Problem) turned(tolerance float64) (*Solution, error) {
	if p.N < 1 || len(p.Cost)%p.M != 0 || len(p.Cost)/p.M != p.N { // here M > N; their product may be too large
		return nil, fmt.Errorf("newton: %d costs between %d and %d points; it takes [n, m], of at least one point each", len(p.Cost), p.N, p.M)
	}
	other := Problem{Cost: make([]float64, 0, len(p.Cost)), N: p.M, M: p.N, A: p.B, B: p.A, Epsilon: p.Epsilon}
	for j := range p.M {
		for i := range p.N {
			other.Cost = append(other.Cost, p.Cost[i*p.M+j])
		}
	}
	s, err := other.Solve(tolerance)
	if err != nil {
		return nil, err
	}
	s.F, s.G = s.G, s.F
	for k, e := range s.Plan {
		s.Plan[k] = Entry{e.J, e.I, e.Mass}
	}
	slices.SortFunc(s.Plan, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J)) })
	return s, nil
}

// climb is the way up the dual.
type climb struct {
	Problem
	a, b, logB []float64 // shares

	f, g    []float64
	entries []Entry
	columns []float64 // Pᵀ1
	rows    []float64 // P1, which is a but for rounding
	dual    float64

	hessian, slope []float64 // [m, m] and [m]
	span           float64   // of costs
}

func newClimb(p Problem, exact assign.Plan) *climb {
	c := &climb{Problem: p, a: shares(p.A, p.N), b: shares(p.B, p.M), f: make([]float64, p.N), g: exact.G,
		columns: make([]float64, p.M), rows: make([]float64, p.N), hessian: make([]float64, p.M*p.M), slope: make([]float64, p.M)}
	for _, w := range c.b {
		c.logB = append(c.logB, math.Log(w))
	}
	c.span = slices.Max(p.Cost) - slices.Min(p.Cost) + p.Epsilon
	return c
}

func shares(weights []float64, n int) []float64 {
	shares := make([]float64, n)
	var sum float64
	for _, w := range weights {
		sum += w
	}
	for i := range shares {
		if shares[i] = 1 / float64(n); weights != nil {
			shares[i] = weights[i] / sum
		}
	}
	return shares
}

// negligible is the logarithm of what an entry of a row is to the largest one that need not
// be looked at.
const negligible = -42

// look computes f, the plan and the dual at g.
func (c *climb) look(g []float64) {
	c.entries, c.dual = c.entries[:0], 0
	clear(c.columns)
	exponents := make([]float64, c.M)
	for i := range c.N {
		top := math.Inf(-1)
		for j, cost := range c.Cost[i*c.M : (i+1)*c.M] {
			exponents[j] = (g[j]-cost)/c.Epsilon + c.logB[j]
			top = max(top, exponents[j])
		}
		first, sum := len(c.entries), 0.
		for j, e := range exponents {
			if e -= top; e > negligible {
				e = math.Exp(e)
				sum += e
				if c.a[i] > 0 {
					c.entries = append(c.entries, Entry{i, j, e})
				}
			}
		}
		c.f[i] = -c.Epsilon * (top + math.Log(sum))
		c.dual += c.a[i] * c.f[i]
		c.rows[i] = 0
		for k := first; k < len(c.entries); k++ {
			e := &c.entries[k]
			e.Mass *= c.a[i] / sum
			c.rows[i] += e.Mass
			c.columns[e.J] += e.Mass
		}
	}
	for j, w := range c.b {
		if w > 0 {
			c.dual += w * g[j]
		}
	}
}

// imply gives columns without weight the potentials that make them none of their own.
func (c *climb) imply() {
	for j, w := range c.b {
		if !(w > 0) {
			c.g[j] = c.implied(j)
		}
	}
}

// implied is the potential of a column for which all potentials of rows ask, Sinkhorn's.
func (c *climb) implied(j int) float64 {
	top, sum := math.Inf(-1), 0.
	for i, share := range c.a {
		if share > 0 {
			top = max(top, c.f[i]-c.Cost[i*c.M+j])
		}
	}
	for i, share := range c.a {
		if share > 0 {
			sum += share * math.Exp((c.f[i]-c.Cost[i*c.M+j]-top)/c.Epsilon)
		}
	}
	return -top - c.Epsilon*math.Log(sum)
}

// off is the error of the marginals.
func (c *climb) off() (sum float64) {
	for i, w := range c.a {
		sum += math.Abs(c.rows[i] - w)
	}
	for j, w := range c.b {
		sum += math.Abs(c.columns[j] - w)
	}
	return sum
}

// step goes one of Newton's, as far as it climbs, or, where that is nowhere, one of
// Sinkhorn's. It says whether there was any.
func (c *climb) step() bool {
	c.near()
	c.direction()
	var rise, farthest float64 // of the dual, by its slope; and how far a potential would go
	for j, d := range c.slope {
		rise += d * (c.b[j] - c.columns[j])
		farthest = max(farthest, c.Epsilon*math.Abs(d))
	}
	longest := min(1, c.span/farthest) // no two potentials are farther apart than costs are
	from, to, dual, was := c.g, make([]float64, c.M), c.dual, c.off()
	for length := longest; length > 1e-4*longest; length /= 2 {
		for j, d := range c.slope {
			to[j] = from[j] + c.Epsilon*length*d
		}
		c.look(to)
		flat := 1e-12 * (math.Abs(dual) + c.Epsilon) // which the dual is to rounding, near the top
		if rise > 0 && c.dual >= dual+1e-4*length*c.Epsilon*rise || c.off() < was/2 && c.dual >= dual-flat {
			c.g = to
			return true
		}
	}
	c.look(from)
	for j, w := range c.b {
		if to[j] = from[j]; w > 0 && c.columns[j] > 0 {
			to[j] += c.Epsilon * math.Log(w/c.columns[j])
		}
	}
	c.look(to)
	if c.off() < was || c.dual > dual {
		c.g = to
		return true
	}
	c.look(from)
	return false
}

// near makes one of Sinkhorn's steps where a column has less than a third or more than
// three times its weight: the dual hardly tells of one that is next to empty, whose step of
// Newton's goes as far as it likes.
func (c *climb) near() {
	far := false
	to := slices.Clone(c.g)
	for j, w := range c.b {
		if w > 0 {
			if to[j] += c.Epsilon * math.Log(w/c.columns[j]); c.columns[j] == 0 {
				to[j] = c.implied(j)
			}
			far = far || math.Abs(to[j]-c.g[j]) > c.Epsilon
		}
	}
	if far {
		c.g = to
		c.look(to)
	}
}

// direction solves for Newton's step, in units of ε, and leaves it in slope.
func (c *climb) direction() {
	h, m := c.hessian, c.M
	clear(h)
	var largest float64
	for j, w := range c.columns {
		h[j*m+j], largest = w, max(largest, w)
		c.slope[j] = c.b[j] - w
	}
	for from := 0; from < len(c.entries); {
		to, i := from, c.entries[from].I
		for to < len(c.entries) && c.entries[to].I == i {
			to++
		}
		row := c.entries[from:to]
		for _, e := range row {
			share := e.Mass / c.a[i]
			for _, o := range row {
				if o.J > e.J {
					break
				}
				h[e.J*m+o.J] -= share * o.Mass
			}
		}
		from = to
	}
	// The constant changes nothing, nor do parts of the plan that hardly touch: there the
	// step stays small.
	for j := range m {
		h[j*m+j] += 1e-10 * largest
	}
	solve(h, c.slope, m)
}

// solve solves h·x = y for a positive definite h, [m, m] of which the lower half is given,
// and leaves x in y. A part that is singular to rounding gets 0. What is 0 in front of a row
// stays so, and is not looked at: a plan has few entries.
func solve(h, y []float64, m int) {
	first := make([]int, m) // that is not 0
	for j := range m {
		row := h[j*m : j*m+j+1]
		for first[j] < j && row[first[j]] == 0 {
			first[j]++
		}
		for k := first[j]; k < j; k++ {
			other := h[k*m : k*m+k+1]
			sum := row[k]
			for l := max(first[j], first[k]); l < k; l++ {
				sum -= row[l] * other[l]
			}
			row[k] = sum * other[k] // which holds 1/L_kk
		}
		sum := row[j]
		for _, v := range row[first[j]:j] {
			sum -= v * v
		}
		if row[j] = 0; sum > 0 {
			row[j] = 1 / math.Sqrt(sum)
		}
	}
	for j := range m {
		row := h[j*m : j*m+j+1]
		sum := y[j]
		for k := first[j]; k < j; k++ {
			sum -= row[k] * y[k]
		}
		y[j] = sum * row[j]
	}
	for j := m - 1; j >= 0; j-- {
		y[j] *= h[j*m+j]
		for k := first[j]; k < j; k++ {
			y[k] -= h[j*m+k] * y[j]
		}
	}
}
