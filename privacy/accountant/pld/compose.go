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
	o, tilt := c.outline(delta, func(o outline) float64 { return o.tiltForDelta(delta) })
	if highest := o.highest(); highest < nothing && o.infinite() <= delta {
		return highest
	}
	// Nothing but accuracy depends on the tilt and on how fine the dots are. A bad
	// aim shows, and so does an ε that is small beside the losses that were aimed
	// at.
	scale := math.Inf(1)
	for range 4 {
		found := c.curve(o, tilt, scale)
		var hit bool
		if epsilon, hit = found.epsilon(delta); epsilon == 0 || hit && min(scale, found.deviation) < 1.2*epsilon {
			break
		}
		scale = epsilon
		o, tilt = c.outline(delta, func(o outline) float64 { return o.tiltToSee(epsilon, delta) })
	}
	return epsilon
}

func (c Composition) forwardDelta(epsilon float64) float64 {
	if profile, ok := c.single(); ok {
		return min(1, profile(epsilon)*(1+roundOff))
	}
	// How far the tails matter depends on the δ that comes out.
	delta := 1e-6
	aim := func(o outline) float64 { return o.tiltForMean(epsilon) }
	o, tilt := c.outline(delta, aim)
	for rough := o.logDelta(tilt); rough < math.Log(delta) && delta > 1e-200; rough = o.logDelta(tilt) {
		delta *= delta
		o, tilt = c.outline(delta, aim)
	}
	if highest := o.highest(); highest <= epsilon {
		return o.infinite()
	}
	first := c.curve(o, tilt, epsilon).delta(epsilon)
	if first < 1e-200 || first > 0.1 {
		return first
	}
	o, tilt = c.outline(first, func(o outline) float64 { return o.tiltToSee(epsilon, first) })
	return min(first, c.curve(o, tilt, epsilon).delta(epsilon)) // both are bounds
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

// nothing is an ε that is not worth computing.
const nothing = 1e-9

// roundOff is more than the relative error of a profile.
const roundOff = 1e-10
