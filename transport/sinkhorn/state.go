package sinkhorn

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
	"molehill/transport/sinkhorn/internal/kernel"
)

// state is a solution on its way. Potentials are in units of ε, so that
//
//	P_ij = a_i·b_j·exp(f_i + g_j − C_ij/ε) = exp(u_i + v_j − C_ij/ε)
//
// with u = f + log a and v = g + log b.
//
// A sweep works on the plan P itself. After an update of g no entry of P
// exceeds a column's share b_j, so that its row sums s need no subtraction of a
// maximum, and f_i ← f_i + log(a_i/s_i) is the log-domain update of f_i. The same
// row of P, scaled by a_i/s_i while it is in the cache, is then added to the
// column sums that update g: one pass over the matrix in an iteration, where the
// two updates of the textbook take four. A row or column whose sum leaves the
// range of double precision falls back to those.
//
// Where there is room for it, P is kept as it was at potentials f⁰ and g⁰, and
// sweeps go on with exp(f−f⁰)·P·exp(g−g⁰), one product in place of an exponential,
// until the potentials have drifted or enough sweeps have passed (the absorption
// of Schmitzer 2019, Section 3.1).
type state struct {
	rows       *rows
	a, b       []float64
	logA, logB []float64
	f, g       []float64
	epsilon    float64
	reach      float64 // ρ; 0: balanced
	same       bool    // x and y are one measure, f and g one slice
	loose      bool    // no sweep has met the columns yet, at this ε
	mass       float64 // what marginal errors are relative to: the mean mass of x and y

	plan         []float64 // P at f⁰ and g⁰, [n, m]; nil: not kept
	fWas, gWas   []float64 // f⁰ and g⁰
	left, right  []float64 // exp(f−f⁰), [n], and exp(g−g⁰), [m]
	sinceRefresh int       // sweeps; 0: P is to be computed

	v       []float64   // scratch, [m]
	sums    []float64   // column sums, [m]
	columns [][]float64 // the same by chunk of rows, [chunks][m]
	errors  []float64   // of rows, by chunk
}

// The range of sums that are taken as they are.
const smallest, largest = 1e-280, 1e280

func newState(r *rows, a, b []float64, reach float64, same bool) *state {
	n, m := len(a), len(b)
	s := &state{rows: r, a: a, b: b, reach: reach, same: same, logA: logs(a), logB: logs(b), f: make([]float64, n)}
	if s.g = s.f; !same {
		s.g = make([]float64, m)
	}
	s.mass = 1
	if reach != 0 {
		s.mass = (floats.Sum(a) + floats.Sum(b)) / 2
	}
	s.v, s.sums = make([]float64, m), make([]float64, m)
	s.columns, s.errors = make([][]float64, chunks(n)), make([]float64, chunks(n))
	for chunk := range s.columns {
		s.columns[chunk] = make([]float64, m)
	}
	return s
}

func logs(weights []float64) []float64 {
	logs := make([]float64, len(weights))
	for i, w := range weights {
		logs[i] = math.Log(w)
	}
	return logs
}

// cool changes ε and keeps the potentials in the unit of the cost.
func (s *state) cool(epsilon float64) {
	ratio := s.epsilon / epsilon
	scale(s.f, ratio)
	if !s.same {
		scale(s.g, ratio)
	}
	s.epsilon = epsilon
	s.sinceRefresh = 0
}

func scale(values []float64, factor float64) {
	for i := range values {
		values[i] *= factor
	}
}

// damping is κ = ρ/(ρ+ε): what unbalanced transport leaves of an update.
func (s *state) damping() float64 {
	if s.reach == 0 {
		return 1
	}
	return s.reach / (s.reach + s.epsilon)
}

// change returns that of a potential whose update is log(share/sum).
func (s *state) change(potential, update float64) float64 {
	if s.reach == 0 {
		return update
	}
	return s.damping()*(potential+update) - potential
}

// moved is how much mass a change of its potential moves to or from a row whose
// sum has the given logarithm, however large or small that is.
func moved(logSum, change float64) float64 {
	const limit = 600 // of what has an exponential
	return math.Abs(math.Exp(min(logSum+change, limit)) - math.Exp(min(logSum, limit)))
}

// scratch is the memory of one core: costs of rowsAtOnce rows, unless they are
// held, and a row of the plan.
type scratch struct{ costs, plan []float64 }

func (s *state) scratch() scratch {
	m := len(s.b)
	w := scratch{plan: make([]float64, m)}
	if s.rows.held == nil {
		w.costs = make([]float64, rowsAtOnce*m)
	}
	return w
}

// byRow calls visit for every row i with its costs, in chunks on all cores;
// start and end frame a chunk. Costs of columns before i are meaningless if the
// upper triangle is enough.
func (s *state) byRow(upper bool, start func(chunk int), visit func(w scratch, chunk, i int, costs []float64)) {
	n, m := len(s.a), len(s.b)
	transport.ParallelOn(s.rows.workers, len(s.columns), s.scratch, func(w scratch, chunk int) {
		start(chunk)
		first, last := bounds(n, chunk)
		for from := first; from < last; from += rowsAtOnce {
			to, column := min(from+rowsAtOnce, last), 0
			if upper {
				column = from
			}
			costs := s.rows.at(w.costs, from, to, column)
			for i := from; i < to; i++ {
				visit(w, chunk, i, costs[(i-from)*m:(i-from+1)*m])
			}
		}
	})
}

// clearChunk is what a sweep starts a chunk with.
func (s *state) clearChunk(chunk int) {
	clear(s.columns[chunk])
	s.errors[chunk] = 0
}

// gather adds up the chunks.
func (s *state) gather() (errors float64) {
	clear(s.sums)
	for chunk, columns := range s.columns {
		kernel.AddScaled(s.sums, columns, 1)
		errors += s.errors[chunk]
	}
	return errors
}

func (s *state) loadColumns() {
	for j := range s.v {
		s.v[j] = s.g[j] + s.logB[j]
	}
}

// start takes potentials to start from, for costs from low to high.
//
// With the middle of g taken off it and added to f, a solution's g is within half
// of high−low of 0 and f of the costs: softened minima are means. Balanced
// potentials are brought there, which takes them no further from the solution, and
// makes sure that rounding leaves something of the costs beside them.
func (k kept) start(s *state, p *Potentials, low, high float64) error {
	if len(p.F) != k.n || len(p.G) != k.m {
		return fmt.Errorf("sinkhorn: potentials of %d and %d points to start %d and %d from; sizes must agree", len(p.F), len(p.G), k.n, k.m)
	}
	copy(s.g, pick(p.G, k.y))
	copy(s.f, pick(p.F, k.x)) // last, for where f is g
	half := (high - low) / 2
	switch {
	case s.reach != 0:
	case s.same:
		bring(s.f, -s.rows.offset/2, low/2-half/2, high/2+half/2)
	default:
		middle := slices.Min(s.g)/2 + slices.Max(s.g)/2
		bring(s.g, -middle, -half, half)
		bring(s.f, middle-s.rows.offset, low-half, high+half)
	}
	for _, potential := range [][]float64{s.f, s.g} {
		for _, v := range potential {
			if v /= s.epsilon; math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("sinkhorn: a potential to start from is %v in units of ε; start from those of a Result, or from none", v)
			}
		}
	}
	scale(s.f, 1/s.epsilon)
	if !s.same {
		scale(s.g, 1/s.epsilon)
	}
	return nil
}

// bring shifts values and cuts them off at low and high.
func bring(values []float64, shift, low, high float64) {
	for i, v := range values {
		values[i] = min(max(v+shift, low), high)
	}
}
