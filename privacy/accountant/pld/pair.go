// Package pld composes mechanisms by the distribution of their privacy loss: the
// sharpest general method there is.
//
// A mechanism is known here by a dominating pair of distributions (P, Q) on
// neighbouring data (Zhu, Dong & Wang, "Optimal Accounting of Differential
// Privacy via Characteristic Function", 2022), and the pair by its privacy
// profile, the least δ for each ε:
//
//	H(ε) = sup_S P(S) − e^ε·Q(S).
//
// From the profile's values on a grid the package builds a discrete pair whose
// profile connects these dots by lines, in e^ε (Doroshenko, Ghazi, Kamath,
// Kumar & Manurangsi, "Connect the Dots: Tighter Discrete Approximations of
// Privacy Loss Distributions", 2022). A profile is convex in e^ε, so the lines
// lie above it: the discrete pair dominates, and so do its compositions.
//
// Losses of composed mechanisms add up. Their distribution is found by a
// discrete Fourier transform, of the distribution tilted by e^(θ·loss) so that
// the losses that decide about δ are its bulk, not its tail. This makes the
// result accurate relative to δ, however small δ is and however many steps
// there are, and the window that the transform needs small.
package pld

import "math"

// Pair is a dominating pair (P, Q) of one mechanism, known by its privacy
// profile.
type Pair struct {
	// Forward is the profile H(ε) of P against Q for ε ≥ 0: in [0, 1], convex in
	// e^ε, not growing.
	Forward func(epsilon float64) float64
	// Backward is the profile of Q against P, or nil if it is the same.
	Backward func(epsilon float64) float64
}

// Reverse is the pair (Q, P).
func (p Pair) Reverse() Pair {
	if p.Backward == nil {
		return p
	}
	return Pair{Forward: p.Backward, Backward: p.Forward}
}

// excess is H(ε) − (1 − e^ε)⁺ for any ε: what the profile has above that of two
// equal distributions. H_{e^ε}(P‖Q) = 1 − e^ε + e^ε·H_{e^−ε}(Q‖P) gives it below
// 0. It has no large part that second differences would lose digits to.
func (p Pair) excess(epsilon float64) float64 {
	switch {
	case epsilon >= 0:
		return p.Forward(epsilon)
	case p.Backward == nil:
		return math.Exp(epsilon) * p.Forward(-epsilon)
	}
	return math.Exp(epsilon) * p.Backward(-epsilon)
}

// reach is the least ε ≥ 0, to a few per cent above, beyond which a profile is
// within cut of where it ends: 0, but for what is lost with some probability
// whatever ε is.
func reach(profile func(float64) float64, cut float64) float64 {
	const least, most = 0x1p-80, 0x1p80
	lo, hi := least, most
	cut += profile(most)
	if profile(lo) <= cut {
		return lo
	}
	for hi > 1.03*lo {
		if middle := math.Sqrt(lo) * math.Sqrt(hi); profile(middle) <= cut {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi
}

// dots is a discrete pair: atoms of P at increasing losses.
type dots struct {
	loss, mass []float64
	infinite   float64 // P where Q is nothing
}

// connect returns the pair whose profile goes through that of p at the given
// losses, increasing, of which one is 0, by straight lines in e^ε; from (0, 1) on
// the left of all, and level on the right of all.
//
// A profile with slope s to the left and s′ to the right of e^ε belongs to an
// atom of Q of mass s′ − s there, of which P has e^ε times as much. Rounding bends
// some of many dots the wrong way. The lines go below these, from corner to corner
// of the greatest convex function that is nowhere above a dot: a profile is convex
// and nowhere above itself, so this one is as good a bound as the dots are.
func (p Pair) connect(losses []float64) dots {
	d := dots{loss: losses, mass: make([]float64, len(losses))}
	corners := []corner{{dot: -1, loss: math.Inf(-1)}}
	for i := range len(losses) + 1 {
		next := corner{dot: i, loss: math.Inf(1)}
		if i < len(losses) {
			next.loss, next.excess = losses[i], p.excess(losses[i])
		}
		for {
			last := corners[len(corners)-1]
			after, before := last.line(next)
			next.before = before
			if last.dot < 0 {
				break
			}
			if d.mass[last.dot] = after - last.before; last.loss == 0 { // the bend of (1 − e^ε)⁺
				d.mass[last.dot]++
			}
			if d.mass[last.dot] >= 0 {
				break
			}
			d.mass[last.dot] = 0
			corners = corners[:len(corners)-1]
		}
		corners = append(corners, next)
	}
	d.infinite = corners[len(corners)-2].height()
	// All mass is 1. What rounding added or took would be raised to the power of
	// the number of steps.
	sum, largest := 0., 0
	for i, mass := range d.mass {
		if sum += mass; mass > d.mass[largest] {
			largest = i
		}
	}
	d.mass[largest] = max(0, d.mass[largest]+1-d.infinite-sum)
	return d
}

// corner is a dot of a profile where lines meet.
type corner struct {
	dot          int
	loss, excess float64
	before       float64 // the slope to the left, times e^loss; of the excess, which alone bends but at 0
}

// height is the profile at a corner.
func (c corner) height() float64 { return c.excess - min(0, math.Expm1(c.loss)) }

// line returns the slope from one corner to a later one: times e^loss of the first, and
// of the second. Each is that of the excess on its side of 0.
func (c corner) line(to corner) (after, before float64) {
	gap, rise := to.loss-c.loss, to.excess-c.excess
	if c.loss < 0 && to.loss > 0 {
		rise += math.Expm1(c.loss) // of the profile, over its bend
		after = math.Exp(c.loss)
	}
	return after + rise/math.Expm1(gap), rise / -math.Expm1(-gap)
}
