package harmonic

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

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

// Kept returns by how much each degree was shrunk, [Degree], from 0 to 1.
func (d *Density) Kept() []float64 { return append([]float64(nil), d.kept...) }

// coefficients returns a with Σ_m y_m·Y_m = Count·Σ_j a_j·P_l(⟨θ_j, ·⟩) for means y
// = scale·means of orthonormal harmonics.
func (d degree) coefficients(means []float64, scale float64) []float64 {
	a := mat.NewVecDense(d.size, append([]float64(nil), means...))
	a.ScaleVec(scale/math.Sqrt(float64(d.size)), a)
	_ = a.SolveVec(d.factor.T(), a) // the factor was made, so it has an inverse
	return a.RawVector().Data
}

// moments writes the means of P_1(⟨x, θ⟩) … P_L(⟨x, θ⟩) to c, [Degree], θ of norm
// 1.
func (d *Density) moments(c, theta []float64) {
	dim := d.basis.Dim
	for i, part := range d.basis.degrees {
		r, sum := newRecurrence(dim, i+1), 0.
		j, a := 0, d.zonal[i]
		for ; j+4 <= len(a); j += 4 {
			t0, t1, t2, t3 := dot4(theta, part.points[j*dim:(j+4)*dim])
			p0, p1, p2, p3 := r.last4(t0, t1, t2, t3)
			sum += a[j]*p0 + a[j+1]*p1 + a[j+2]*p2 + a[j+3]*p3
		}
		for ; j < len(a); j++ {
			sum += a[j] * r.last(dot(theta, part.points[j*dim:(j+1)*dim]))
		}
		c[i] = sum
	}
}

// Quantiles returns the quantile functions of the projections on u, through knots
// evenly spaced levels: those of the distribution of the greatest entropy,
// relative to the projection of the uniform distribution, among those with the
// moments E P_l(⟨x, θ⟩) that the sketch has, each up to its error. There is
// always one, it is positive, and where points crowd it does not ring as the
// series of their harmonics does.
func (d *Density) Quantiles(u sliced.Directions, knots int) ([]transport.Quantile, error) {
	if u.Dim != d.basis.Dim {
		return nil, fmt.Errorf("harmonic: directions of dimension %d for points of dimension %d; they must agree", u.Dim, d.basis.Dim)
	}
	if knots < 2 {
		return nil, fmt.Errorf("harmonic: quantile functions of %d knots; take at least 2", knots)
	}
	fit, read := newAngles(d.basis, fitIntervals, 0.5), newAngles(d.basis, readIntervals, 0)
	quantiles := make([]transport.Quantile, u.Count)
	type scratch struct {
		theta, c []float64
		tilt     *tilt
	}
	transport.Parallel(u.Count, func() scratch {
		return scratch{make([]float64, u.Dim), make([]float64, d.basis.Degree), newTilt(fit, read)}
	}, func(s scratch, j int) {
		unit(s.theta, u.Row(j))
		d.moments(s.c, s.theta)
		s.tilt.fit(s.c, d.errors)
		quantiles[j] = transport.BinQuantile(s.tilt.invert(knots))
	})
	return quantiles, nil
}
