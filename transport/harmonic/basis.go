package harmonic

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
)

// Basis is the orthonormal basis of the harmonics of degrees 1 to Degree on the
// sphere of R^Dim, with the uniform distribution for measure, that one gets by
// splitting off one coordinate after the other (Avery 1989, Hyperspherical Harmonics,
// Chapter 3). It is the same for everybody, and that of a lower degree is its beginning.
type Basis struct {
	Dim, Degree int
	levels      []level // of the coordinates 2 … Dim−1
}

// level makes the harmonics of j coordinates from those of the first j−1: for each of
// degree k ≤ l one of degree l, its product with a polynomial of the last coordinate.
// On points inside of the unit sphere they are homogeneous polynomials, so that no radius
// has to be divided by.
type level struct {
	before, here []int     // where the harmonics of each degree begin, [Degree+2], of j−1 and of j coordinates
	first        []float64 // the polynomial of degree 0 beside k, [Degree+1]
	rise, fall   []float64 // p_n+1 = rise·t·p_n − fall·r²·p_n−1, [Degree+1, Degree+1] by k and n
}

// NewBasis returns the basis.
func NewBasis(dim, highest int) (*Basis, error) {
	if err := checkDegree(dim, highest); err != nil {
		return nil, err
	}
	b := &Basis{Dim: dim, Degree: highest}
	for j := 3; j <= dim; j++ {
		b.levels = append(b.levels, newLevel(j, highest))
	}
	return b, nil
}

// newLevel has polynomials of t that are orthonormal with respect to the uniform
// distribution's projection, of density ∝ (1−t²)^((j−3)/2), and the square of what
// a harmonic of degree k is smaller by inside of the sphere, (1−t²)^k: Gegenbauer's with
// λ = k + (j−2)/2.
func newLevel(j, degree int) level {
	of := level{before: starts(j-1, degree), here: starts(j, degree), first: make([]float64, degree+1),
		rise: make([]float64, (degree+1)*(degree+1)), fall: make([]float64, (degree+1)*(degree+1))}
	mass := 1. // E(1−t²)^k, of a beta distribution
	for k := range degree + 1 {
		of.first[k] = 1 / math.Sqrt(mass)
		mass *= (float64(j-1)/2 + float64(k)) / (float64(j)/2 + float64(k))
		lambda := float64(k) + float64(j-2)/2
		coupling := func(n float64) float64 { // t·p_n has so much of p_n−1
			return math.Sqrt(n * (n + 2*lambda - 1) / (4 * (n + lambda) * (n + lambda - 1)))
		}
		for n := range degree - k {
			at := k*(degree+1) + n
			of.rise[at] = 1 / coupling(float64(n+1))
			if n > 0 {
				of.fall[at] = of.rise[at] * coupling(float64(n))
			}
		}
	}
	return of
}

// starts returns where the harmonics of degree 0, 1, … of j coordinates begin, and
// where those of the last degree end.
func starts(j, degree int) []int {
	at := make([]int, degree+2)
	for l := range degree + 1 {
		at[l+1] = at[l] + int(Count(j, l))
	}
	return at
}

// checkDegree refuses a degree that a basis cannot have. Of lower degrees there are no
// more harmonics.
func checkDegree(dim, highest int) error {
	if dim < 2 || highest < 1 {
		return fmt.Errorf("harmonic: harmonics up to degree %d in %d dimensions; take at least degree 1 and 2 dimensions", highest, dim)
	}
	if highest > MaxDegree {
		return fmt.Errorf("harmonic: degree %d, of which at most %d can be handled; take a lower one", highest, MaxDegree)
	}
	if count := Count(dim, highest); !(count <= MaxSize) {
		return fmt.Errorf("harmonic: degree %d in %d dimensions has %.0f harmonics, of which at most %d can be handled; take a lower degree", highest, dim, count, MaxSize)
	}
	return nil
}

// Size is the number of harmonics.
func (b *Basis) Size() int { return Size(b.Dim, b.Degree) }

// UpTo returns the basis of the degrees 1 to degree of b. It panics for a degree below 1.
func (b *Basis) UpTo(degree int) *Basis {
	shorter, err := NewBasis(b.Dim, min(degree, b.Degree))
	if err != nil {
		panic(err) // a basis has lower degrees
	}
	return shorter
}

// each calls visit with the part of values, [Size], that every degree has.
func (b *Basis) each(values []float64, visit func(l int, part []float64)) {
	from := 0
	for l := 1; l <= b.Degree; l++ {
		to := from + int(Count(b.Dim, l))
		visit(l, values[from:to])
		from = to
	}
}

// part returns what values, [Size] or more, have of degree l.
func (b *Basis) part(values []float64, l int) []float64 {
	from := Size(b.Dim, l-1)
	return values[from : from+int(Count(b.Dim, l))]
}

// values evaluates harmonics, one point after the other.
type values struct {
	*Basis
	here, before []float64 // degree 0 first
	polynomial   []float64 // [Degree+1]
}

