package sinkhorn

import (
	"math"

	"molehill/transport/sinkhorn/internal/kernel"
)

// keep makes room for the plan.
func (s *state) keep() {
	n, m := len(s.a), len(s.b)
	s.plan = kernel.Buffer(n * m)
	s.fWas, s.left = make([]float64, n), make([]float64, n)
	if s.gWas, s.right = s.fWas, s.left; !s.same {
		s.gWas, s.right = make([]float64, m), make([]float64, m)
	}
}

// drop gives that room back.
func (s *state) drop() {
	if s.plan != nil {
		kernel.Discard(s.plan)
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
		return row, 1, kernel.PlanRow(row[first:], s.v[first:], costs[first:], s.f[i]+s.logA[i], 1/s.epsilon)
	}
	return row, s.left[i], s.left[i] * kernel.DotRow(row[first:], s.right[first:])
}
