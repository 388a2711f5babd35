package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// chunkLength is how many values share a sub-key. It is part of what a key
// means: changing it changes the noise of every run.
const chunkLength = 8192

// Normal fills dst with independent N(0, sigma²) draws, on all cores. The
// result depends on (key, label, step) and the position only. Sigma 0 gives
// zeros.
func (s Source) Normal(dst []float32, sigma float64, label string, step int) error {
	return fill(s, dst, sigma, label, step)
}

// Normal64 is Normal in double precision; the same (label, step) gives the
// values that Normal rounds.
func (s Source) Normal64(dst []float64, sigma float64, label string, step int) error {
	return fill(s, dst, sigma, label, step)
}

func fill[F float32 | float64](s Source, dst []F, sigma float64, label string, step int) error {
	if !(sigma >= 0 && sigma <= math.MaxFloat64) {
		return fmt.Errorf("noise: want a finite standard deviation of at least 0, found %v", sigma)
	}
	forChunks(len(dst), func(chunk, from, to int) {
		src := s.chacha("normal", label, step, chunk)
		for i := range dst[from:to] {
			dst[from+i] = F(sigma * normal(src))
		}
	})
	return nil
}

// forChunks calls do for each chunk of n values, on all cores.
func forChunks(n int, do func(chunk, from, to int)) {
	chunks := (n + chunkLength - 1) / chunkLength
	var next atomic.Int64
	work := func() {
		for c := int(next.Add(1)) - 1; c < chunks; c = int(next.Add(1)) - 1 {
			do(c, c*chunkLength, min(n, (c+1)*chunkLength))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), chunks) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// The ziggurat of Marsaglia & Tsang, "The Ziggurat Method for Generating Random
// Variables", Journal of Statistical Software 5(8), 2000: the half density
// f(x) = exp(−x²/2) is covered by layers of one area, of which all but the
// lowest are rectangles. Unlike theirs, and unlike math/rand's, which take 32
// bits for layer, sign and place together, 8 of the 64 bits choose the layer
// and the upper 54 the signed place in it.
const (
	layers = 256
	tail   = 3.6541528853610088   // where the lowest rectangle ends and the tail begins
	area   = 0.004928673233974655 // of each layer, tail·f(tail) + ∫ f beyond tail
)

var (
	edge   [layers + 1]float64 // right edges: edge[0] is the width of a rectangle with the lowest layer's area
	height [layers + 1]float64 // f(edge)
	scale  [layers]float64     // place to abscissa
	inside [layers]int64       // places below this one lie under the density, no question asked
)

func init() {
	const places = 1 << 53
	edge[0], edge[1] = area/math.Exp(-tail*tail/2), tail
	for i := 2; i < layers; i++ {
		edge[i] = math.Sqrt(-2 * math.Log(math.Exp(-edge[i-1]*edge[i-1]/2)+area/edge[i-1]))
	}
	for i := range layers {
		height[i] = math.Exp(-edge[i] * edge[i] / 2)
		scale[i] = edge[i] / places
		inside[i] = int64(edge[i+1] / edge[i] * places)
	}
	height[layers] = 1
}

// normal draws from N(0, 1).
func normal(src *rand.ChaCha8) float64 {
	for {
		bits := src.Uint64()
		layer := bits % layers
		place := int64(bits) >> 10
		x := float64(place) * scale[layer]
		if place < inside[layer] && place > -inside[layer] {
			return x
		}
		if layer == 0 {
			return math.Copysign(beyondTail(src), x)
		}
		y := height[layer] + uniform(src)*(height[layer+1]-height[layer])
		if y < math.Exp(-x*x/2) {
			return x
		}
	}
}

// beyondTail draws from the half normal beyond tail by rejection from an
// exponential (Marsaglia 1964). It ends at 15.8 standard deviations, where a uniform
// number is 2⁻¹⁰⁶ and its logarithm −73.5; beyond lie 10⁻⁵⁵ of the mass.
func beyondTail(src *rand.ChaCha8) float64 {
	for {
		x := -math.Log(fineUniform(src)) / tail
		if -2*math.Log(fineUniform(src)) >= x*x {
			return tail + x
		}
	}
}

// uniform draws from (0, 1] on a grid of 2⁻⁵³.
func uniform(src *rand.ChaCha8) float64 {
	return float64(src.Uint64()>>11+1) / (1 << 53)
}

// fineUniform draws from (0, 1] with 53 more bits below those of uniform, so
// that its logarithm is as fine far out as near 0.
func fineUniform(src *rand.ChaCha8) float64 {
	return (float64(src.Uint64()>>11) + uniform(src)) / (1 << 53)
}