func (b *Basis) values() *values {
	all := 1 + b.Size()
	return &values{b, make([]float64, all), make([]float64, all), make([]float64, b.Degree+1)}
}

// at returns the harmonics at x, a point of norm 1, [Size] until the next call.
func (v *values) at(x []float64) []float64 {
	// Of two coordinates: the real and imaginary parts of powers of x₁ + i·x₂.
	v.here[0] = 1
	re, im := 1., 0.
	for l := 1; l <= v.Degree; l++ {
		re, im = re*x[0]-im*x[1], re*x[1]+im*x[0]
		v.here[2*l-1], v.here[2*l] = math.Sqrt2*re, math.Sqrt2*im
	}
	squared := x[0]*x[0] + x[1]*x[1]
	for i, of := range v.levels {
		t := x[i+2]
		squared += t * t
		v.here, v.before = v.before, v.here
		v.rise(of, t, squared)
	}
	return v.here[1:]
}

// rise makes here of before, for a last coordinate t of points of squared norm.
func (v *values) rise(of level, t, squared float64) {
	for k := range v.Degree + 1 {
		p := v.polynomial[:v.Degree+1-k]
		rise, fall := of.rise[k*(v.Degree+1):], of.fall[k*(v.Degree+1):]
		p[0] = of.first[k]
		if len(p) > 1 {
			p[1] = rise[0] * t * p[0]
		}
		for n := 1; n+1 < len(p); n++ {
			p[n+1] = rise[n]*t*p[n] - fall[n]*squared*p[n-1]
		}
		factors := v.before[of.before[k]:of.before[k+1]]
		for n, scale := range p {
			from := of.here[k+n] + of.before[k]
			floats.ScaleTo(v.here[from:from+len(factors)], scale, factors)
		}
	}
}

// Means returns the mean of every harmonic over x, [Size], degree by degree, each
// orthonormal: Σ_m Y_m(x)² = Count(Dim, l) at every point. x must be of norm 1
// (transport.Points.OnSphere).
func (b *Basis) Means(x transport.Points) ([]float64, error) {
	if err := b.check(x); err != nil {
		return nil, err
	}
	means := b.sums(x.Len(), func(i int, row []float64) float64 {
		unit(row, x.Row(i))
		return 1
	})
	floats.Scale(1/float64(x.Len()), means)
	return means, nil
}

// sums returns Σ_i weight_i·Y(x_i), [Size]; point writes x_i and returns its weight. The
// points are cut into parts that no number of cores changes, so that sums are always made
// in the same order. Only the sums of a few points are plain ones: what rounding does there
// does not grow with n.
func (b *Basis) sums(n int, point func(i int, x []float64) (weight float64)) []float64 {
	const parts, few = 32, 16
	type scratch struct {
		*values
		x []float64
	}
	sums := make([][]transport.Sum, min(parts, n))
	transport.Parallel(len(sums), func() scratch {
		return scratch{b.values(), make([]float64, b.Dim)}
	}, func(s scratch, part int) {
		sum, plain := make([]transport.Sum, b.Size()), make([]float64, b.Size())
		to := (part + 1) * n / len(sums)
		for from := part * n / len(sums); from < to; from += few {
			clear(plain)
			for i := from; i < min(from+few, to); i++ {
				floats.AddScaled(plain, point(i, s.x), s.at(s.x))
			}
			for m, v := range plain {
				sum[m].Add(v)
			}
		}
		sums[part] = sum
	})
	total := make([]transport.Sum, b.Size())
	for _, part := range sums {
		for m := range total {
			total[m].Join(part[m])
		}
	}
	return transport.SumValues(total)
}

// unit writes x, scaled to norm 1 in double precision, to dst: single precision
// is off the sphere by its last digit.
func unit(dst []float64, x []float32) {
	var squares float64
	for c, v := range x {
		dst[c] = float64(v)
		squares += dst[c] * dst[c]
	}
	for c := range dst {
		dst[c] /= math.Sqrt(squares)
	}
}

func dot(a, b []float64) float64 {
	var sum float64
	for c, v := range a {
		sum += v * b[c]
	}
	return sum
}

// check returns an error unless x are points of the sphere.
func (b *Basis) check(x transport.Points) error {
	if b == nil {
		return errors.New("harmonic: no basis; make one with NewBasis")
	}
	if err := x.Check(); err != nil {
		return err
	}
	if x.Dim != b.Dim {
		return fmt.Errorf("harmonic: points of dimension %d for a basis of dimension %d; they must agree", x.Dim, b.Dim)
	}
	for i := range x.Len() {
		var squares float64
		for _, v := range x.Row(i) {
			squares += float64(v) * float64(v)
		}
		if !(math.Abs(squares-1) < 1e-5) {
			return fmt.Errorf("harmonic: point %d has norm %.6g; bring points to norm 1 first (transport.Points.OnSphere)", i, math.Sqrt(squares))
		}
	}
	return nil
}
