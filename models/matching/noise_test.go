package matching_test

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/models/matching"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport/sliced"
)

// Corollary 4.2 of 004 by hand: r = 100 and δ = e⁻⁴ give 100 + 2·√400 + 2·4 = 148.
func TestNoiseNormIsThatOfThePaper(t *testing.T) {
	for _, std := range []float64{0, 0.5, 3} {
		got, err := matching.NoiseNorm(std, 100, math.Exp(-4))
		if want := std * math.Sqrt(148); err != nil || !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("noise of %v: %v, %v; want %v", std, got, err, want)
		}
	}
}

// The bound holds as often as it says and is not far off. By the χ² distribution itself:
// it fails with probability δ′ at most, and at δ′ = 0.05 and less it is at most 1.7 times
// the quantile of the norm for a single number, 1.25 times for ten, 1.05 for a thousand
// and 1.005 for 226,151, those of Table 3's network.
func TestNoiseNormIsNearTheQuantile(t *testing.T) {
	for _, c := range []struct {
		r     int
		loose float64
	}{{1, 1.7}, {10, 1.25}, {1000, 1.05}, {226_151, 1.005}} {
		for _, failure := range []float64{0.5, matching.NoiseFailure, 1e-3, 1e-6} {
			bound, err := matching.NoiseNorm(1, c.r, failure)
			if err != nil {
				t.Fatal(err)
			}
			square := distuv.ChiSquared{K: float64(c.r)}
			if missed := square.Survival(bound * bound); !(missed <= failure) {
				t.Errorf("r = %d, δ′ = %v: it fails with probability %v", c.r, failure, missed)
			}
			if quantile := math.Sqrt(square.Quantile(1 - failure)); failure < 0.1 && !(bound <= c.loose*quantile) {
				t.Errorf("r = %d, δ′ = %v: %v is %v times the quantile", c.r, failure, bound, bound/quantile)
			}
		}
	}
}

// Norms of the noise that releases get exceed the bound no more often than δ′ allows, and
// do so with noise that is a fifth larger. Of 4,000 draws the lower limit of the rate at
// level 1e-9 is above δ′ by chance once in 10⁹.
func TestNoiseOfReleasesStaysWithinItsNorm(t *testing.T) {
	const r, draws, std, failure = 60, 4000, 0.3, 0.1
	for scale, holds := range map[float64]bool{1: true, 1.2: false} {
		bound, err := matching.NoiseNorm(std, r, failure)
		if err != nil {
			t.Fatal(err)
		}
		source, beyond := noise.Seeded(3), 0
		for draw := range draws {
			values := make([]float64, r)
			if err := source.Release(values, values, scale*std, 0, "noise", draw); err != nil {
				t.Fatal(err)
			}
			if norm(values) > bound {
				beyond++
			}
		}
		// What is below is the upper limit of the rest.
		least := 1 - audit.UpperLimit(draws-beyond, draws, 1e-9)
		if (least <= failure) != holds {
			t.Errorf("%v times the noise: %d of %d norms beyond the bound of δ′ = %v", scale, beyond, draws, failure)
		}
	}
}

func TestNoiseNormRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		std     float64
		r       int
		failure float64
	}{
		"deviation -1": {-1, 3, 0.1}, "deviation NaN": {math.NaN(), 3, 0.1}, "deviation +Inf": {math.Inf(1), 3, 0.1},
		"0 parameters": {1, 0, 0.1}, "δ′ = 0;": {1, 3, 0}, "δ′ = 1;": {1, 3, 1}, "δ′ = NaN": {1, 3, math.NaN()},
	} {
		if got, err := matching.NoiseNorm(c.std, c.r, c.failure); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, %v; want an error with %q", c, got, err, want)
		}
	}
}

// A plan without a sampler is of all records, to 004's accounting too.
func TestPublishedOfAllRecords(t *testing.T) {
	s, err := (matching.Clipping{Output: 1, Jacobian: 1, Loss: 1}).Sensitivity(matching.Query{Records: 100, Pairs: []sliced.Sizes{{A: 100, B: 100, Public: true}}, Alpha: 0.5, AsPublished: true})
	if err != nil {
		t.Fatal(err)
	}
	plan := privacy.Plan{Sensitivity: s, Records: 100, Steps: 10, Budget: privacy.Budget{Epsilon: 3, Delta: 1e-5}}
	var stds [2]float64
	for i, sampler := range []sampling.Sampler{nil, sampling.All{}} {
		plan.Sampler = sampler
		if stds[i], err = (matching.Published{Plan: plan, Steps: 10, Sensitivity: s}).NoiseStd(); err != nil {
			t.Fatal(err)
		}
	}
	if stds[0] != stds[1] || !(stds[0] > 0) {
		t.Errorf("noise %v without a sampler, %v with that of all", stds[0], stds[1])
	}
}
