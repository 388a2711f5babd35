package sinkhorn

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// flat says whether ε is so large that plans are a⊗b but for 1e-7 of it, and the
// value a difference of numbers that are as near to each other.
func (s *state) flat() bool { return s.epsilon > 1e7*s.rows.size }

// refine updates f and g of balanced transport once more, in terms of what their
// exponentials differ from 1 by: of potentials far below ε, sums near 1 hold little.
func (s *state) refine() {
	f, g := make([]float64, len(s.a)), make([]float64, len(s.b))
	middle := floats.Sum(s.g) / float64(len(s.g))
	s.byRow(false, s.clearChunk, func(_ scratch, chunk, i int, costs []float64) {
		var sum float64
		for j, c := range costs {
			sum += s.b[j] * math.Expm1(s.g[j]-middle-c/s.epsilon)
		}
		f[i] = -math.Log1p(sum)
		for j, c := range costs {
			s.columns[chunk][j] += s.a[i] * math.Expm1(f[i]-c/s.epsilon)
		}
	})
	s.gather()
	for j, sum := range s.sums {
		g[j] = -math.Log1p(sum)
	}
	if s.same { // f and g of a solution differ by a constant
		floats.AddTo(s.f, f, g)
		floats.Scale(0.5, s.f)
		return
	}
	copy(s.f, f)
	copy(s.g, g)
}

// independent is what a plan P is beside a⊗b, entry by entry, so that nothing
// cancels.
type independent struct {
	excess     float64 // Σ (P − a⊗b)
	divergence float64 // KL(P | a⊗b)
	cost       float64 // ⟨C, a⊗b⟩
}

func (s *state) independent() independent {
	parts := make([]independent, len(s.columns))
	s.byRow(false, func(int) {}, func(_ scratch, chunk, i int, costs []float64) {
		p := &parts[chunk]
		for j, c := range costs {
			product, exponent := s.a[i]*s.b[j], s.f[i]+s.g[j]-c/s.epsilon
			more := math.Expm1(exponent)
			p.excess += product * more
			p.divergence += product * ((1+more)*exponent - more)
			p.cost += product * c
		}
	})
	var total independent
	for _, p := range parts {
		total.excess += p.excess
		total.divergence += p.divergence
		total.cost += p.cost
	}
	return total
}
