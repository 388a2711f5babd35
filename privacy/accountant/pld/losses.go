package pld

import (
	"math"
	"math/cmplx"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// curve is log δ of a composition over the ε where a tilt makes it accurate. It
// leaves out infinite losses.
type curve struct {
	first, step float64   // ε of the first value, and from one to the next
	tail        []float64 // e^(θε−K(θ))·δ(ε); see sum
	noise       []float64 // what of it is a bound of errors
	tilt, k     float64   // θ > 0, K(θ)
	infinite    float64   // P where Q is nothing

	deviation float64 // of the tilted loss
	count     float64 // of steps
}

// fineness is how many dots the tilted loss's standard deviation has, per step
// and on average, and ε itself where that is less. Connecting dots adds at most a
// quarter of their distance squared to each step's variance: 0.1 % here.
const fineness = 16

// Bounds on the transform. Reaching them costs accuracy, never soundness.
const leastSize, fineSize, mostSize, mostDots = 1 << 13, 1 << 20, 1 << 22, 1 << 20

// mostSteps is how many steps are composed: of more the rounding of a characteristic
// function, to the power of their number, decides what is left of it.
const mostSteps = 1e14

// curve composes by Fourier transform, in a window that is ok.
func (c Composition) curve(o outline, w window) curve {
	fine := c.fine(o, w)
	k, _, _ := fine.cumulant(w.tilt)
	// Chernoff: what lies above the window would be wrapped to its left end.
	above, _, _ := fine.cumulant(w.tilt + w.proof)
	beyond := math.Exp(min(0, above-k-w.proof*w.step*float64(w.first+w.size)))
	found := curve{
		first: float64(w.first) * w.step, tilt: w.tilt, k: k, infinite: fine.infinite(),
		deviation: w.deviation, count: fine.count,
	}
	var rounding float64
	found.tail, found.step, rounding = fine.sum(w.tilt, w.step, w.first, w.size)
	found.noise = make([]float64, len(found.tail))
	for i := range found.tail {
		below := float64(w.size)*w.step - float64(i)*found.step // how far, of the window's right end
		found.noise[i] = rounding + beyond*math.Exp(-w.tilt*below)
		found.tail[i] = max(0, found.tail[i]) + found.noise[i]
	}
	return found
}

// window is where the tilted loss is, but for e^−20 on either side, and what a
// transform of it takes.
type window struct {
	tilt            float64
	left, right     float64
	proof           float64 // the tilt beyond θ that bounds what lies above right
	deviation, span float64 // of the tilted loss; of the widest part

	step        float64 // between losses
	first, size int     // of the transform, in steps
	ok          bool    // false if losses are too large for numbers, or the tilt for the step
}

// costly reports whether a transform takes much longer than the outline did.
func (w window) costly() bool { return float64(w.size)+w.span/w.step > 1<<18 }

// window lays out a transform that is fine enough to read off an ε. From one dot to the
// next the tilt must not forget all: what is e^−745 is nothing, and nothing is no bound.
func (c Composition) window(o outline, tilt, epsilon float64) (w window) {
	const forgetting = 30
	if !(o.count <= mostSteps) {
		return w
	}
	if c.Interval > 0 {
		tilt = min(tilt, 1/c.Interval)
	}
	for range 8 {
		if w = c.layOut(o, tilt, epsilon); w.tilt*w.step <= forgetting {
			return w
		}
		tilt = 1 / w.step
	}
	w.ok = false
	return w
}

func (c Composition) layOut(o outline, tilt, epsilon float64) window {
	step := c.Interval
	w := o.window(tilt)
	width := w.right - w.left
	if step == 0 {
		perStep := fineness * math.Sqrt(o.count)
		step = min(w.deviation/perStep, width/leastSize)
		step = min(step, max(epsilon/perStep, w.deviation/perStep/256, width/fineSize))
	}
	w.step = max(step, w.span/mostDots, width/(mostSize-4))
	if w.ok = w.span/w.step <= 2*mostDots && width/w.step <= 2*mostSize; w.ok {
		w.size = sizeFor(width/w.step + 4)
		w.first = int(math.Floor(w.left/w.step)) - 1
	}
	return w
}

// window returns the window of a tilt, wide enough that the tilt forgets what is
// that far away.
func (o outline) window(tilt float64) (w window) {
	const forgotten = 40
	w.tilt = tilt
	w.right, w.proof = o.edge(tilt, 1)
	w.left, _ = o.edge(tilt, -1)
	for _, part := range o.parts {
		w.span = max(w.span, part.highest()-min(0, part.lowest(tilt)))
	}
	_, _, variance := o.cumulant(tilt)
	w.deviation = max(math.Sqrt(variance), 1e-6*w.span) // a tilted law may be a single dot
	w.right = max(w.right, w.left+max(8*w.deviation, forgotten/tilt))
	return w
}

// fine is the outline with dots at the multiples of the window's step that matter
// under its tilt.
func (c Composition) fine(o outline, w window) outline {
	tilt, step := w.tilt, w.step
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

// sum returns the tail of the composed loss L, which is
//
//	e^(θε−K)·δ(ε) = E_θ[(e^(−θ(L−ε)) − e^(−(1+θ)(L−ε)))⁺],
//
// at ε = first·step and then every spacing. The law of L repeats itself every
// size·step, which adds next to nothing where θ forgets it, and something
// positive in any case.
//
// The tail is a convolution of the law and a function, so its transform is a
// product; the function's is a difference of geometric series. Long compositions
// are smooth, and few frequencies are left of them. rounding is more than the
// transform's error.
func (o outline) sum(tilt, step float64, first, size int) (tail []float64, spacing, rounding float64) {
	w := workshop(size)
	defer w.done()
	used := o.spectrum(tilt, step, w)
	// Between two values δ is taken as linear in e^ε, which overstates it by about
	// (θ·spacing)²/8: 10⁻⁵.
	count := size
	for count%4 == 0 && count > 1024 && count/2 >= 2*used+2 && float64(size)*step*(tilt+1)/float64(count/2) <= 0.01 {
		count /= 2
	}
	spectrum := make([]complex128, count/2+1)
	for i := range used {
		turn := 2 * math.Pi * float64(i) / float64(size)
		// The difference of near/(1−near) and far/(1−far) for near = e^(−θ·step + i·turn)
		// and far = near·e^(−step), without cancellation.
		near := cmplx.Exp(complex(-tilt*step, turn))
		series := near * complex(-math.Expm1(-step), 0) / (short(tilt*step, turn) * short((tilt+1)*step, turn))
		turned := i * (first % size) % size // in whole numbers: first may be large
		shift := cmplx.Exp(complex(0, 2*math.Pi*float64(turned)/float64(size)))
		spectrum[i] = cmplx.Exp(w.logs[i]) * series * shift / complex(float64(size), 0)
		rounding += (1e-14 + 3e-16*o.count) * cmplx.Abs(spectrum[i])
	}
	tail = make([]float64, count)
	inverse := workshop(count)
	inverse.Sequence(tail, spectrum)
	inverse.done()
	return tail, step * float64(size/count), rounding
}

// short is what e^(−x + i·turn), for x > 0, is short of 1, to all digits.
func short(x, turn float64) complex128 {
	half := math.Sin(turn / 2)
	return complex(2*half*half-math.Cos(turn)*math.Expm1(-x), -math.Exp(-x)*math.Sin(turn))
}

// spectrum leaves the logarithms of the characteristic function of the tilted
// loss in w.logs, and returns how many frequencies of it, from 0 on, are not
// negligible.
func (o outline) spectrum(tilt, step float64, w *workplace) (used int) {
	const negligible = -60
	size := len(w.buffer)
	clear(w.logs)
	for _, part := range o.parts {
		clear(w.buffer)
		k, _, _ := part.dots.cumulant(tilt)
		from := int(math.Round(part.loss[0] / step))
		at := (from%size + size) % size
		for i, mass := range part.mass {
			if mass > 0 {
				w.buffer[at] += mass * math.Exp(tilt*part.loss[i]-k)
			}
			if at++; at == size {
				at = 0
			}
		}
		w.Coefficients(w.spectrum, w.buffer)
		least := math.Exp(2 * negligible / part.count)
		for i, z := range w.spectrum {
			square := real(z)*real(z) + imag(z)*imag(z)
			if square < least || real(w.logs[i]) < negligible {
				w.logs[i] = complex(math.Inf(-1), 0)
				continue
			}
			w.logs[i] += complex(part.count*math.Log(square)/2, part.count*cmplx.Phase(z))
		}
	}
	for i, z := range w.logs {
		if real(z) >= negligible {
			used = i + 1
		}
	}
	return used
}

// sizeFor is the least 2^k, 5·2^k or 3·2^k, which transform fast, from least on.
func sizeFor(least float64) int {
	size := leastSize
	for float64(2*size) < least {
		size *= 2
	}
	for _, eighths := range []int{8, 10, 12} {
		if candidate := size / 8 * eighths; float64(candidate) >= least {
			return candidate
		}
	}
	return 2 * size
}

// workplace is what a transform of one size needs. They are reused: making one
// costs as much as using it.
type workplace struct {
	*fourier.FFT
	buffer         []float64    // [size]
	spectrum, logs []complex128 // [size/2 + 1]
}

func workshop(size int) *workplace {
	pool, _ := workplaces.LoadOrStore(size, &sync.Pool{New: func() any {
		return &workplace{fourier.NewFFT(size), make([]float64, size), make([]complex128, size/2+1), make([]complex128, size/2+1)}
	}})
	return pool.(*sync.Pool).Get().(*workplace)
}

func (w *workplace) done() {
	pool, _ := workplaces.Load(len(w.buffer))
	pool.(*sync.Pool).Put(w)
}

var workplaces sync.Map // from size to *sync.Pool

// log is log δ at the i-th ε.
func (c curve) log(i int) float64 {
	return c.k - c.tilt*(c.first+float64(i)*c.step) + math.Log(c.tail[i])
}

// epsilon returns the least ε ≥ 0 for delta that the curve proves, +Inf if none, one to
// look at, and whether that is where the curve is accurate: errors count for less than
// 10⁻⁴ of δ there.
func (c curve) epsilon(delta float64) (proved, look float64, hit bool) {
	if !(c.infinite < delta) {
		return math.Inf(1), math.Inf(1), true
	}
	goal := math.Log(delta-c.infinite) - c.roundOff()
	i := len(c.tail) - 1
	for i >= 0 && c.log(i) <= goal && c.first+float64(i)*c.step > 0 {
		i--
	}
	switch {
	case i == len(c.tail)-1:
		return math.Inf(1), c.first + float64(i)*c.step, false
	case i < 0:
		return max(0, c.first), max(0, c.first), c.first <= 0
	}
	epsilon := c.first + float64(i)*c.step
	if here := c.log(i); here > goal {
		high, low := math.Exp(here-goal), math.Exp(c.log(i+1)-goal)
		short := (1 - low) / (high - low) // of the way to the next ε, in e^ε
		epsilon += c.step + math.Log1p(short*math.Expm1(-c.step))
	}
	return max(0, epsilon), max(0, epsilon), c.noise[i] <= 1e-4*c.tail[i]
}

// delta returns δ for an ε ≥ 0.
func (c curve) delta(epsilon float64) float64 {
	at := (epsilon - c.first) / c.step
	i := int(math.Floor(at))
	switch {
	case at < 0:
		return 1
	case i >= len(c.tail)-1: // δ does not grow
		i = len(c.tail) - 1
		return min(1, math.Exp(c.log(i)+c.roundOff())+c.infinite)
	}
	here, next := math.Exp(c.log(i)), math.Exp(c.log(i+1))
	past := epsilon - c.first - float64(i)*c.step
	share := math.Exp(past-c.step) * math.Expm1(-past) / math.Expm1(-c.step) // of the way in e^ε
	return min(1, (here+min(1, share)*(next-here))*math.Exp(c.roundOff())+c.infinite)
}

// roundOff bounds the relative error of δ: of masses as second differences, and
// of a characteristic function to the power of the number of steps.
func (c curve) roundOff() float64 { return 1e-7 + 1e-15*c.count }
