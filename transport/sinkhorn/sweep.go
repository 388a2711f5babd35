package sinkhorn

import (
	"math"
	"slices"
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
	s.v, s.sums = make([]float64, m), make([]float64, m)
	s.columns, s.errors = make([][]float64, chunks(n)), make([]float64, chunks(n))
	for chunk := range s.columns {
		s.columns[chunk] = make([]float64, m)
	}
	return s
}

// keep makes room for the plan.
func (s *state) keep() {
	n, m := len(s.a), len(s.b)
	s.plan = buffer(n * m)
	s.fWas, s.left = make([]float64, n), make([]float64, n)
	if s.gWas, s.right = s.fWas, s.left; !s.same {
		s.gWas, s.right = make([]float64, m), make([]float64, m)
	}
}

// drop gives that room back.
func (s *state) drop() {
	if s.plan != nil {
		discard(s.plan)
		s.plan, s.fWas, s.gWas, s.left, s.right = nil, nil, nil, nil, nil
	}
}

const (
	refreshAfter = 10 // sweeps
	farthest     = 20 // that a potential drifts from where P is from
)

// refresh says whether the next sweep computes P anew, and if not makes left and
// right.
func (s *state) refresh() bool {
	if s.plan == nil {
		return true
	}
	if s.sinceRefresh > 0 && s.sinceRefresh < refreshAfter && s.drift(s.left, s.f, s.fWas) &&
		(s.same || s.drift(s.right, s.g, s.gWas)) {
		s.sinceRefresh++
		return false
	}
	copy(s.fWas, s.f)
	copy(s.gWas, s.g)
	s.sinceRefresh = 1
	return true
}

// drift writes exp(now − was), unless that is too far.
func (s *state) drift(dst, now, was []float64) bool {
	for i, v := range now {
		if dst[i] = v - was[i]; !(math.Abs(dst[i]) < farthest) {
			return false
		}
	}
	for i, d := range dst {
		dst[i] = math.Exp(d)
	}
	return true
}

