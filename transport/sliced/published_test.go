package sliced

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// interval returns the Clopper–Pearson confidence interval of a rate.
func interval(hits, draws int, confidence float64) (low, high float64) {
	tail, h, n := (1-confidence)/2, float64(hits), float64(draws)
	high = 1
	if hits > 0 {
		low = distuv.Beta{Alpha: h, Beta: n - h + 1}.Quantile(tail)
	}
	if hits < draws {
		high = distuv.Beta{Alpha: h + 1, Beta: n - h}.Quantile(1 - tail)
	}
	return low, high
}

// exceeding brackets the chance that ‖eU‖², over k directions of R^d drawn one by
// one, is above a limit. It is a sum of k independent squares ⟨θ, e⟩², which have
// the distribution Beta(1/2, (d−1)/2); each is rounded down to a grid, the sum's
// distribution is their k-fold convolution, and what rounding takes away is below
// k steps. Rounding errors of the transforms are far below 10⁻¹².
func exceeding(k, d int) func(limit float64) (low, high float64) {
	const points = 1 << 20
	step := float64(k+1) / points
	square := make([]float64, points)
	below := 0.
	for j := range int(1/step) + 1 {
		next := mathext.RegIncBeta(0.5, float64(d-1)/2, min(1, float64(j+1)*step))
		square[j], below = next-below, next
	}
	transform := fourier.NewFFT(points)
	spectrum := transform.Coefficients(nil, square)
	for i, c := range spectrum {
		spectrum[i] = cmplx.Pow(c, complex(float64(k), 0)) / points
	}
	sum := transform.Sequence(nil, spectrum)
	above := func(limit float64) (tail float64) {
		for j := points - 1; float64(j)*step > limit; j-- {
			tail += sum[j]
		}
		return tail
	}
	return func(limit float64) (low, high float64) { return above(limit), above(limit - float64(k)*step) }
}

// Lemma 1 as published says that ‖(x−x′)U‖² ≤ w(k, δ′)·‖x−x′‖² but with
// probability δ′, for a pair that does not depend on U. By symmetry the pair
// does not matter. The central-limit form takes z at 1−δ′/2, so its nominal rate
// above w is δ′/2: it is passed several times as often, more so the smaller δ′
// is, and from 10⁻³ or so on more often than δ′ itself. The Bernstein form holds.
func TestPublishedBoundsFailAsOftenAsComputed(t *testing.T) {
	type claim struct {
		failure float64
		times   float64 // δ′/2 that the central-limit form fails
	}
	for _, c := range []struct {
		k, d   int
		claims []claim
	}{
		{70, 8, []claim{{1e-2, 1.56}, {1e-3, 2.45}, {1e-4, 4.19}, {1e-5, 7.6}}},
		{200, 8, []claim{{1e-3, 1.8}}},
		{70, 64, []claim{{1e-3, 3.7}}},
	} {
		rate := exceeding(c.k, c.d)
		for _, claim := range c.claims {
			low, high := rate(PublishedBound(c.k, c.d, claim.failure))
			_, bernstein := rate(BernsteinBound(c.k, c.d, claim.failure))
			nominal := claim.failure / 2
			t.Logf("k = %d, d = %d, δ′ = %g: central limit fails at %.3g to %.3g, %.2f to %.2f times the nominal δ′/2; Bernstein at most %.2g",
				c.k, c.d, claim.failure, low, high, low/nominal, high/nominal, max(bernstein, 1e-12))
			if !(high <= 1.1*low && low <= 1.005*claim.times*nominal && high >= 0.995*claim.times*nominal) {
				t.Errorf("k = %d, d = %d: the central-limit form fails at %v to %v times the nominal %v; expected %v", c.k, c.d, low/nominal, high/nominal, nominal, claim.times)
			}
			if !(bernstein <= claim.failure) {
				t.Errorf("k = %d, d = %d: Bernstein's form fails at %v, more than δ′ = %v", c.k, c.d, bernstein, claim.failure)
			}
		}
	}
}

// Uniform's directions have the computed rate. The interval has confidence 1−10⁻⁵,
// and 40,000 draws tell a rate from one that is a half larger.
func TestUniformDirectionsPassThePublishedBoundAsComputed(t *testing.T) {
	const k, d, draws = 70, 8, 40_000
	rng := rand.New(rand.NewPCG(4, 3))
	w, passed := PublishedBound(k, d, 1e-2), 0
	for range draws {
		u := Uniform(d, k, rng)
		var squares float64
		for l := range k {
			squares += float64(u.Row(l)[0]) * float64(u.Row(l)[0])
		}
		if squares > w {
			passed++
		}
	}
	low, high := exceeding(k, d)(w)
	if least, most := interval(passed, draws, 1-1e-5); !(least <= high && most >= low) {
		t.Errorf("%d of %d draws pass w, a rate in [%v, %v]; computed %v to %v", passed, draws, least, most, low, high)
	}
}

// The lemma speaks of a pair fixed before U is drawn; neighbours are not. For the
// worst pair of each draw, along the top singular vector, the central-limit form
// at δ′ = 10⁻⁵ fails in a sixth of all draws at d = 8, and in practically all
// once d is large. σ_max itself never fails.
func TestPublishedBoundsDoNotHoldForEveryPair(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	for _, c := range []struct {
		k, d, draws int
		least       float64 // failure rate
	}{{70, 8, 1200, 0.12}, {40, 16, 300, 0.97}, {70, 32, 100, 1}} {
		failed := 0
		for range c.draws {
			if norm := Uniform(c.d, c.k, rng).SpectralNorm(); norm*norm > PublishedBound(c.k, c.d, 1e-5) {
				failed++
			}
		}
		low, high := interval(failed, c.draws, 0.999)
		rate := float64(failed) / float64(c.draws)
		t.Logf("k = %d, d = %d, δ′ = 1e-5, worst pair of each draw: central limit fails in %.3f of draws, in [%.3f, %.3f]", c.k, c.d, rate, low, high)
		if !(rate >= c.least) {
			t.Errorf("k = %d, d = %d: failure rate %v, expected at least %v", c.k, c.d, rate, c.least)
		}
	}
}
