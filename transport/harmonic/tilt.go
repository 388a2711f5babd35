package harmonic

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Densities are added up on intervals of φ in [0, π], t = cos φ: for the fit at
// their middles, which is exact to many digits with few of them, for in φ all is
// smooth and periodic (Trefethen & Weideman 2014); at their ends to read quantiles
// off between them.
const (
	fitIntervals  = 128
	readIntervals = 400
)

// angles has what all projections share.
type angles struct {
	at     []float64   // cos φ, ascending
	base   []float64   // logarithm of sin(φ)^(dim−2): the uniform distribution over φ
	values [][]float64 // P_l(cos φ) of l = 1 … L

	products [][]float64 // P_a·P_b of a ≤ b, row by row
}

// newAngles has points at φ = π·(1 − (i+shift)/intervals): the ends of intervals
// for shift 0, their middles for ½.
func newAngles(b *Basis, intervals int, shift float64) *angles {
	points := intervals
	if shift == 0 {
		points++
	}
	a := &angles{at: make([]float64, points), base: make([]float64, points), values: make([][]float64, b.Degree)}
	for l := range a.values {
		a.values[l] = make([]float64, points)
	}
	p := make([]float64, b.Degree+1)
	for i := range a.at {
		sin, cos := math.Sincos(math.Pi * (1 - (float64(i)+shift)/float64(intervals)))
		a.at[i] = cos
		if b.Dim > 2 {
			a.base[i] = float64(b.Dim-2) * math.Log(max(sin, 1e-100))
		}
		zonal(p, b.Dim, cos)
		for l := range a.values {
			a.values[l][i] = p[l+1]
		}
	}
	for l := range a.values {
		for _, other := range a.values[l:] {
			a.products = append(a.products, floats.MulTo(make([]float64, points), a.values[l], other))
		}
	}
	return a
}

// tilt is the density exp(Σ_l λ_l·P_l(t)), relative to the uniform distribution's
// projection.
type tilt struct {
	*angles
	fine     *angles
	lambda   []float64
	mass     []float64 // over φ, of sum 1, [fitIntervals]
	mean     []float64 // E P_l
	hessian  blas64.Symmetric
	gradient []float64 // downhill
	step     []float64
}

func newTilt(fit, read *angles) *tilt {
	degree := len(fit.values)
	return &tilt{angles: fit, fine: read, lambda: make([]float64, degree), mass: make([]float64, len(fit.at)),
		mean: make([]float64, degree), gradient: make([]float64, degree), step: make([]float64, degree),
		hessian: blas64.Symmetric{Uplo: blas.Upper, N: degree, Stride: degree, Data: make([]float64, degree*degree)}}
}

// fit finds the λ that minimise
//
//	log Z(λ) − Σ_l λ_l·c_l + ½·Σ_l v_l·λ_l²,   Z = ∫ exp(Σ_l λ_l·P_l),
//
// by Newton's method. The first terms are the dual of greatest entropy under
// E P_l = c_l, and the last lets moments with an error of variance v_l be missed
// by as much. It is strictly convex with v_l > 0, whatever c is.
func (t *tilt) fit(c, v []float64) {
	clear(t.lambda)
	value := t.evaluate(c, v)
	trial := make([]float64, len(c))
	for range 50 {
		var far float64
		at := 0 // in products
		for a := range c {
			gradient := t.mean[a] - c[a] + v[a]*t.lambda[a]
			t.step[a] = -gradient
			far = max(far, math.Abs(gradient))
			for b := a; b < len(c); b++ {
				sum := floats.Dot(t.mass, t.products[at]) - t.mean[a]*t.mean[b]
				at++
				if a == b {
					sum += v[a]
				}
				t.hessian.Data[a*len(c)+b] = sum
			}
		}
		if far < 1e-7 {
			return
		}
		// Not mat.Cholesky, for which estimating the condition of so small a matrix is
		// most of the work.
		factor, ok := lapack64.Potrf(t.hessian)
		if !ok {
			return // as near as rounding allows
		}
		copy(t.gradient, t.step)
		lapack64.Potrs(factor, blas64.General{Rows: len(c), Cols: 1, Stride: 1, Data: t.step})
		decrease := floats.Dot(t.gradient, t.step) // Newton's decrement², ≥ 0
		copy(trial, t.lambda)
		for size := 1.; ; size /= 2 {
			for a := range t.lambda {
				t.lambda[a] = trial[a] + size*t.step[a]
			}
			if next := t.evaluate(c, v); next <= value-1e-4*size*decrease || size < 1e-6 {
				value = next
				break
			}
		}
	}
}

// evaluate returns the value that fit minimises, and leaves mass and mean.
func (t *tilt) evaluate(c, v []float64) float64 {
	value := t.angles.density(t.mass, t.lambda)
	for l, lambda := range t.lambda {
		t.mean[l] = floats.Dot(t.mass, t.values[l])
		value += lambda * (v[l]*lambda/2 - c[l])
	}
	return value
}

// density writes the density with given λ to mass, of sum 1, and returns the
// logarithm of what it was divided by.
func (a *angles) density(mass, lambda []float64) float64 {
	copy(mass, a.base)
	for l, v := range lambda {
		floats.AddScaled(mass, v, a.values[l])
	}
	most := math.Inf(-1)
	for _, m := range mass {
		most = max(most, m)
	}
	var sum float64
	for i, m := range mass {
		mass[i] = math.Exp(m - most)
		sum += mass[i]
	}
	for i := range mass {
		mass[i] /= sum
	}
	return most + math.Log(sum)
}

// invert returns the values at levels (k+½)/knots, ascending.
func (t *tilt) invert(knots int) []float32 {
	values := make([]float32, knots)
	last := len(t.fine.at) - 1
	mass := make([]float64, last+1)
	t.fine.density(mass, t.lambda)
	below, i := 0., 1
	step := (mass[0] + mass[1]) / 2
	total := 1 - (mass[0]+mass[last])/2 // of the trapezoids
	for k := range values {
		level := total * (float64(k) + 0.5) / float64(knots)
		for i < last && below+step < level {
			below += step
			i++
			step = (mass[i-1] + mass[i]) / 2
		}
		part := 0.5
		if step > 0 {
			part = min(max((level-below)/step, 0), 1)
		}
		values[k] = float32(t.fine.at[i-1] + part*(t.fine.at[i]-t.fine.at[i-1]))
	}
	return values
}
