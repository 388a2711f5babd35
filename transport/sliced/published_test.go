package sliced

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// squaredCoordinate draws ⟨θ, e⟩² for a uniform direction θ of R^d, d even, and a
// unit vector e: z²/(z² + χ²_{d−1}), where χ²_{d−1} is another square and d/2−1
// exponentials.
func squaredCoordinate(rng *rand.Rand, d int) float64 {
	z, y := rng.NormFloat64(), rng.NormFloat64()
	product := 1.
	for range d/2 - 1 {
		product *= 1 - rng.Float64()
	}
	return z * z / (z*z + y*y - 2*math.Log(product))
}

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

// Lemma 1 as published says that ‖(x−x′)U‖² ≤ w(k, δ′)·‖x−x′‖² but with
// probability δ′, for a pair that does not depend on U. By symmetry the pair
// does not matter. The central-limit form takes z at 1−δ′/2, so its nominal rate
// above w is δ′/2: it is passed several times as often, more so the smaller δ′
// is, and from 10⁻³ or so on more often than δ′ itself. The Bernstein form holds.
// Intervals have confidence 1−10⁻⁵.
func TestPublishedBoundsFailAsOftenAsMeasured(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	type claim struct {
		failure float64
		least   float64 // times δ′/2 that the central-limit form fails at least
	}
	cases := []struct {
		k, d, draws int
		claims      []claim
	}{{70, 8, 150_000, []claim{{1e-2, 1.3}, {1e-3, 1.5}}}}
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		cases[0].draws, cases[0].claims = 5_000_000, []claim{{1e-2, 1.5}, {1e-3, 2.2}, {1e-4, 3}, {1e-5, 4}}
		cases = append(cases, cases[0], cases[0])
		cases[1].k, cases[1].draws, cases[1].claims = 200, 1_000_000, []claim{{1e-3, 1.6}}
		cases[2].d, cases[2].draws, cases[2].claims = 64, 1_000_000, []claim{{1e-3, 3}}
	}
	for _, c := range cases {
		normal, bernstein := make([]int, len(c.claims)), make([]int, len(c.claims))
		limit := make([][2]float64, len(c.claims))
		for i, claim := range c.claims {
			limit[i] = [2]float64{PublishedBound(c.k, c.d, claim.failure), BernsteinBound(c.k, c.d, claim.failure)}
		}
		for range c.draws {
			var squares float64
			for range c.k {
				squares += squaredCoordinate(rng, c.d)
			}
			for i, w := range limit {
				if squares > w[0] {
					normal[i]++
				}
				if squares > w[1] {
					bernstein[i]++
				}
			}
		}
		for i, claim := range c.claims {
			low, high := interval(normal[i], c.draws, 1-1e-5)
			_, most := interval(bernstein[i], c.draws, 1-1e-5)
			rate, nominal := float64(normal[i])/float64(c.draws), claim.failure/2
			t.Logf("k = %d, d = %d, δ′ = %g: central limit fails at %.3g in [%.3g, %.3g], %.2f times the nominal δ′/2 and %.2f times δ′; Bernstein at most %.2g",
				c.k, c.d, claim.failure, rate, low, high, rate/nominal, rate/claim.failure, most)
			if low < claim.least*nominal {
				t.Errorf("k = %d, d = %d: the central-limit form fails at rate ≥ %v; expected at least %v times the nominal %v", c.k, c.d, low, claim.least, nominal)
			}
			if float64(bernstein[i]) > claim.failure*float64(c.draws) {
				t.Errorf("k = %d, d = %d: Bernstein's form fails %d times in %d, more than δ′ = %v", c.k, c.d, bernstein[i], c.draws, claim.failure)
			}
		}
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
		if rate < c.least {
			t.Errorf("k = %d, d = %d: failure rate %v, expected at least %v", c.k, c.d, rate, c.least)
		}
	}
}
