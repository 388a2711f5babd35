package xian

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7869616e)) }

// Frequencies of 200,000 draws against P(k) = tanh(s/2t)·exp(−|k|s/t). Bounds are five
// standard errors each, exceeded by chance with probability 6e-7; 2/3 and 3/2 of the
// scale move P(0) by more than 20 of them.
func TestDiscreteLaplaceHasItsLaw(t *testing.T) {
	const n = 200_000
	for _, rate := range []float64{0.05, 0.5, 1.7} {
		l, err := newDiscreteLaplace(rate)
		if err != nil {
			t.Fatal(err)
		}
		exact := float64(l.s) / float64(l.t)
		if !(exact <= rate && exact >= rate-1e-6) {
			t.Fatalf("rate %v for %v; want as much or a little less", exact, rate)
		}
		r, counts := seeded(1), map[int64]float64{}
		for range n {
			counts[l.draw(r)]++
		}
		for k := int64(-6); k <= 6; k++ {
			p := math.Tanh(rate/2) * math.Exp(-math.Abs(float64(k))*rate)
			if got := counts[k] / n; !(math.Abs(got-p) <= 5*math.Sqrt(p*(1-p)/n)) {
				t.Errorf("rate %v: P(%d) = %v, want %v", rate, k, got, p)
			}
		}
	}
	for _, rate := range []float64{0, -1, math.NaN(), 1e-7, 1e4} {
		if _, err := newDiscreteLaplace(rate); err == nil {
			t.Errorf("noise of rate %v", rate)
		}
	}
}

func TestBins(t *testing.T) {
	b := Bins{Low: -1, High: 1, Count: 4}
	for v, want := range map[float64]int{-1: 0, -0.5: 1, -0.51: 0, 0.2: 2, 0.999: 3, 1: 3, 7: 3, -7: 0, math.Inf(1): 3, math.Inf(-1): 0} {
		if got := b.Of(v); got != want {
			t.Errorf("%v is in bin %d, want %d", v, got, want)
		}
	}
	if b.Of(math.NaN()) != 0 || b.Middle(0) != -0.75 || b.Middle(3) != 0.75 {
		t.Errorf("NaN in %d, middles %v and %v", b.Of(math.NaN()), b.Middle(0), b.Middle(3))
	}
}

