// Package semidebiased is the loss of DP-Sinkhorn (001, with 002 its appendix): how far
// generated labelled rows are from real ones by entropic transport, less a part p of how far
// they are from each other. It computes the loss's gradient by the generated rows, as a graph
// (Program) or on the host with plans that meet their marginals (Exact), beside a number of
// real rows that is left to chance, and clips it and gives it noise (Clipping).
package semidebiased

import (
	"fmt"
	"math"

	"molehill/transport/graph"
)

// Loss is the semi-debiased Sinkhorn loss of generated labelled rows against real
// ones (001 Eq. 6 and Section 4.4):
//
//	2·W(X[0:n], Y) − W(X[0:n], X[n′:n+n′]),   n′ = ⌊n·p⌋,
//
// with the cost ‖x−y‖₂² + m·‖x−y‖₁ of rows, and of one-hot labels times α_c
// behind them.
type Loss struct {
	Debiasing  float64 // p in [0, 1]
	Absolute   float64 // m ≥ 0
	Unsquared  bool    // the cost has no ‖x−y‖₂² (001's ablation)
	LabelScale float64 // α_c ≥ 0
	Classes    int     // of labels, 0 … Classes−1
	Entropy    float64 // λ > 0, in the unit of the cost
	Iterations int     // of Sinkhorn's algorithm, at most
	Tolerance  float64 // of the marginals; 0 for 1e-4
}

// Split returns, for n generated rows that meet the real ones, n + n′, how many are
// generated in all, and n′ = ⌊n·p⌋, those that meet generated ones alone.
func (l Loss) Split(n int) (total, extra int) {
	extra = int(float64(n) * l.Debiasing)
	return n + extra, extra
}

// Check says what is wrong with the settings.
func (l Loss) Check() error {
	switch {
	case !(l.Debiasing >= 0 && l.Debiasing <= 1):
		return fmt.Errorf("semidebiased: debiasing p = %v; it is from 0 to 1", l.Debiasing)
	case !(l.Absolute >= 0) || !(l.LabelScale >= 0):
		return fmt.Errorf("semidebiased: a cost with m = %v and α_c = %v; both are at least 0", l.Absolute, l.LabelScale)
	case l.Unsquared && l.Absolute == 0:
		return fmt.Errorf("semidebiased: a cost without squares and with m = 0 is no cost; set absolute to 1, or leave the squares in")
	case l.Classes < 1:
		return fmt.Errorf("semidebiased: labels of %d classes; take at least 1", l.Classes)
	}
	return l.solver().Check()
}

func (l Loss) solver() graph.Sinkhorn {
	cost := graph.Cost(graph.SquaredL2)
	switch {
	case l.Unsquared:
		cost = graph.Mixture(0, l.Absolute)
	case l.Absolute > 0:
		cost = graph.Mixture(1, l.Absolute)
	}
	return graph.Sinkhorn{Epsilon: l.Entropy, Cost: cost, Iterations: l.Iterations, Tolerance: l.Tolerance}
}

// Largest is the largest cost between rows whose differences have norms ‖·‖₂ and
// ‖·‖₁ of at most these. Labels are two more coordinates of the difference, of α_c each.
func (l Loss) Largest(euclidean, absolute float64) float64 {
	cost := l.Absolute * (absolute + 2*l.LabelScale)
	if !l.Unsquared {
		cost += euclidean*euclidean + 2*l.LabelScale*l.LabelScale
	}
	return cost
}

// CheckIterations says whether Sinkhorn's algorithm has the iterations that λ takes
// to come down from costs of so much (graph.Sinkhorn.Scaling). With fewer the plan is
// one of another λ, and its gradient useless, or not finite.
func (l Loss) CheckIterations(largest float64) error {
	if err := l.CheckCosts(largest); err != nil {
		return err
	}
	blocks := 2 + math.Ceil(max(0, math.Log(largest/16/l.Entropy)/math.Log(4)))
	if least := 10 * blocks; !(float64(l.Iterations) >= least) {
		return fmt.Errorf("semidebiased: %d iterations; costs of up to %.3g beside an entropy of %v take at least %.0f", l.Iterations, largest, l.Entropy, least)
	}
	return nil
}

// dearest is the largest cost whose sums and squares float32 holds.
const dearest = 1e15

// CheckCosts says whether costs of so much can be reckoned with: the gradient of one that
// overflows is none, and noise on it would be paid for.
func (l Loss) CheckCosts(largest float64) error {
	if !(largest <= dearest) {
		return fmt.Errorf("semidebiased: costs of up to %.3g, with absolute = %v and label_scale = %v; single precision reckons with %g at most, take smaller ones", largest, l.Absolute, l.LabelScale, float64(dearest))
	}
	return nil
}
