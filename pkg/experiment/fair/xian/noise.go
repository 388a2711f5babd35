package xian

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// discreteLaplace draws whole numbers k with P(k) ∝ exp(−|k|·s/t), exactly, by
// comparisons of whole numbers alone (Canonne, Kamath & Steinke 2020, Algorithms 1 and 2).
type discreteLaplace struct{ s, t uint64 }

// newDiscreteLaplace takes the nearest rate s/t not above the given one: more noise
// rather than less.
func newDiscreteLaplace(rate float64) (discreteLaplace, error) {
	const t = 1 << 20
	s := math.Floor(rate * t)
	if !(s >= 1 && s <= 1<<30) {
		return discreteLaplace{}, fmt.Errorf("xian: discrete Laplace noise for ε = %v of a histogram; take ε from 2e-6 to 2000", 2*rate)
	}
	return discreteLaplace{uint64(s), t}, nil
}

func (l discreteLaplace) draw(r *rand.Rand) int64 {
	for {
		low := r.Uint64N(l.t)
		if !expMinus(r, low, l.t) {
			continue
		}
		whole := uint64(0)
		for expMinus(r, 1, 1) {
			whole++
		}
		k := int64((low + l.t*whole) / l.s)
		switch negative := r.Uint64()&1 == 1; {
		case !negative:
			return k
		case k > 0: // −0 would be 0 a second time
			return -k
		}
	}
}

// expMinus is true with probability exp(−a/b), for a ≤ b: the number of successes in a
// row of events of probability a/b, a/2b, a/3b, … is even.
func expMinus(r *rand.Rand, a, b uint64) bool {
	k := uint64(1)
	for r.Uint64N(b*k) < a {
		k++
	}
	return k%2 == 1
}
