package fair

import "math"

// penalty is a measure ψ of unfairness of scores that is the most that anybody who
// chooses dual variables can reach, and a mean over records for each choice:
//
//	max over u of (1/n)·Σ_i ψ(u, p_i, a_i)
//
// with p_i the score of record i and a_i its group. So the gradient of each record can
// be clipped by itself, which that of the maximum could not.
type penalty interface {
	// start returns dual variables before anything is known of the records.
	start() []float64
	// slopes returns ∂ψ/∂p, and writes ∂ψ/∂u to by.
	slopes(u []float64, p float64, a int, by []float64) float64
	// project moves dual variables to the nearest that may be chosen.
	project(u []float64)
}

// ermi is the exponential Rényi mutual information of decisions and groups, Σ_ja
// P(j, a)²/(P(j)·P(a)) − 1, with decision 1 by probability p (Lowy, Gupta & Razaviyayn
// 2023). Its dual variables are W_aj, for which
//
//	ψ = −Σ_aj W_aj²·F_j + 2·Σ_j W_aj·F_j/√P_a − 1,   F = (1−p, p)
//
// and the best are P(j, a)/(√P_a·P(j)).
type ermi struct{ share [2]float64 } // P_a, which is public

// start is the best choice for decisions that are independent of groups.
func (e ermi) start() []float64 {
	zero, one := math.Sqrt(e.share[0]), math.Sqrt(e.share[1])
	return []float64{zero, zero, one, one}
}

func (e ermi) slopes(w []float64, p float64, a int, by []float64) (slope float64) {
	own := 1 / math.Sqrt(e.share[a])
	for j, f := range [2]float64{1 - p, p} {
		sign := float64(2*j - 1) // of ∂F_j/∂p
		for b := range 2 {
			weight := w[2*b+j]
			slope -= sign * weight * weight
			by[2*b+j] = -2 * weight * f
			if b == a {
				slope += sign * 2 * weight * own
				by[2*b+j] += 2 * f * own
			}
		}
	}
	return slope
}

// project keeps W where the best choice can be: P(j, a) ≤ P(j).
func (e ermi) project(w []float64) {
	for k := range w {
		w[k] = min(max(w[k], 0), 1/math.Sqrt(e.share[k/2]))
	}
}

// gap is how far the mean scores of groups lie apart, |E[p|A=1] − E[p|A=0]|, whose dual
// variable μ ∈ [−1, 1] is its sign: the Lagrangian of the constraint that there be no gap,
// with a multiplier of up to α/(1−α) (Tran, Fioretto & Van Hentenryck 2021).
type gap struct{ share [2]float64 } // P_a, which is public

func (gap) start() []float64 { return []float64{0} }

func (g gap) slopes(u []float64, p float64, a int, by []float64) float64 {
	weight := float64(2*a-1) / g.share[a]
	by[0] = weight * p
	return u[0] * weight
}

func (gap) project(u []float64) { u[0] = min(max(u[0], -1), 1) }
