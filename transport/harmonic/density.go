package harmonic

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
	"molehill/transport/sliced"
)

// Density is what a sketch tells of where points of the sphere are: the means of
// their harmonics up to a degree, and how sure they are.
type Density struct {
	basis  *Basis
	means  [][]float64 // of each degree's orthonormal harmonics, divided by their number
	kept   []float64
	errors []float64 // variances of the moments on a direction, [Degree]
}

// Dim is the dimension of the space that has the sphere.
func (d *Density) Dim() int { return d.basis.Dim }

// Kept returns the share of each degree that shrinking has left, [Degree], from 0
// to 1; after a joint fit that of what the fit does not explain.
func (d *Density) Kept() []float64 { return append([]float64(nil), d.kept...) }

// add gives d the means of the next degree, scale·means, whose moments on a direction
// have an error of a variance.
func (d *Density) add(means []float64, scale, kept, variance float64) {
	d.kept = append(d.kept, kept)
	d.errors = append(d.errors, variance+leastVariance)
	d.means = append(d.means, nil)
	d.set(len(d.means), means, scale)
}

// set gives d other means of degree l, scale·means.
func (d *Density) set(l int, means []float64, scale float64) {
	d.means[l-1] = floats.ScaleTo(make([]float64, len(means)), scale/float64(len(means)), means)
}

// moments writes the means of P_1(⟨x, θ⟩) … P_L(⟨x, θ⟩) to c, [Degree], by the addition
// theorem. The harmonics at θ are those of d's basis.
func (d *Density) moments(c, harmonics []float64) {
	from := 0
	for i, means := range d.means {
		to := from + len(means)
		c[i] = floats.Dot(means, harmonics[from:to])
		from = to
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
// than one by one: harmonics are the work.
func Quantiles(densities []*Density, u sliced.Directions, knots int) ([][]transport.Quantile, error) {
	if len(densities) == 0 {
		return nil, nil
	}
	b := densities[0].basis
	for _, d := range densities {
		if d.basis == nil || b == nil {
			return nil, fmt.Errorf("harmonic: a density of no sketch; take Sketch.Density or Labelled.Densities")
		}
		if d.basis.Dim != b.Dim || d.basis.Degree != b.Degree {
			return nil, fmt.Errorf("harmonic: densities of several bases; take those of one sketch together")
		}
	}
	if u.Dim != b.Dim {
		return nil, fmt.Errorf("harmonic: directions of dimension %d for points of dimension %d; they must agree", u.Dim, b.Dim)
	}
	if err := u.Check(b.Dim); err != nil {
		return nil, fmt.Errorf("harmonic: %w", err)
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
		*values
		theta, c []float64
		tilt     *tilt
	}
	transport.Parallel(u.Count, func() scratch {
		return scratch{b.values(), make([]float64, u.Dim), make([]float64, b.Degree), newTilt(fit, read)}
	}, func(s scratch, j int) {
		unit(s.theta, u.Row(j))
		harmonics := s.at(s.theta)
		for k, d := range densities {
			d.moments(s.c, harmonics)
			s.tilt.fit(s.c, d.errors)
			quantiles[k][j] = transport.BinQuantile(s.tilt.invert(knots))
		}
	})
	return quantiles, nil
}
