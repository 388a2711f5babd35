package sinkhorn

import (
	"math"
	"slices"

	"molehill/transport/sinkhorn/internal/kernel"
)

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
			change := s.change(s.f[i], update)
			s.f[i] += change
			s.errors[chunk] += moved(s.logA[i]-update, change)
			if math.Exp(s.logA[i]-update+change) < smallest {
				// In unbalanced transport that is how it may stay.
				clear(row)
				return
			}
			scaling := math.Exp(u + change + peak)
			if !fresh {
				for j, r := range s.right {
					row[j] /= r
				}
			}
			kernel.AddScaled(s.columns[chunk], row, scaling)
			lostRows[chunk] = true
			return
		}
		change, scaling, moved := s.update(s.f[i], s.a[i], sum, omega)
		s.errors[chunk] += moved
		s.f[i] += change
		kernel.AddScaled(s.columns[chunk], row, product*scaling)
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
			continue
		}
		change, _, moved := s.update(s.g[j], s.b[j], sum, omega)
		columnsOff += moved
		s.g[j] += change
	}
	columnsOff += s.rescueColumns(lost)
	if s.reach != 0 {
		s.center()
	}
	if omega != 1 || s.reach != 0 || len(lost) > 0 || s.loose {
		off += columnsOff
	}
	s.loose = false
	return off
}

// update returns the change of a potential by its row's share and sum, over-
// relaxed, the factor e^change that it scales the row by, and how much mass that
// would move if it were not over-relaxed.
func (s *state) update(potential, share, sum, omega float64) (change, scaling, moved float64) {
	ratio := share / sum
	if s.reach != 0 {
		change = s.change(potential, math.Log(ratio))
		moved = math.Abs(sum * math.Expm1(change))
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
		kernel.AddScaled(columns[i+1:], row[i+1:], product)
	})
	s.gather()
	if !fresh {
		for i, l := range s.left {
			s.sums[i] *= l
		}
	}
	w := s.scratch()
	for i, sum := range s.sums {
		logSum := math.Log(sum)
		if !(sum > smallest && sum < largest) {
			from := i / rowsAtOnce * rowsAtOnce
			costs := s.rows.at(w.costs, from, min(from+rowsAtOnce, len(s.a)), 0)
			update, _ := s.rescueRow(w.plan, costs[(i-from)*len(s.b):][:len(s.b)], s.v[i], s.logA[i])
			logSum = s.logA[i] - update
		}
		change := s.change(s.f[i], s.logA[i]-logSum)
		off += 2 * moved(logSum, change)
		s.f[i] += change / 2
	}
	return off
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