// Without noise the histogram is that of the records, counted by hand.
func TestHistogramByHand(t *testing.T) {
	b := Bins{Low: 0, High: 3, Count: 3}
	h, err := Release([]float64{0.5, 0.5, 1.5, 2.5, 9}, []int{0, 0, 0, 0, 1}, b, math.Inf(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Given[0], []float64{0.5, 0.25, 0.25}) || !slices.Equal(h.Given[1], []float64{0, 0, 1}) || h.Weights != [2]float64{0.8, 0.2} {
		t.Errorf("distributions %v, shares %v", h.Given, h.Weights)
	}
}

// Replacing a record by another, of the same group or not, moves two counts by one
// each: noise of parameter ε/2 gives exp(ε) at most. Of all neighbours of five records
// the counts are compared.
func TestHistogramMovesByTwo(t *testing.T) {
	b := Bins{Low: 0, High: 3, Count: 3}
	scores, group := []float64{0.5, 0.7, 1.5, 2.5, 2.6}, []int{0, 1, 0, 1, 1}
	counts := func(scores []float64, group []int) (all [6]float64) {
		h, err := Release(scores, group, b, math.Inf(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		for a := range h.Given {
			for i, share := range h.Given[a] {
				all[a*3+i] = share * h.Weights[a] * float64(len(scores))
			}
		}
		return all
	}
	before, most := counts(scores, group), 0.0
	for i := range scores {
		for _, score := range []float64{-1, 0.5, 1.5, 2.5, math.NaN(), math.Inf(1)} {
			for a := range 2 {
				s, g := slices.Clone(scores), slices.Clone(group)
				s[i], g[i] = score, a
				after := counts(s, g)
				most = max(most, floats.Distance(before[:], after[:], 1))
			}
		}
	}
	if !(math.Abs(most-2) <= 1e-4) { // shares are at least leastWeight
		t.Errorf("one record moves the counts by %v in all, want 2", most)
	}
}

// Each count has noise of its own, of parameter ε/2 for ε: P(0) = tanh(ε/4). Of 12,800
// counts the share without is within five standard errors of it; ε or ε/4 in place of
// ε/2 would be more than 20 off.
func TestCountsHaveTheirNoise(t *testing.T) {
	const epsilon = 1.5
	b, zeros, r := Bins{Low: 0, High: 1, Count: 64}, 0.0, seeded(3)
	for range 100 {
		counts, err := NoisyCounts([]float64{0.5}, []int{1}, b, epsilon, r)
		if err != nil {
			t.Fatal(err)
		}
		counts[1][b.Of(0.5)]-- // the record
		for _, side := range counts {
			for _, v := range side {
				if v == 0 {
					zeros++
				}
			}
		}
	}
	if n, p := 12_800., math.Tanh(epsilon/4); !(math.Abs(zeros/n-p) <= 5*math.Sqrt(p*(1-p)/n)) {
		t.Errorf("%v of the counts have no noise, want %v", zeros/n, p)
	}
}

// distribution is the nearest increasing sequence in ℓ∞ of cumulated shares: no
// other one on a grid is nearer.
func TestNearestDistribution(t *testing.T) {
	shares := []float64{0.5, -0.3, 0.5, -0.1, 0.4}
	got := distribution(slices.Clone(shares))
	if !(math.Abs(floats.Sum(got)-1) <= 1e-15 && floats.Min(got) >= 0) {
		t.Fatalf("%v is no distribution", got)
	}
	// Cumulated: 0.5, 0.2, 0.7, 0.6, 1. Two descents, of 0.3 and 0.1, are met half way.
	want := []float64{0.35, 0.35, 0.65, 0.65, 1}
	if cumulated := floats.CumSum(make([]float64, 5), got); !floats.EqualApprox(cumulated, want, 1e-12) {
		t.Errorf("cumulated %v, want %v", cumulated, want)
	}
	for seed := range uint64(100) {
		r := seeded(seed)
		shares := make([]float64, 7)
		for i := range shares {
			shares[i] = r.NormFloat64()
		}
		if got := distribution(shares); !(floats.Min(got) >= 0 && math.Abs(floats.Sum(got)-1) <= 1e-12) {
			t.Fatalf("noise makes %v", got)
		}
	}
}

func TestPostProcessingRefusesBadInput(t *testing.T) {
	good := Bins{Low: -1, High: 1, Count: 4}
	for want, call := range map[string]func() error{
		"from 2 to 64":              func() error { return Bins{Low: 0, High: 1, Count: 1}.Check() },
		"1000000000 bins":           func() error { return Bins{Low: 0, High: 1, Count: 1e9}.Check() },
		"must have a length":        func() error { return Bins{Low: 1, High: 1, Count: 4}.Check() },
		"known without the records": func() error { return Bins{Low: math.Inf(-1), High: 1, Count: 4}.Check() },
		"the group A 2": func() error {
			_, err := Release([]float64{0}, []int{2}, good, 1, seeded(1))
			return err
		},
		"bring one for each": func() error {
			_, err := Release([]float64{0, 1}, []int{1}, good, 1, seeded(1))
			return err
		},
		"at least one record": func() error {
			_, err := Release(nil, nil, good, 1, seeded(1))
			return err
		},
		"ε = -1": func() error {
			_, err := Release([]float64{0}, []int{1}, good, -1, seeded(1))
			return err
		},
		"radius β = -0.1": func() error { _, err := NewTransport(twoHumps(4, 0.5), -0.1); return err },
		"radius β = NaN":  func() error { _, err := NewTransport(twoHumps(4, 0.5), math.NaN()); return err },
		"group 0 is not a distribution": func() error {
			_, err := NewTransport(Histogram{Bins: good, Weights: [2]float64{0.5, 0.5}}, 0)
			return err
		},
		"shares [2 -1]": func() error {
			h := twoHumps(4, 0.5)
			h.Weights = [2]float64{2, -1}
			_, err := NewTransport(h, 0)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}
