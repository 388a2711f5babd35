// Package kernel has the inner loops of package sinkhorn, in plain Go and for the
// vector registers of x86 processors.
package kernel

import "math"

// Mixture is Squared·‖x−y‖₂² + Absolute·‖x−y‖₁.
type Mixture struct{ Squared, Absolute float64 }

// The loops, in plain Go. Where the processor can do better, init of avx512.go
// replaces them. There no scalar stands between vectors, not to convert a number or to
// compare one: Go's compiler takes the processor's older instructions for scalars, and some
// machines need a hundred nanoseconds to go from vectors to these and back.
var (
	// PlanRow writes dst_j = exp(u + v_j − rate·cost_j) and returns Σ_j dst_j.
	PlanRow = planRowPlain
	// DotRow returns Σ_j a_j·b_j.
	DotRow = dotRowPlain
	// AddScaled adds weight·row to acc.
	AddScaled = addScaledPlain
	// MixtureRow writes the cost of x, [dim], to each of the m columns of y,
	// [dim, m], in columns from … from+len(dst)−1.
	MixtureRow = mixtureRowPlain
	// Multiply writes the first rows (≤ 4) rows and lanes (≤ PanelWidth) columns
	// of A·B to dst, one row each stride, for A of shape [4, inner] and B of
	// [inner, PanelWidth].
	Multiply = multiplyPlain
	// ShiftRow writes factor·(x − center) to dst, all [dim].
	ShiftRow = shiftRowPlain
	// PullRow adds Σ_j weights_j·∂c/∂x(x, y_j) of a Mixture to dst, [dim].
	PullRow = pullRowPlain
	// PullPair adds weight·∂c/∂x(x, y) of a Mixture to dst, all [dim].
	PullPair = pullPairPlain
)

func planRowPlain(dst, v, cost []float64, u, rate float64) (sum float64) {
	for j, c := range cost {
		e := math.Exp(u + v[j] - rate*c)
		dst[j] = e
		sum += e
	}
	return sum
}

func addScaledPlain(acc, row []float64, weight float64) {
	for j, r := range row {
		acc[j] += weight * r
	}
}

func mixtureRowPlain(dst, x []float64, columns []float32, m, from int, c Mixture) {
	clear(dst)
	for k, at := range x {
		column := columns[k*m+from:][:len(dst)]
		if c.Absolute == 0 {
			for j, y := range column {
				d := at - float64(y)
				dst[j] += d * d
			}
			continue
		}
		for j, y := range column {
			d := at - float64(y)
			dst[j] += c.Squared*d*d + c.Absolute*math.Abs(d)
		}
	}
	if c.Absolute == 0 && c.Squared != 1 {
		for j := range dst {
			dst[j] *= c.Squared
		}
	}
}

func pullRowPlain(dst, weights, x []float64, columns []float32, m int, c Mixture) {
	for k, at := range x {
		column := columns[k*m:][:m]
		var squared, absolute float64
		for j, y := range column {
			d := at - float64(y)
			squared += weights[j] * d
			switch {
			case d > 0:
				absolute += weights[j]
			case d < 0:
				absolute -= weights[j]
			}
		}
		dst[k] += 2*c.Squared*squared + c.Absolute*absolute
	}
}

func multiplyPlain(dst []float64, stride, rows, lanes int, a []float64, panel []float64) {
	inner := len(panel) / PanelWidth
	for i := range rows {
		var sums [PanelWidth]float64
		for k, v := range a[i*inner : (i+1)*inner] {
			for j, w := range panel[k*PanelWidth : (k+1)*PanelWidth] {
				sums[j] = math.FMA(v, w, sums[j])
			}
		}
		copy(dst[i*stride:][:lanes], sums[:])
	}
}

func shiftRowPlain(dst []float64, x []float32, center []float64, factor float64) {
	for k, v := range x {
		dst[k] = factor * (float64(v) - center[k])
	}
}

func dotRowPlain(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
}

func pullPairPlain(dst []float64, x, y []float32, weight float64, c Mixture) {
	dst, y = dst[:len(x)], y[:len(x)]
	for k := range x {
		d := float64(x[k]) - float64(y[k])
		slope := 2 * c.Squared * d
		if d != 0 {
			slope += math.Copysign(c.Absolute, d)
		}
		dst[k] += weight * slope
	}
}
