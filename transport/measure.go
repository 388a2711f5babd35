package transport

import (
	"fmt"
	"math"
)

// Measure is a discrete measure: Σ_i Weights[i]·δ at Points.Row(i).
//
// Where transport must conserve mass, only the ratios of the weights matter:
// they are divided by their sum. Unbalanced transport takes them as they are.
type Measure struct {
	Points
	Weights []float64 // [n], ≥ 0, with a positive and finite sum; nil: 1/n each
}

// Uniform returns the measure that weighs every point 1/n.
func Uniform(p Points) Measure { return Measure{Points: p} }

// Check returns an error unless m has finite points and weights that can be
// divided by their sum. It names the first row at fault.
func (m Measure) Check() error {
	if err := m.Points.Check(); err != nil {
		return err
	}
	return CheckWeights(m.Weights, m.Len())
}

// CheckWeights returns an error unless weights is nil or n finite weights ≥ 0,
// not all of them 0, whose sum is finite.
func CheckWeights(weights []float64, n int) error {
	if weights == nil {
		return nil
	}
	if len(weights) != n {
		return fmt.Errorf("transport: %d weights for %d points; give one a point, or none for equal weights", len(weights), n)
	}
	var sum float64
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("transport: weight %d is %v; weights are finite and at least 0", i, w)
		}
		sum += w
	}
	switch {
	case sum == 0:
		return fmt.Errorf("transport: all %d weights are 0; at least one must be positive", n)
	case math.IsInf(sum, 0):
		return fmt.Errorf("transport: the sum of %d weights overflows; divide them by a constant", n)
	}
	return nil
}

// checkCount panics with words where make or an index would panic without.
func checkCount(weights []float64, n int) {
	if n < 0 || weights != nil && len(weights) != n {
		panic(fmt.Sprintf("transport: expected as many weights as points, or nil for equal ones, found %d for %d points", len(weights), n))
	}
}

// Shares returns the weights divided by their sum, [n], always a new slice.
func (m Measure) Shares() []float64 { return Shares(m.Weights, m.Len()) }

// Shares returns weights divided by their sum, [n]; nil stands for equal ones. It panics
// where they are not n.
func Shares(weights []float64, n int) []float64 {
	checkCount(weights, n)
	shares := make([]float64, n)
	if weights == nil {
		for i := range shares {
			shares[i] = 1 / float64(n)
		}
		return shares
	}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	for i, w := range weights {
		shares[i] = w / sum
	}
	return shares
}
