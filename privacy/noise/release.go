package noise

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Grid returns the grid of Release: the power of two 2^(⌊log₂ sigma⌋ − 30), or the least
// one on which values up to span lie within reach, if that is coarser: a count of millions
// of records, and a sum over them, is more than a million times the noise of a small one.
// Sigma must be a normal positive number. Both are to be public; a span of 0 asks for
// nothing.
func Grid(sigma, span float64) float64 {
	_, exponent := math.Frexp(sigma) // sigma = [½, 1) · 2^exponent
	exponent += -1 - 30
	if span > 0 && span <= math.MaxFloat64 {
		most, far := math.Frexp(span / reach)
		if most == 0.5 {
			far-- // a power of two is its own grid
		}
		exponent = max(exponent, far)
	}
	return math.Ldexp(1, exponent)
}

// GridInflation returns by how much the ℓ₂-sensitivity of coords values grows
// when they are rounded to their grid: √coords · Grid(sigma, span). A plan adds
// it to the sensitivity, or has it in its slack: relative to sigma it is
// 10⁻⁹·√coords unless the span makes it coarser.
func GridInflation(sigma, span float64, coords int) float64 {
	return math.Sqrt(float64(coords)) * Grid(sigma, span)
}

// reach is how many grid steps a released value may lie from 0 before noise. It
// leaves the sum of value and noise below 2⁵³ steps, where float64 is exact.
const reach = 1 << 51

// Reach is the farthest from 0 that Release lets a value lie before its noise, where its
// grid has no span.
func Reach(sigma float64) float64 { return reach * Grid(sigma, 0) }

// Farthest is more than any noise of this package with a standard deviation of sigma: its
// normal numbers end at 15.8, and Release has the sum of four of them over two.
func Farthest(sigma float64) float64 { return 32 * sigma }

// Release fills dst with values plus N(0, sigma²) noise, such that the low bits
// tell nothing: values and noise are both rounded to the multiples of a public
// grid g = Grid(sigma, span) and added exactly. dst may be values.
//
// Why it is private. Rounding moves each of c coordinates by at most g/2 on
// either of two neighbours, so the ℓ₂-sensitivity grows by at most √c·g
// (GridInflation). Let v be the rounded values and N ideal Gaussian noise: as v
// is a multiple of g, v + round(N) = round(v + N). What is released is the
// Gaussian mechanism on v, post-processed. That the difference of two
// neighbours cannot be told from low bits, as in Mironov, "On significance of
// the least significant bits for differential privacy" (2012), is because there
// are none. Each noise is the sum of four independent normals over two, as in
// Holohan & Braghin, "Secure random sampling in differential privacy" (2021):
// the steps of the single draws, 2⁻⁵³ of a layer, average out.
//
// What this does not cover: timing; that a draw has 53 bits, so that the
// probability of a grid cell differs from the ideal one by a relative 2⁻²⁰ at
// most for a single normal, less for the sum of four; that the tail of a normal
// ends before 16 standard deviations, and that exp and log are as good as the library.
//
// Values beyond ±2⁵¹·g, which is span or a million sigma at least, are cut there (a
// contraction: no sensitivity is lost) and NaN counts as 0. Neither is an error, which would
// tell of the records. But a statistic that one record can make NaN has no
// finite sensitivity: records must be cleaned before they are summed.
func (s Source) Release(dst, values []float64, sigma, span float64, label string, step int) error {
	if err := checkRelease(sigma, dst, values); err != nil {
		return err
	}
	g := Grid(sigma, span)
	inOne := 1 / g
	forChunks(len(dst), func(chunk, from, to int) {
		src := s.chacha("release", label, step, chunk)
		for i := from; i < to; i++ {
			dst[i] = (onGrid(values[i], inOne) + steps(src, sigma, g)) * g
		}
	})
	return nil
}

