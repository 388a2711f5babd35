package pld

import "math"

// Part is a mechanism that is used Count times, with fresh randomness each time.
type Part struct {
	Pair
	Count float64 // whole, at least 1
}

// Composition is several mechanisms, each free to depend on what the earlier
// ones released.
type Composition struct {
	Parts []Part // at least one
	// Interval is the distance between the dots that are connected, on the axis
	// of the privacy loss; 0 for one that costs well below 1 % of ε.
	Interval float64
}

// Epsilon returns an ε ≥ 0 for delta in (0, 1): an upper bound, above the least
// one by what the dots cost.
func (c Composition) Epsilon(delta float64) float64 {
	return c.larger(func(c Composition) float64 { return c.forwardEpsilon(delta) })
}

// Delta returns a δ for a finite epsilon ≥ 0: an upper bound.
func (c Composition) Delta(epsilon float64) float64 {
	return c.larger(func(c Composition) float64 { return c.forwardDelta(epsilon) })
}

// larger is the larger f of both directions.
func (c Composition) larger(f func(Composition) float64) float64 {
	reverse, differs := c.reverse()
	if !differs {
		return f(c)
	}
	backward := make(chan float64, 1)
	go func() { backward <- f(reverse) }()
	return max(f(c), <-backward)
}

// reverse is the composition with P and Q exchanged, and whether that matters.
func (c Composition) reverse() (r Composition, differs bool) {
	r.Interval = c.Interval
	for _, part := range c.Parts {
		differs = differs || part.Backward != nil
		r.Parts = append(r.Parts, Part{part.Reverse(), part.Count})
	}
	return r, differs
}

// single returns the profile of a composition that is none.
func (c Composition) single() (profile func(float64) float64, ok bool) {
	if len(c.Parts) != 1 || c.Parts[0].Count != 1 || c.Interval != 0 {
		return nil, false
	}
	return c.Parts[0].Forward, true
}

func (c Composition) forwardEpsilon(delta float64) (epsilon float64) {
	if profile, ok := c.single(); ok {
		return leastEpsilon(profile, delta)
	}
	o := c.outline(delta)
	tilt := o.tiltForDelta(delta)
	// Nothing but accuracy depends on the tilt; a bad aim shows.
	for range 3 {
		var hit bool
		if epsilon, hit = c.curve(o, tilt).epsilon(delta); hit {
			break
		}
		tilt = o.tiltForMean(epsilon)
	}
	return epsilon
}

func (c Composition) forwardDelta(epsilon float64) float64 {
	if profile, ok := c.single(); ok {
		return min(1, profile(epsilon)*(1+roundOff))
	}
	// How far the tails matter depends on the δ that comes out.
	o := c.outline(1e-9)
	tilt := o.tiltForMean(epsilon)
	if rough := math.Exp(o.logDelta(tilt)); rough < 1e-6 {
		o = c.outline(max(rough, 1e-200))
		tilt = o.tiltForMean(epsilon)
	}
	return c.curve(o, tilt).delta(epsilon)
}

// leastEpsilon reads a profile backwards.
func leastEpsilon(profile func(float64) float64, delta float64) float64 {
	enough := func(epsilon float64) bool { return profile(epsilon)*(1+roundOff) <= delta }
	if enough(0) {
		return 0
	}
	lo, hi := 0., 1.
	for !enough(hi) {
		if lo, hi = hi, 2*hi; math.IsInf(hi, 1) {
			return hi
		}
	}
	for hi-lo > 1e-12*hi {
		if middle := lo + (hi-lo)/2; enough(middle) {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi
}

// roundOff is more than the relative error of a profile.
const roundOff = 1e-10
