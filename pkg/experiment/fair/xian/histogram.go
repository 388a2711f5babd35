// Package xian makes predictions fair after they were made: the private
// post-processing of Xian, Li, Kamath and Zhao 2024, with which 004 compares in
// Figure 5. Predictions are counted by bin and group, the counts released once, and a
// linear programme says from them how far the predictions of each group move.
package xian

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// Bins cut an interval that is known beforehand into parts of equal width.
type Bins struct {
	Low, High float64
	Count     int
}

const mostBins = 64 // of which the linear programme takes minutes

// Check returns an error unless there are from 2 to 64 bins of an interval.
func (b Bins) Check() error {
	if b.Count < 2 || b.Count > mostBins {
		return fmt.Errorf("xian: %d bins; take from 2 to %d", b.Count, mostBins)
	}
	if !(b.Low < b.High) || math.IsInf(b.High-b.Low, 0) {
		return fmt.Errorf("xian: bins from %v to %v; the interval must have a length, and be known without the records", b.Low, b.High)
	}
	return nil
}

// Of returns the bin of a value: the first or last one beyond the interval, and the
// first for what is no number.
func (b Bins) Of(v float64) int {
	part := (v - b.Low) / (b.High - b.Low) * float64(b.Count)
	if !(part > 0) {
		return 0
	}
	return int(min(part, float64(b.Count-1)))
}

// Middle returns the middle of a bin.
func (b Bins) Middle(i int) float64 {
	return b.Low + (b.High-b.Low)*(float64(i)+0.5)/float64(b.Count)
}

// Histogram is the joint distribution of bins and groups as it was released.
type Histogram struct {
	Bins    Bins
	Weights [2]float64   // share of each group, of sum 1
	Given   [2][]float64 // distribution of bins in each group, [2, Bins.Count], of sum 1
}

// leastWeight is what a group's share is at least, whatever its noisy counts are.
const leastWeight = 1e-6

// Release counts records by bin and group, and adds to each count discrete
// Laplace noise for ε-differential privacy: P(k) ∝ exp(−ε|k|/2), as replacing a record
// moves two counts by one each. That is the Laplace noise of scale 2/(εn) of Xian, Li,
// Kamath and Zhao 2024 on shares, on whole numbers, so that no low bits tell anything
// (Ghosh, Roughgarden & Sundararajan 2009). Neither the groups' sizes nor who is in
// which has to be public for it; n has to. ε = ∞ adds nothing.
//
// What follows looks at the noisy counts alone: a group's cumulated shares are made
// increasing by the nearest such sequence in ℓ∞, as there, and cut to [0, 1].
func Release(scores []float64, group []int, b Bins, epsilon float64, secret *rand.Rand) (Histogram, error) {
	counts, err := NoisyCounts(scores, group, b, epsilon, secret)
	if err != nil {
		return Histogram{}, err
	}
	h := Histogram{Bins: b}
	for a := range counts {
		total := max(floats.Sum(counts[a])/float64(len(scores)), leastWeight)
		h.Weights[a] = total
		floats.Scale(1/(total*float64(len(scores))), counts[a])
		h.Given[a] = distribution(counts[a])
	}
	total := h.Weights[0] + h.Weights[1]
	h.Weights[0] /= total
	h.Weights[1] /= total
	return h, nil
}

// NoisyCounts returns how many records of each group are in each bin, [2, Count], with
// the noise of Release, which looks at nothing else.
func NoisyCounts(scores []float64, group []int, b Bins, epsilon float64, secret *rand.Rand) (counts [2][]float64, err error) {
	if err := b.Check(); err != nil {
		return counts, err
	}
	if len(scores) != len(group) || len(scores) == 0 {
		return counts, fmt.Errorf("xian: %d predictions of %d records; bring one for each, of at least one record", len(scores), len(group))
	}
	for a := range counts {
		counts[a] = make([]float64, b.Count)
	}
	for i, a := range group {
		if a != 0 && a != 1 {
			return counts, fmt.Errorf("xian: record %d has the group A %d; it is 0 or 1: recode the column, or drop the record", i, a)
		}
		counts[a][b.Of(scores[i])]++
	}
	if math.IsInf(epsilon, 1) {
		return counts, nil
	}
	noise, err := newDiscreteLaplace(epsilon / 2)
	if err != nil {
		return counts, err
	}
	for a := range counts {
		for i := range counts[a] {
			counts[a][i] += float64(noise.draw(secret))
		}
	}
	return counts, nil
}

// CheckEpsilon refuses an ε whose noise NoisyCounts does not have; it has that of ∞, none.
func CheckEpsilon(epsilon float64) error {
	if math.IsInf(epsilon, 1) {
		return nil
	}
	_, err := newDiscreteLaplace(epsilon / 2)
	return err
}

// distribution makes shares that noise was added to a distribution.
func distribution(shares []float64) []float64 {
	k := len(shares)
	above := floats.CumSum(make([]float64, k), shares)
	below := make([]float64, k)
	for i, least := k-1, math.Inf(1); i >= 0; i-- {
		least = min(least, above[i])
		below[i] = least
	}
	most, before := math.Inf(-1), 0.0
	for i := range k {
		most = max(most, above[i])
		cumulated := min(max((most+below[i])/2, 0), 1)
		if i == k-1 {
			cumulated = 1
		}
		shares[i], before = cumulated-before, cumulated
	}
	return shares
}
