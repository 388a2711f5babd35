package pld

import (
	"math"
	"math/cmplx"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// losses is the distribution of a composed loss under P, tilted: P(L = i·step)
// is e^(K − θ·i·step) times mass[i−first].
type losses struct {
	step     float64
	first    int
	mass     []float64 // what the transform wraps around is in it twice, never missing
	tilt     float64   // θ ≥ 0
	k        float64   // K(θ)
	beyond   float64   // tilted mass above the window, at most
	infinite float64   // P where Q is nothing

	mean, deviation float64 // of the tilted loss
	count           float64 // of steps
}

// fineness is how many dots the tilted loss's standard deviation has, per step
// and on average. Connecting dots adds at most a quarter of their distance
// squared to each step's variance: 0.1 % here.
const fineness = 16

// Bounds on the transform. Reaching them costs accuracy, never soundness.
const leastSize, mostSize = 1 << 13, 1 << 22

// losses composes by Fourier transform, with the window and the dots that o and
// the tilt ask for.
func (c Composition) losses(o outline, tilt float64) losses {
	var fine outline
	var l losses
	var size int
	var proof float64
	for range 4 {
		_, _, variance := o.cumulant(tilt)
		right, s := o.edge(tilt, 1)
		left, _ := o.edge(tilt, -1)
		proof = s
		var span float64
		for _, part := range o.parts {
			span = max(span, part.highest()-part.lowest(tilt))
		}
		deviation := max(math.Sqrt(variance), 1e-6*span) // a tilted law may be a single dot
		width := max(right-left, deviation)
		step := c.Interval
		if step == 0 {
			step = min(deviation/(fineness*math.Sqrt(o.count)), width/leastSize)
		}
		step = max(step, span/mostSize, width/(mostSize-4))
		size = leastSize
		for float64(size) < width/step+4 {
			size *= 2
		}
		l = losses{step: step, first: int(math.Floor(left/step)) - 1, tilt: tilt}
		fine = c.fine(o, tilt, step)
		// Few dots overstate the variance. If by much, their window and step are
		// not those that the many ask for.
		if _, _, better := fine.cumulant(tilt); better > variance/2 {
			break
		}
		o = fine
	}
	var variance float64
	l.k, l.mean, variance = fine.cumulant(tilt)
	l.deviation, l.count = math.Sqrt(variance), fine.count
	above, _, _ := fine.cumulant(tilt + proof)
	l.beyond = math.Exp(min(0, above-l.k-proof*l.step*float64(l.first+size)))
	l.infinite = fine.infinite()
	l.mass = fine.convolve(tilt, l.step, l.first, size)
	return l
}

// fine is the outline with dots at the multiples of step that matter under the
// tilt.
func (c Composition) fine(o outline, tilt, step float64) outline {
	fine := outline{count: o.count, parts: make([]outlined, len(o.parts))}
	for i, part := range c.Parts {
		from := min(0, int(math.Floor(o.parts[i].lowest(tilt)/step)))
		to := max(0, int(math.Ceil(o.parts[i].highest()/step)))
		at := make([]float64, to-from+1)
		for j := range at {
			at[j] = float64(from+j) * step
		}
		fine.parts[i] = outlined{part.connect(at), part.Count}
	}
	return fine
}

// highest is the largest loss with a dot. What lies above counts as infinite.
func (p outlined) highest() float64 { return p.loss[len(p.loss)-1] }

// lowest is a loss that all smaller ones may be raised to at a cost of a
// millionth of δ, under a tilt.
func (p outlined) lowest(tilt float64) float64 {
	k, _, _ := p.dots.cumulant(tilt)
	var below float64 // P
	for i, loss := range p.loss {
		if below += p.mass[i]; below*p.count*math.Exp(tilt*loss-k) > 1e-6 {
			return loss
		}
	}
	return p.highest()
}

// infinite is the mass at infinity of all parts composed.
func (o outline) infinite() float64 {
	var logFinite float64
	for _, part := range o.parts {
		logFinite += part.count * math.Log1p(-part.dots.infinite)
	}
	return -math.Expm1(logFinite)
}

// convolve returns the tilted law of the composed loss at first·step,
// (first+1)·step, …; size of them, to which all others are wrapped around.
func (o outline) convolve(tilt, step float64, first, size int) []float64 {
	transform := transforms(size).Get().(*fourier.FFT)
	defer transforms(size).Put(transform)
	buffer := make([]float64, size)
	product := make([]complex128, size/2+1) // of logarithms
	spectrum := make([]complex128, size/2+1)
	for _, part := range o.parts {
		clear(buffer)
		k, _, _ := part.dots.cumulant(tilt)
		for i, mass := range part.mass {
			if mass > 0 {
				at := int(math.Round(part.loss[i]/step)) % size
				buffer[(at+size)%size] += mass * math.Exp(tilt*part.loss[i]-k)
			}
		}
		transform.Coefficients(spectrum, buffer)
		for i, z := range spectrum {
			if logModulus := part.count * math.Log(cmplx.Abs(z)); logModulus+real(product[i]) < negligible {
				product[i] = complex(math.Inf(-1), 0)
			} else {
				product[i] += complex(logModulus, part.count*cmplx.Phase(z))
			}
		}
	}
	for i, z := range product {
		spectrum[i] = 0
		if real(z) >= negligible {
			spectrum[i] = cmplx.Exp(z) / complex(float64(size), 0)
		}
	}
	transform.Sequence(buffer, spectrum)
	turned := make([]float64, size)
	for i := range turned {
		turned[i] = max(0, buffer[((first+i)%size+size)%size])
	}
	return turned
}

// negligible is the log of what is lost among rounding errors.
const negligible = -60

// transforms are reused: making one costs as much as using it.
func transforms(size int) *sync.Pool {
	pool, _ := pools.LoadOrStore(size, &sync.Pool{New: func() any { return fourier.NewFFT(size) }})
	return pool.(*sync.Pool)
}

var pools sync.Map // from size to *sync.Pool

// walk calls f with ε and log δ(ε) at the dots of the window, from the right,
// until f says stop. Infinite losses are not in δ.
//
// With A and D the tilted sums over the losses above ε of mass and of
// mass·(1 − e^(ε−loss)), both relative to e^(−θ(loss−ε)), δ is e^(K−θε)·D. All
// that is added is positive.
func (l losses) walk(f func(epsilon, logDelta float64) (more bool)) {
	forget, discount := math.Exp(-l.tilt*l.step), math.Exp(-(1+l.tilt)*l.step)
	gain := -math.Expm1(-l.step)
	var a, d float64
	for i := len(l.mass) - 1; i >= 0; i-- {
		epsilon := float64(l.first+i) * l.step
		if !f(epsilon, l.k-l.tilt*epsilon+math.Log(d+l.beyond)) {
			return
		}
		a = forget * (a + l.mass[i])
		d = a*gain + discount*d
	}
}

// epsilon returns the least ε ≥ 0 for delta, and whether it is where the window
// is accurate.
func (l losses) epsilon(delta float64) (epsilon float64, hit bool) {
	if !(l.infinite < delta) {
		return math.Inf(1), true
	}
	goal := math.Log(delta-l.infinite) - l.roundOff()
	above := math.Inf(-1) // log δ one dot further up
	l.walk(func(at, logDelta float64) bool {
		epsilon = max(0, at)
		if logDelta <= goal {
			above = logDelta
			return at > 0
		}
		if low, high := math.Exp(above-goal), math.Exp(logDelta-goal); at > -l.step && !math.IsInf(high, 1) {
			// δ is linear in e^ε between two dots.
			epsilon = max(0, at+math.Log1p(math.Expm1(l.step)*(high-1)/(high-low)))
		}
		return false
	})
	return epsilon, epsilon == 0 || math.Abs(epsilon-l.mean) <= 3*l.deviation
}

// delta returns δ for an ε ≥ 0.
func (l losses) delta(epsilon float64) float64 {
	finite, above := 1., 0.
	l.walk(func(at, logDelta float64) bool {
		finite = math.Exp(logDelta)
		if at > epsilon {
			above = finite
			return true
		}
		if share := math.Expm1(epsilon-at) / math.Expm1(l.step); share < 1 {
			finite += share * (above - finite)
		}
		return false
	})
	return min(1, finite*math.Exp(l.roundOff())+l.infinite)
}

// roundOff bounds the relative error of δ: that of a characteristic function,
// to the power of the number of steps.
func (l losses) roundOff() float64 { return 1e-9 + 1e-15*l.count }
