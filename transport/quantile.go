package transport

import (
	"math"
)

// Quantile is a piecewise linear quantile function u ↦ F⁻¹(u) through evenly
// spaced knots: Values[i] stands at u = First + i·Step. Before the first and
// after the last knot it goes on with the slope of the piece beside it.
type Quantile struct {
	Values      []float32 // [knots], ascending
	First, Step float64
}

// SampleQuantile returns the quantile function of a sorted sample with the i-th
// of n values at u = i/(n−1), the convention of 003's experiments (and of
// numpy and torch: "linear").
func SampleQuantile(sorted []float32) Quantile {
	return Quantile{Values: sorted, First: 0, Step: 1 / float64(max(1, len(sorted)-1))}
}

// BinQuantile returns the quantile function through the means of equal-mass
// bins, each in the middle of its mass: the j-th of m stands at u = (j+½)/m.
func BinQuantile(means []float32) Quantile {
	step := 1 / float64(len(means))
	return Quantile{Values: means, First: step / 2, Step: step}
}

// At returns the value at level u in [0, 1], or NaN if there are no knots. Knots are less
// than the largest number of their type apart; else take Exact.
func (q Quantile) At(u float64) float32 {
	lower, upper, part := q.beside(u)
	return lower + float32(part)*(upper-lower)
}

// Exact is At in double precision.
func (q Quantile) Exact(u float64) float64 {
	lower, upper, part := q.beside(u)
	return float64(lower) + part*(float64(upper)-float64(lower))
}

// beside returns the knots that a level lies between, and which part of the way from one
// to the other.
func (q Quantile) beside(u float64) (lower, upper float32, part float64) {
	last := len(q.Values) - 1
	switch last {
	case -1:
		nan := float32(math.NaN())
		return nan, nan, 0
	case 0:
		return q.Values[0], q.Values[0], 0
	}
	position := (u - q.First) / q.Step
	i := min(max(int(position), 0), last-1)
	return q.Values[i], q.Values[i+1], position - float64(i)
}

// level turns the numbers of values below z and not above z into F(z).
func level(sorted []float32, below, notAbove int, z float32) float64 {
	last := len(sorted) - 1
	switch {
	case last < 0:
		return math.NaN()
	case last == 0 && notAbove > below: // all values are one
		return 0.5
	case notAbove > below: // z is one of the values
		return float64(below+notAbove-1) / 2 / float64(last)
	case below == 0:
		return 0
	case below > last:
		return 1
	}
	lower, upper := float64(sorted[below-1]), float64(sorted[below])
	return (float64(below-1) + (float64(z)-lower)/(upper-lower)) / float64(last)
}

// CDFs writes F(z) of the sorted sample, the inverse of SampleQuantile, to levels for every
// z of the ascending queries, in one walk through both (values that are equal to a query are
// counted for each such query): levels[i] = F(queries[i]), in [0, 1]. Among equal values it
// takes the middle of the jump, which of a sample of one value is 0.5. Of an empty sample it
// is NaN.
func CDFs(levels []float64, sorted, queries []float32) {
	below := 0
	for i, z := range queries {
		for below < len(sorted) && sorted[below] < z {
			below++
		}
		notAbove := below
		for notAbove < len(sorted) && sorted[notAbove] == z {
			notAbove++
		}
		levels[i] = level(sorted, below, notAbove, z)
	}
}
