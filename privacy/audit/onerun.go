package audit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Guesses is how an attacker did who guessed canaries' bits.
type Guesses struct {
	Canaries int // m: fair and independent bits, guessed or not
	Made     int // r: guesses; the attacker abstains on the others
	Right    int // v: guesses that were right
}

func (g Guesses) check(delta, confidence float64) error {
	if g.Right < 0 || g.Right > g.Made || g.Made > g.Canaries {
		return fmt.Errorf("audit: %d right of %d guesses on %d canaries; want 0 ≤ right ≤ guesses ≤ canaries", g.Right, g.Made, g.Canaries)
	}
	if !(delta >= 0 && delta < 1) {
		return fmt.Errorf("audit: δ = %v; want at least 0 and below 1", delta)
	}
	if !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("audit: confidence %v; want it between 0 and 1", confidence)
	}
	return nil
}

// PValue bounds the probability of at least so many right guesses if flipping
// one canary's bit changes the mechanism's output by no more than
// (epsilon, delta)-indistinguishability. Theorem 5.2 of Steinke, Nasr &
// Jagielski, "Privacy Auditing with One (1) Training Run" (2023):
//
//	P[V ≥ v] ≤ P[W ≥ v] + 2mδ·max_{1≤i≤v} P[v−i ≤ W < v]/i,
//	W ~ Binomial(r, e^ε/(1+e^ε)).
//
// At δ = 0 it is their Theorem 3.1. Nothing is assumed of the mechanism or the
// attacker but that the attacker sees no bit and that r does not depend on
// them. It grows with ε and falls with the number of right guesses.
func (g Guesses) PValue(epsilon, delta float64) float64 {
	loss := 2 * float64(g.Canaries) * delta
	switch {
	case g.Right <= 0 || g.Right > g.Made: // what cannot be refutes nothing
		return 1
	case loss > 1:
		// The right side need not grow with ε any more: it says nothing.
		return 1
	}
	right := 1 / (1 + math.Exp(-epsilon))
	p := upperTail(g.Right, g.Made, right)
	if loss > 0 {
		p += loss * worstWindow(g.Right, g.Made, right)
	}
	return min(1, p)
}

// Epsilon is a lower bound, at the given confidence, on every ε for which the
// mechanism is (ε, delta)-private: the least ε that the guesses do not refute.
// It is +Inf at no number of guesses, as e^ε is at most about r/ln(1/(1−confidence)).
func (g Guesses) Epsilon(delta, confidence float64) (float64, error) {
	if err := g.check(delta, confidence); err != nil {
		return 0, err
	}
	refuted := func(epsilon float64) bool { return g.PValue(epsilon, delta) <= 1-confidence }
	if !refuted(0) {
		return 0, nil
	}
	// At ε = 50 every guess may be right with probability 1 − 2·10⁻²²: nothing
	// that can be counted refutes it.
	lo, hi := 0., 50.
	for hi-lo > 1e-9 {
		if middle := (lo + hi) / 2; refuted(middle) {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo, nil
}

// upperTail is P[Binomial(n, p) ≥ k] for 1 ≤ k ≤ n.
func upperTail(k, n int, p float64) float64 {
	if p >= 1 {
		return 1
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// worstWindow is max_{1≤i≤v} P[v−i ≤ W < v]/i for W ~ Binomial(n, p): the
// largest mean of the probabilities below v, counted downwards. They rise to
// the mode and fall behind it, so once one is below the mean, all further ones
// are, and the mean is at its largest.
func worstWindow(v, n int, p float64) float64 {
	k := v - 1
	// Far above the mode probabilities underflow; leave out those too small to
	// count, which the recurrence could not come back from.
	if mode := min(k, int(float64(n+1)*p)); logProbability(k, n, p) < -600 {
		lo, hi := mode, k // in reach at lo, out of it at hi
		for hi-lo > 1 {
			if middle := lo + (hi-lo)/2; logProbability(middle, n, p) < -600 {
				hi = middle
			} else {
				lo = middle
			}
		}
		k = lo
	}
	odds := (1 - p) / p
	probability := math.Exp(logProbability(k, n, p))
	var sum, worst float64
	for ; k >= 0; k-- {
		sum += probability
		mean := sum / float64(v-k)
		if mean < worst {
			break
		}
		worst = mean
		probability *= float64(k) / float64(n-k+1) * odds
	}
	return worst
}

// logProbability is ln P[Binomial(n, p) = k].
func logProbability(k, n int, p float64) float64 {
	if p >= 1 {
		if k == n {
			return 0
		}
		return math.Inf(-1)
	}
	all, _ := math.Lgamma(float64(n + 1))
	chosen, _ := math.Lgamma(float64(k + 1))
	left, _ := math.Lgamma(float64(n - k + 1))
	return all - chosen - left + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
}
