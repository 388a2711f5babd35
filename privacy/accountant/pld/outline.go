package pld

import (
	"math"
	"slices"
)

// outline is a composition whose parts have dots, few or many: enough to know
// the cumulants of its loss.
type outline struct {
	parts []outlined
	count float64 // of all parts together
}

type outlined struct {
	dots
	count float64
}

// outline connects a few hundred dots of each part up to where what is left
// cannot matter for delta, and returns the tilt for which aim looks, given an
// outline. Where the tilted losses of a part are, it puts more dots, and then
// aims again.
func (c Composition) outline(delta float64, aim func(outline) float64) (o outline, tilt float64) {
	var count float64
	for _, part := range c.Parts {
		count += part.Count
	}
	cut := 1e-6 * delta / count
	losses := make([][]float64, len(c.Parts))
	for i, part := range c.Parts {
		losses[i] = sketch(reach(part.Reverse().Forward, cut), reach(part.Forward, cut))
	}
	for range 3 {
		o = outline{count: count}
		for i, part := range c.Parts {
			o.parts = append(o.parts, outlined{part.connect(losses[i]), part.Count})
		}
		tilt = aim(o)
		for i, part := range o.parts {
			_, mean, variance := part.dots.cumulant(tilt)
			losses[i] = focus(losses[i], mean, math.Sqrt(variance))
		}
	}
	return o, tilt
}

// sketch returns losses from −down to up: evenly spaced ones and, towards 0,
// ever smaller ones, as the losses of most steps on samples are far below the
// largest.
func sketch(down, up float64) []float64 {
	const even, shrinking, shrink = 120, 60, 0.83
	losses := []float64{0}
	for _, end := range []float64{-down, up} {
		first := end / even
		for i := range shrinking {
			losses = append(losses, first*math.Pow(shrink, float64(i+1)))
		}
		for i := 1.; i <= even; i++ {
			losses = append(losses, i*first)
		}
	}
	slices.Sort(losses)
	return losses
}

// focus adds losses around a mean to the given ones, between their ends.
func focus(losses []float64, mean, deviation float64) []float64 {
	const reach, each = 8, 10 // deviations; losses to a deviation
	focused := slices.Clone(losses)
	for i := -reach * each; i <= reach*each; i++ {
		loss := mean + deviation*float64(i)/each
		if loss > losses[0] && loss < losses[len(losses)-1] {
			focused = append(focused, loss)
		}
	}
	slices.Sort(focused)
	return slices.Compact(focused)
}

// cumulant returns K(θ) = log E[e^(θL)] of the composed loss L under P, where it
// is finite, and the mean and variance of L under the law tilted by e^(θL): K′
// and K″.
func (o outline) cumulant(tilt float64) (k, mean, variance float64) {
	for _, part := range o.parts {
		logSum, m, v := part.dots.cumulant(tilt)
		k += part.count * logSum
		mean += part.count * m
		variance += part.count * v
	}
	return k, mean, variance
}

func (d dots) cumulant(tilt float64) (k, mean, variance float64) {
	// The exponent is at most 0, and 0 somewhere.
	from, to := 0, len(d.mass)-1
	for d.mass[to] == 0 && to > 0 {
		to--
	}
	for d.mass[from] == 0 && from < to {
		from++
	}
	shift := d.loss[to]
	if tilt < 0 {
		shift = d.loss[from]
	}
	var sum, first, second float64
	for i, loss := range d.loss {
		if d.mass[i] == 0 {
			continue
		}
		w := d.mass[i] * math.Exp(tilt*(loss-shift))
		sum += w
		first += w * loss
		second += w * loss * loss
	}
	mean = first / sum
	return math.Log(sum) + tilt*shift, mean, max(0, second/sum-mean*mean)
}

// highest is the largest finite loss of all parts together.
func (o outline) highest() (sum float64) {
	for _, part := range o.parts {
		sum += part.count * part.highest()
	}
	return sum
}

// logDelta estimates log δ at ε = K′(θ): the tilted loss taken as normal.
func (o outline) logDelta(tilt float64) float64 {
	k, mean, variance := o.cumulant(tilt)
	return k - tilt*mean + math.Log(upperDrop(tilt*math.Sqrt(variance), math.Sqrt(variance)))
}

