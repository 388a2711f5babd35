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
	never := func(bool) bool { return false }
	reverse, differs := c.reverse()
	if !differs {
		return c.forwardEpsilon(delta, never)
	}
	// Both directions at once. Most samples are worse one way round by far; once
	// the forward one is known, the other need not be told to the last digit.
	known, backward := make(chan float64, 1), make(chan float64, 1)
	go func() {
		backward <- reverse.forwardEpsilon(delta, func(costly bool) bool {
			if costly || len(known) > 0 {
				epsilon := <-known
				known <- epsilon
				return reverse.atMost(epsilon, delta)
			}
			return false
		})
	}()
	forward := c.forwardEpsilon(delta, never)
	known <- forward
	return max(forward, <-backward)
}

// Delta returns a δ for a finite epsilon ≥ 0: an upper bound.
func (c Composition) Delta(epsilon float64) float64 {
	delta := c.forwardDelta(epsilon)
	if reverse, differs := c.reverse(); differs && !reverse.atMost(epsilon, delta) {
		delta = max(delta, reverse.forwardDelta(epsilon))
	}
	return delta
}

// atMost reports whether a few dots show already that δ(epsilon) is at most delta,
// by Chernoff's bound. Most samples are worse one way round by far.
func (c Composition) atMost(epsilon, delta float64) bool {
	if profile, ok := c.single(); ok {
		return profile(epsilon)*(1+roundOff) <= delta
	}
	o, tilt := c.outline(delta, func(o outline) float64 { return o.tiltForMean(epsilon) })
	k, _, _ := o.cumulant(tilt)
	return (math.Exp(k-tilt*epsilon)+o.infinite())*(1+1e-6) <= delta
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

// forwardEpsilon looks at one direction. It gives up, with 0, if spare says before
// a look, told whether that is costly, that it does not matter.
func (c Composition) forwardEpsilon(delta float64, spare func(costly bool) bool) float64 {
	if profile, ok := c.single(); ok {
		return leastEpsilon(profile, delta)
	}
	if c.apart() <= delta {
		return 0
	}
	o, tilt := c.outline(delta, func(o outline) float64 { return o.tiltForDelta(delta) })
	if !(o.infinite() < delta) {
		return math.Inf(1)
	}
	if highest := o.highest(); highest < nothing && o.infinite() <= delta {
		return highest
	}
	// Nothing but accuracy depends on the tilt and on how fine the dots are. A bad
	// aim shows, and so does an ε that is small beside the losses that were aimed
	// at.
	scale, proved := math.Inf(1), math.Inf(1)
	if o.infinite() <= delta {
		proved = o.highest()
	}
	for range 4 {
		w := c.window(o, tilt, scale)
		switch {
		case !w.ok:
			return proved
		case spare(w.costly()):
			return 0
		}
		found := c.curve(o, w)
		least, look, hit := found.epsilon(delta)
		if proved = min(proved, least); look == 0 || hit && min(scale, found.deviation) < 1.2*look {
			break
		}
		scale = look
		o, tilt = c.outline(delta, func(o outline) float64 { return o.tiltToSee(look, delta) })
	}
	return proved
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
	w := c.window(o, tilt, epsilon)
	if !w.ok {
		return min(1, c.apart())
	}
	delta = min(c.apart(), c.curve(o, w).delta(epsilon)) // all are bounds
	// The smaller δ turns out to be, the further out the tail must be seen.
	for before := math.Inf(1); delta > 1e-200 && delta < 0.1 && delta < before/2; {
		before = delta
		o, tilt = c.outline(delta, func(o outline) float64 { return o.tiltToSee(epsilon, before) })
		if w = c.window(o, tilt, epsilon); w.ok {
			delta = min(delta, c.curve(o, w).delta(epsilon))
		}
	}
	return min(1, delta)
}

// apart bounds the total variation of P and Q, which is δ at ε = 0: that of the
// parts adds up at most.
func (c Composition) apart() (sum float64) {
	for _, part := range c.Parts {
		sum += part.Count * part.Forward(0)
	}
	return sum * (1 + roundOff)
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
	for hi-lo > 1e-12*hi && hi > nothing*nothing {
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
