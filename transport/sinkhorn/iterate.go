package sinkhorn

import "math"

// ε-scaling: from a part hot of the costs' spread ε falls by cooling at each
// stage, which ends when its marginals are off by less than warm or after
// stageLimit iterations (Schmitzer 2019, Section 3.2). At ε above that part the
// stages take longer than what they save.
const (
	hot        = 0.1
	cooling    = 0.25
	warm       = 0.1
	stageLimit = 20
)

// iterate sweeps until the marginals are met, and measures the result.
func (s Solver) iterate(r *Result, spread float64) {
	state := r.solution
	sweep := func(omega float64) float64 {
		off := state.sweep(omega) / state.mass
		r.Iterations++
		if s.Watch != nil {
			s.Watch(r.Iterations, off)
		}
		return off
	}
	for state.epsilon = max(s.Epsilon, hot*spread); state.epsilon > s.Epsilon; {
		for range min(stageLimit, s.MaxIterations-1-r.Iterations) {
			if sweep(1) < warm {
				break
			}
		}
		state.cool(max(s.Epsilon, state.epsilon*cooling))
	}
	state.loose = true
	pace := pace{omega: 1}
	for r.Iterations < s.MaxIterations {
		off := sweep(pace.omega)
		if off <= s.Tolerance {
			if pace.omega != 1 {
				// Only the plain update leaves the columns exact.
				off = sweep(1)
			}
			if off <= s.Tolerance {
				break
			}
		}
		pace.next(off)
	}
	state.drop()
	r.finish(s.Tolerance)
}

// pace chooses the over-relaxation ω. Near the solution Sinkhorn's iteration is
// linear, its error falls by a factor θ each time, and ω = 2/(1+√(1−θ)) makes
// that ω−1, as in successive over-relaxation (Thibault et al. 2021; Lehmann et
// al. 2021): for θ = 0.99, 0.82. θ is read off the errors, by the relation
// (λ+ω−1)² = λ·ω²·θ between it and the factor λ seen at another ω (Young 1954).
type pace struct {
	omega  float64
	errors [paceWindow + 1]float64 // the last ones, the newest last
	count  int                     // of errors at this omega
}

const (
	paceWindow = 5
	paceLimit  = 1.98
)

func (p *pace) next(off float64) {
	copy(p.errors[:], p.errors[1:])
	p.errors[paceWindow] = off
	if p.count++; p.count <= 2*paceWindow || off > 0.5 {
		return
	}
	p.count = paceWindow
	lambda := min(math.Pow(off/p.errors[0], 1./paceWindow), 1)
	if lambda <= p.omega-1+1e-3 {
		return // as fast as this omega can be
	}
	theta := min((lambda+p.omega-1)*(lambda+p.omega-1)/(lambda*p.omega*p.omega), 1)
	if omega := min(2/(1+math.Sqrt(1-theta)), paceLimit); omega > p.omega+0.005 {
		p.omega, p.count = omega, 0
	}
}