// upperDrop is u(x) − u(x+d) for u(x) = e^(x²/2)·(1−Φ(x)), roughly, for x ≥ 0.
func upperDrop(x, d float64) float64 {
	if d > 0.01 {
		return upper(x) - upper(x+d)
	}
	return d * (1/math.Sqrt(2*math.Pi) - (x+d/2)*upper(x+d/2)) // −d·u′
}

func upper(x float64) float64 {
	if x > 20 {
		return x / ((x*x + 1) * math.Sqrt(2*math.Pi))
	}
	return math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2) / 2
}

// tiltForDelta returns the θ > 0 under which the losses around the ε of delta
// are likely.
func (o outline) tiltForDelta(delta float64) float64 {
	goal := math.Log(delta)
	return o.some(o.search(func(tilt float64) float64 { return goal - o.logDelta(tilt) }))
}

// tiltForMean returns the θ > 0 under which the mean loss is epsilon.
func (o outline) tiltForMean(epsilon float64) float64 {
	return o.some(o.search(func(tilt float64) float64 {
		_, mean, variance := o.cumulant(tilt)
		return (mean - epsilon) / math.Sqrt(variance)
	}))
}

// tiltToSee returns the least θ > 0 under which the losses around epsilon are not
// lost among rounding errors: e^(θε−K)·δ is at least e^−12. Where a few large
// losses are worth as much as all small ones, more tilt would only make them
// larger and the window wider.
func (o outline) tiltToSee(epsilon, delta float64) float64 {
	goal := -12 - math.Log(delta)
	seen := func(tilt float64) float64 {
		k, _, _ := o.cumulant(tilt)
		return tilt*epsilon - k - goal
	}
	lo, hi := 0., o.tiltForMean(epsilon) // where it is seen best
	for hi > lo*1.01 && seen(hi) > 0 {
		if middle := (lo + hi) / 2; seen(middle) > 0 {
			hi = middle
		} else {
			lo = middle
		}
	}
	return o.some(hi)
}

// some raises a tilt to one that moves the law by a standard deviation or so,
// or, where tails are heavy, by a nat (its divergence from the law without tilt).
// There must be some tilt.
func (o outline) some(tilt float64) float64 {
	_, _, variance := o.cumulant(0)
	nats := func(tilt float64) float64 {
		k, mean, _ := o.cumulant(tilt)
		return tilt*mean - k
	}
	least := 1 / math.Sqrt(max(variance, 1e-300))
	if nats(least) > 1 {
		least = o.search(func(tilt float64) float64 { return nats(tilt) - 1 })
	}
	return max(tilt, least)
}

// edge returns how far, up (side 1) or down (side −1), the composed loss goes
// under the law tilted by θ, but for a probability of about e^−20, and the tilt s
// that proves it: P_θ(side·L ≥ side·x) ≤ exp(K(θ+side·s) − K(θ) − side·s·x)
// (Chernoff).
func (o outline) edge(tilt, side float64) (x, s float64) {
	const negligible = -20
	base, _, _ := o.cumulant(tilt)
	s = o.search(func(s float64) float64 {
		k, mean, _ := o.cumulant(tilt + side*s)
		return negligible - (k - base - side*s*mean)
	})
	_, x, _ = o.cumulant(tilt + side*s)
	return x, s
}

// search returns an x ≥ 0 where f, which grows, is near 0; or 0 if f is
// positive there; or a very large one if it never is. Near is within ½, as a
// little more in x can be a great deal more in f.
func (o outline) search(f func(x float64) float64) float64 {
	if f(0) >= 0 {
		return 0
	}
	_, _, variance := o.cumulant(0)
	lo, hi := 0., 1/math.Sqrt(max(variance, 1e-300))
	for range 12 {
		if f(hi) >= 0 {
			break
		}
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-12*hi {
		middle := (lo + hi) / 2
		switch y := f(middle); {
		case math.Abs(y) < 0.5:
			return middle
		case y > 0:
			hi = middle
		default:
			lo = middle
		}
	}
	return hi
}
