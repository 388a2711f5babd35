package harmonic

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"molehill/transport"
	"molehill/transport/sliced"
)

// Density is what a sketch tells of where points of the sphere are: the means of
// their harmonics up to a degree, and how sure they are.
type Density struct {
	basis  *Basis
	zonal  [][]float64 // of each degree, coefficients of P_l(⟨θ_j, ·⟩), [size]
	kept   []float64
	errors []float64 // variances of the moments on a direction, [Degree]
}

// Dim is the dimension of the space that has the sphere.
func (d *Density) Dim() int { return d.basis.Dim }

// Kept returns the share of each degree that shrinking has left, [Degree], from 0
// to 1; after a joint fit that of what the fit does not explain.
func (d *Density) Kept() []float64 { return append([]float64(nil), d.kept...) }

// coefficients returns a with Σ_m y_m·Y_m = Count·Σ_j a_j·P_l(⟨θ_j, ·⟩) for means y
// = scale·means of orthonormal harmonics.
func (d degree) coefficients(means []float64, scale float64) []float64 {
	a := make([]float64, d.size)
	for j, m := range means {
		a[j] = m * scale / math.Sqrt(float64(d.size))
	}
	blas64.Trsv(blas.Trans, d.factor.RawTriangular(), blas64.Vector{N: d.size, Data: a, Inc: 1})
	return a
}

// moments writes the means of P_1(⟨x, θ⟩) … P_L(⟨x, θ⟩) of each density to its
// row of c, [len(all)][Degree], θ of norm 1. The densities have one basis, whose
// zonal functions are the work.
func moments(c [][]float64, all []*Density, theta []float64) {
	b := all[0].basis
	for i, part := range b.degrees {
		for k := range all {
			c[k][i] = 0
		}
		r, j := newRecurrence(b.Dim, i+1), 0
		for ; j+4 <= part.size; j += 4 {
			t0, t1, t2, t3 := dot4(theta, part.points[j*b.Dim:(j+4)*b.Dim])
			p0, p1, p2, p3 := r.last4(t0, t1, t2, t3)
			for k, d := range all {
				a := d.zonal[i][j : j+4]
				c[k][i] += a[0]*p0 + a[1]*p1 + a[2]*p2 + a[3]*p3
			}
		}
		for ; j < part.size; j++ {
			p := r.last(dot(theta, part.points[j*b.Dim:(j+1)*b.Dim]))
			for k, d := range all {
				c[k][i] += d.zonal[i][j] * p
			}
		}
	}
}

// Quantiles returns the quantile functions of the projections on u, through knots
// evenly spaced levels: those of the distribution of the greatest entropy,
// relative to the projection of the uniform distribution, among those with the
// moments E P_l(⟨x, θ⟩) that the sketch has, each up to its error. There is
// always one, it is positive, and where points crowd it does not ring as the
// series of their harmonics does.
func (d *Density) Quantiles(u sliced.Directions, knots int) ([]transport.Quantile, error) {
	quantiles, err := Quantiles([]*Density{d}, u, knots)
	if err != nil {
		return nil, err
	}
	return quantiles[0], nil
}

// Quantiles returns those of several densities that have one basis, such as those
// of the classes of a labelled sketch, [len(densities)][u.Count], in less time
// than one by one.
func Quantiles(densities []*Density, u sliced.Directions, knots int) ([][]transport.Quantile, error) {
	if len(densities) == 0 {
		return nil, nil
	}
	b := densities[0].basis
	for _, d := range densities {
		if d.basis != b {
			return nil, fmt.Errorf("harmonic: densities of several bases; take those of one sketch together")
		}
	}
	if u.Dim != b.Dim {
		return nil, fmt.Errorf("harmonic: directions of dimension %d for points of dimension %d; they must agree", u.Dim, b.Dim)
	}
	if knots < 2 {
		return nil, fmt.Errorf("harmonic: quantile functions of %d knots; take at least 2", knots)
	}
	fit, read := newAngles(b, fitIntervals, 0.5), newAngles(b, readIntervals, 0)
	quantiles := make([][]transport.Quantile, len(densities))
	for k := range quantiles {
		quantiles[k] = make([]transport.Quantile, u.Count)
	}
	type scratch struct {
		theta []float64
		c     [][]float64
		tilt  *tilt
	}
	transport.Parallel(u.Count, func() scratch {
		s := scratch{make([]float64, u.Dim), make([][]float64, len(densities)), newTilt(fit, read)}
		for k := range s.c {
			s.c[k] = make([]float64, b.Degree)
		}
		return s
	}, func(s scratch, j int) {
		unit(s.theta, u.Row(j))
		moments(s.c, densities, s.theta)
		for k, d := range densities {
			s.tilt.fit(s.c[k], d.errors)
			quantiles[k][j] = transport.BinQuantile(s.tilt.invert(knots))
		}
	})
	return quantiles, nil
}