// CheckStd says what is wrong with a standard deviation of a release's noise: it is 0, for
// no noise, or so large or small that no grid fits below it.
func CheckStd(sigma float64) error {
	if sigma != 0 && !(sigma >= 0x1p-900 && sigma <= 0x1p900) {
		return fmt.Errorf("noise: want a standard deviation between 2^-900 and 2^900 to release with, found %v", sigma)
	}
	return nil
}

func checkRelease(sigma float64, dst, values []float64) error {
	if err := CheckStd(sigma); err != nil || sigma == 0 {
		return cmp.Or(err, errors.New("noise: want a standard deviation above 0 to release with, found 0"))
	}
	if len(dst) != len(values) {
		return fmt.Errorf("noise: want as many places as values, found %d places for %d values", len(dst), len(values))
	}
	return nil
}

// steps draws the noise of one value, in steps of the grid.
func steps(src *rand.ChaCha8, sigma, g float64) float64 {
	four := normal(src) + normal(src) + normal(src) + normal(src)
	return math.RoundToEven(four / 2 * sigma / g)
}

// Ahead is the noise of a Release that is still to come, drawn while its values are
// being computed.
type Ahead struct {
	sigma, grid float64
	steps       []float64 // of the grid
	drawn       chan struct{}
}

// Ahead begins to draw the noise of a release of n values, and returns at once.
func (s Source) Ahead(n int, sigma, span float64, label string, step int) (*Ahead, error) {
	if err := checkRelease(sigma, nil, nil); err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("noise: noise ahead for %d values; want at least 0", n)
	}
	a := &Ahead{sigma: sigma, grid: Grid(sigma, span), steps: make([]float64, n), drawn: make(chan struct{})}
	go func() {
		defer close(a.drawn)
		forChunks(n, func(chunk, from, to int) {
			src := s.chacha("release", label, step, chunk)
			for i := from; i < to; i++ {
				a.steps[i] = steps(src, sigma, a.grid)
			}
		})
	}()
	return a, nil
}

// Len is how many values the noise is drawn for.
func (a *Ahead) Len() int { return len(a.steps) }

// Release is Source.Release of as many values as the noise was drawn for.
func (a *Ahead) Release(dst, values []float64) error {
	if err := checkRelease(a.sigma, dst, values); err != nil {
		return err
	}
	if len(values) != len(a.steps) {
		return fmt.Errorf("noise: noise was drawn ahead for %d values, found %d", len(a.steps), len(values))
	}
	<-a.drawn
	// Values are waited for: to wake other cores for this would take as long as it takes.
	g, inOne := a.grid, 1/a.grid
	for i, drawn := range a.steps {
		dst[i] = (onGrid(values[i], inOne) + drawn) * g
	}
	return nil
}

// Digest is the SHA-256 of what Release makes of values before it adds noise, multiples
// of Grid(sigma, span). Values with the same are released alike; those of others must not get
// the same noise, which would give away their difference.
func Digest(values []float64, sigma, span float64) (digest [sha256.Size]byte) {
	inOne := 1 / Grid(sigma, span)
	sum := sha256.New()
	for some := range slices.Chunk(values, 512) {
		text := make([]byte, 0, 8*512)
		for _, v := range some {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(onGrid(v, inOne)+0)) // which has no −0
		}
		sum.Write(text)
	}
	sum.Sum(digest[:0])
	return digest
}

// onGrid returns the multiple of the grid nearest to v, in steps of it, of which there are so
// many in 1: a power of two, by which a product is as exact as a quotient, and sooner.
func onGrid(v, inOne float64) float64 {
	v *= inOne
	switch {
	case v >= -reach && v <= reach:
		return v + halfway - halfway // the nearest whole number, the even one of two
	case v > reach:
		return reach
	case v < -reach:
		return -reach
	}
	return 0 // NaN
}

// halfway is 1.5·2⁵²: what is within reach of it has no bits behind the point.
const halfway = 3 << 51