// row returns row i of P, first … m−1, for as long as the sweep looks at it, as
// product·row with what product is, and its sum. Fresh is what refresh said.
func (s *state) row(w scratch, i, first int, costs []float64, fresh bool) (row []float64, product, sum float64) {
	m := len(s.b)
	row = w.plan
	if s.plan != nil {
		row = s.plan[i*m : (i+1)*m]
	}
	if fresh {
		return row, 1, planRow(row[first:], s.v[first:], costs[first:], s.f[i]+s.logA[i], 1/s.epsilon)
	}
	return row, s.left[i], s.left[i] * dotRow(row[first:], s.right[first:])
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

// step returns the change of a potential whose update is log(share/sum), and
// how much mass that moves: |share − sum| where marginals must be met.
func (s *state) step(potential, sum, update float64) (change, moved float64) {
	if s.reach == 0 {
		return update, math.Abs(sum * math.Expm1(update))
	}
	change = s.damping()*(potential+update) - potential
	return change, math.Abs(sum * math.Expm1(change))
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
	each(len(s.columns), s.rows.workers, s.scratch, func(w scratch, chunk int) {
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
		addScaled(s.sums, columns, 1)
		errors += s.errors[chunk]
	}
	return errors
}

func (s *state) loadColumns() {
	for j := range s.v {
		s.v[j] = s.g[j] + s.logB[j]
	}
}

// sweep updates f and then g, both over-relaxed by omega (1: as they are), and
// returns how far the marginals were off on the way: the rows' before the
// update and, unless the update before made them exact, the columns'.
func (s *state) sweep(omega float64) (off float64) {
	if s.same {
		return s.sweepSame()
	}
	s.loadColumns()
	fresh := s.refresh()
	lostRows := make([]bool, len(s.columns))
	s.byRow(false, s.clearChunk, func(w scratch, chunk, i int, costs []float64) {
		row, product, sum := s.row(w, i, 0, costs, fresh)
		if !(sum > smallest && sum < largest) {
			u := s.f[i] + s.logA[i]
			update, peak := s.rescueRow(row, costs, u, s.logA[i])
			change, _ := s.step(s.f[i], 0, update)
			s.f[i] += change
			s.errors[chunk] += s.a[i]
			scaling := math.Exp(u + change + peak)
			if !fresh {
				for j, r := range s.right {
					row[j] /= r
				}
			}
			addScaled(s.columns[chunk], row, scaling)
			lostRows[chunk] = true
			return
		}
		change, scaling, moved := s.update(s.f[i], s.a[i], sum, omega)
		s.errors[chunk] += moved
		s.f[i] += change
		addScaled(s.columns[chunk], row, product*scaling)
	})
	off = s.gather()
	if !fresh {
		for j, r := range s.right {
			s.sums[j] *= r
		}
	}
	if slices.Contains(lostRows, true) { // their rows of P are not what they were
		s.sinceRefresh = 0
	}
	var columnsOff float64
	var lost []int
	for j, sum := range s.sums {
		if !(sum > smallest && sum < largest) {
			lost = append(lost, j)
			columnsOff += s.b[j]
			continue
		}
		change, _, moved := s.update(s.g[j], s.b[j], sum, omega)
		columnsOff += moved
		s.g[j] += change
	}
	s.rescueColumns(lost)
	if s.reach != 0 {
		s.center()
	}
	if omega != 1 || s.reach != 0 || len(lost) > 0 {
		off += columnsOff
	}
	return off
}

// update returns the change of a potential by its row's share and sum, over-
// relaxed, the factor e^change that it scales the row by, and how much mass that
// would move if it were not over-relaxed.
func (s *state) update(potential, share, sum, omega float64) (change, scaling, moved float64) {
	ratio := share / sum
	if s.reach != 0 {
		change, moved = s.step(potential, sum, math.Log(ratio))
		ratio = math.Exp(change)
	} else {
		change, moved = math.Log(ratio), math.Abs(share-sum)
	}
	if omega != 1 {
		change, ratio = s.relaxed(change, ratio, omega)
	}
	return change, ratio, moved
}

// relaxed returns a change t times omega, and its exponential, for ratio = e^t.
// If omega goes so far that the dual value would fall below what it is without
// any change, omega gives way. So the dual value never falls, and over-relaxed
// sweeps converge from everywhere as plain ones do (Thibault et al. 2021, Section
// 3).
func (s *state) relaxed(t, ratio, omega float64) (change, scaling float64) {
	for omega > 1 {
		change = omega * t
		scaling = math.Exp(change)
		if s.gain(t, ratio, change, scaling) >= 0 {
			return change, scaling
		}
		if omega = 1 + (omega-1)/2; omega < 1.01 {
			break
		}
	}
	return t, ratio
}

// gain is what a change x of a potential, whose best change is t, adds to the
// dual value, in units of ε times the sum s of its row. Of the value
// a·x − s·(eˣ−1) it moves, and with it e^t = a/s, remains e^t·x − (eˣ−1); in
// unbalanced transport R·e^(t+t/R)·(1−e^(−x/R)) with R = ρ/ε takes the place of
// e^t·x.
func (s *state) gain(t, ratio, x, scaling float64) float64 {
	if s.reach == 0 {
		return ratio*x - (scaling - 1)
	}
	r := s.reach / s.epsilon
	return -r*ratio*math.Exp(t/r)*math.Expm1(-x/r) - (scaling - 1)
}

// sweepSame is the sweep of a measure and itself, where f = g and P is
// symmetric. It averages f with its update, which converges at least as fast as
// ½ an iteration for positive definite kernels (Feydy et al. 2019, Section 3),
// and computes the upper triangle of P alone.
func (s *state) sweepSame() (off float64) {
	s.loadColumns()
	fresh := s.refresh()
	s.byRow(true, s.clearChunk, func(w scratch, chunk, i int, costs []float64) {
		row, product, sum := s.row(w, i, i, costs, fresh)
		columns := s.columns[chunk]
		columns[i] += sum / product
		addScaled(columns[i+1:], row[i+1:], product)
	})
	s.gather()
	if !fresh {
		for i, l := range s.left {
			s.sums[i] *= l
		}
	}
	w := s.scratch()
	for i, sum := range s.sums {
		var update float64
		if sum > smallest && sum < largest {
			update = math.Log(s.a[i] / sum)
		} else {
			from := i / rowsAtOnce * rowsAtOnce
			costs := s.rows.at(w.costs, from, min(from+rowsAtOnce, len(s.a)), 0)
			update, _ = s.rescueRow(w.plan, costs[(i-from)*len(s.b):][:len(s.b)], s.v[i], s.logA[i])
			sum = s.a[i]
		}
		change, moved := s.step(s.f[i], sum, update)
		off += 2 * moved
		s.f[i] += change / 2
	}
	return off
}

// rescueRow returns the update log(a_i/Σ_j P_ij) of a row whose sum left the
// range, by its largest entry e^(u+peak). It leaves P_ij·e^−(u+peak) in plan.
func (s *state) rescueRow(plan, costs []float64, u, logA float64) (update, peak float64) {
	rate := 1 / s.epsilon
	peak = math.Inf(-1)
	for j, c := range costs {
		peak = max(peak, s.v[j]-rate*c)
	}
	inner := planRow(plan, s.v, costs, -peak, rate)
	return logA - u - peak - math.Log(inner), peak
}

// rescueColumns updates g_j of columns whose sums left the range.
func (s *state) rescueColumns(lost []int) {
	if len(lost) == 0 {
		return
	}
	m, rate := len(s.b), 1/s.epsilon
	w := s.scratch()
	peaks, sums := make([]float64, len(lost)), make([]float64, len(lost))
	for k := range peaks {
		peaks[k] = math.Inf(-1)
	}
	for from := 0; from < len(s.a); from += rowsAtOnce {
		to := min(from+rowsAtOnce, len(s.a))
		costs := s.rows.at(w.costs, from, to, 0)
		for i := from; i < to; i++ {
			u := s.f[i] + s.logA[i]
			for k, j := range lost {
				x := u - rate*costs[(i-from)*m+j]
				if x > peaks[k] {
					sums[k] = sums[k]*math.Exp(peaks[k]-x) + 1
					peaks[k] = x
				} else {
					sums[k] += math.Exp(x - peaks[k])
				}
			}
		}
	}
	for k, j := range lost {
		update := -s.g[j] - peaks[k] - math.Log(sums[k])
		change, _ := s.step(s.g[j], 0, update)
		s.g[j] += change
	}
}

// center shifts mass between the potentials of unbalanced transport, f + λ and
// g − λ with the best λ, which leaves the plan as it is. Without it that shift
// alone takes of the order of ρ/ε iterations (Séjourné, Vialard & Peyré 2022).
func (s *state) center() {
	reach := s.reach / s.epsilon
	shift := reach / 2 * (s.logMass(s.f, s.logA, reach) - s.logMass(s.g, s.logB, reach))
	for i := range s.f {
		s.f[i] += shift
	}
	for j := range s.g {
		s.g[j] -= shift
	}
}

// logMass is log Σ_i w_i·e^(−potential_i/reach).
func (s *state) logMass(potential, logWeights []float64, reach float64) float64 {
	peak := math.Inf(-1)
	for i, p := range potential {
		peak = max(peak, logWeights[i]-p/reach)
	}
	var sum float64
	for i, p := range potential {
		sum += math.Exp(logWeights[i] - p/reach - peak)
	}
	return peak + math.Log(sum)
}
