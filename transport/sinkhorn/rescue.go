package sinkhorn

import (
	"math"

	"molehill/transport/sinkhorn/internal/kernel"
)

// rescueRow returns the update log(a_i/Σ_j P_ij) of a row whose sum left the
// range, by its largest entry e^(u+peak). It leaves P_ij·e^−(u+peak) in plan.
func (s *state) rescueRow(plan, costs []float64, u, logA float64) (update, peak float64) {
	rate := 1 / s.epsilon
	peak = math.Inf(-1)
	for j, c := range costs {
		peak = max(peak, s.v[j]-rate*c)
	}
	inner := kernel.PlanRow(plan, s.v, costs, -peak, rate)
	return logA - u - peak - math.Log(inner), peak
}

// rescueColumns updates g_j of columns whose sums left the range, and returns how
// much mass that moves.
func (s *state) rescueColumns(lost []int) (off float64) {
	if len(lost) == 0 {
		return 0
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
		change := s.change(s.g[j], update)
		off += moved(s.logB[j]-update, change)
		s.g[j] += change
	}
	return off
}
