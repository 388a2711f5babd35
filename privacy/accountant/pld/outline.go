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
// cannot matter for delta.
func (c Composition) outline(delta float64) outline {
	var o outline
	for _, part := range c.Parts {
		o.count += part.Count
	}
	cut := 1e-8 * delta / o.count
	for _, part := range c.Parts {
		down, up := reach(part.Reverse().Forward, cut), reach(part.Forward, cut)
		losses := sketch(-down)
		slices.Reverse(losses)
		losses = append(append(losses, 0), sketch(up)...)
		o.parts = append(o.parts, outlined{part.connect(losses), part.Count})
	}
	return o
}

// sketch returns losses on the way from 0 to the last one: evenly spaced ones,
// and below the first of these ever smaller ones, as the losses of most steps on
// samples are far below the largest.
func sketch(last float64) []float64 {
	const even, shrinking, shrink = 300, 100, 0.9
	var losses []float64
	first := last / even
	for i := shrinking; i > 0; i-- {
		losses = append(losses, first*math.Pow(shrink, float64(i)))
	}
	for i := 1.; i <= even; i++ {
		losses = append(losses, i*first)
	}
	return losses
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

// some raises a tilt to one that moves the law by a nat or so: one standard
// deviation of a normal law. There must be some tilt.
func (o outline) some(tilt float64) float64 {
	return max(tilt, o.search(func(tilt float64) float64 {
		k, mean, _ := o.cumulant(tilt)
		return tilt*mean - k - 1
	}))
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
	for range 30 {
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
