package harmonic

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"molehill/transport"
)

// Basis is an orthonormal basis of the harmonics of degrees 1 to Degree on the
// sphere of R^Dim, with the uniform distribution for measure.
//
// It is made from random points of the sphere rather than from formulas with
// angles: as many points θ_j as there are harmonics, whose zonal functions
// x ↦ P_l(⟨θ_j, x⟩) are a basis with probability one, and the Cholesky factor of
// their inner products, which makes it orthonormal.
type Basis struct {
	Dim, Degree int
	degrees     []degree // of l = 1 … Degree
}

type degree struct {
	points []float64     // θ_j, [size, Dim]
	factor *mat.TriDense // C of C·Cᵀ = (P_l(⟨θ_i, θ_j⟩)), [size, size], lower
	size   int
}

// NewBasis draws a basis. The same state of rng gives the same one, which is
// public: it never depends on a record.
func NewBasis(dim, highest int, rng *rand.Rand) (*Basis, error) {
	if err := checkDegree(dim, highest); err != nil {
		return nil, err
	}
	b := &Basis{Dim: dim, Degree: highest}
	for l := 1; l <= highest; l++ {
		count := Count(dim, l)
		d, ok := newDegree(dim, l, int(count), rng)
		for tries := 1; !ok && tries < 20; tries++ {
			d, ok = newDegree(dim, l, int(count), rng)
		}
		if !ok {
			return nil, fmt.Errorf("harmonic: no points were found that tell the %.0f harmonics of degree %d in %d dimensions apart; take a lower degree", count, l, dim)
		}
		b.degrees = append(b.degrees, d)
	}
	return b, nil
}

// checkDegree refuses a degree that a basis cannot have. Of lower degrees there are no
// more harmonics.
func checkDegree(dim, highest int) error {
	if dim < 2 || highest < 1 {
		return fmt.Errorf("harmonic: harmonics up to degree %d in %d dimensions; take at least degree 1 and 2 dimensions", highest, dim)
	}
	if count := Count(dim, highest); !(count <= MaxSize) {
		return fmt.Errorf("harmonic: degree %d in %d dimensions has %.0f harmonics, of which at most %d can be handled; take a lower degree", highest, dim, count, MaxSize)
	}
	return nil
}

// worstCondition of the inner products of a basis' points: with it orthonormality
// holds to 10⁻⁵, a tenth of what Sensitivity adds for rounding. Points drawn at
// random have 10⁴ to 10¹⁰ or so.
const worstCondition = 1e11

// newDegree draws points, and says whether they will do.
func newDegree(dim, l, size int, rng *rand.Rand) (degree, bool) {
	d := degree{points: make([]float64, size*dim), size: size}
	for i := range size {
		row := d.points[i*dim : (i+1)*dim]
		var squares float64
		for squares == 0 {
			for c := range row {
				row[c] = rng.NormFloat64()
				squares += row[c] * row[c]
			}
		}
		for c := range row {
			row[c] /= math.Sqrt(squares)
		}
	}
	gram := mat.NewSymDense(size, nil)
	r := newRecurrence(dim, l)
	transport.Parallel(size, func() struct{} { return struct{}{} }, func(_ struct{}, i int) {
		for j := i; j < size; j++ {
			gram.SetSym(i, j, r.last(dot(d.points[i*dim:(i+1)*dim], d.points[j*dim:(j+1)*dim])))
		}
	})
	var cholesky mat.Cholesky
	if !cholesky.Factorize(gram) || !(cholesky.Cond() < worstCondition) {
		return d, false
	}
	d.factor = mat.NewTriDense(size, mat.Lower, nil)
	cholesky.LTo(d.factor)
	return d, true
}

// Size is the number of harmonics.
func (b *Basis) Size() int {
	size := 0
	for _, d := range b.degrees {
		size += d.size
	}
	return size
}

// each calls visit with the part of values, [Size], that every degree has.
func (b *Basis) each(values []float64, visit func(l int, part []float64)) {
	from := 0
	for i, d := range b.degrees {
		visit(i+1, values[from:from+d.size])
		from += d.size
	}
}

// Means returns the mean of every harmonic over x, [Size], degree by degree, each
// orthonormal: Σ_m Y_m(x)² = Count(Dim, l) at every point. x must be of norm 1
// (transport.Points.OnSphere).
func (b *Basis) Means(x transport.Points) ([]float64, error) {
	if err := b.check(x); err != nil {
		return nil, err
	}
	means := make([]float64, 0, b.Size())
	for i, d := range b.degrees {
		sums := d.sums(x, i+1)
		for j := range sums {
			sums[j] *= math.Sqrt(float64(d.size)) / float64(x.Len())
		}
		means = append(means, d.orthonormal(sums)...)
	}
	return means, nil
}

// orthonormal makes of sums over the zonal functions of d, times √size, those over
// its orthonormal harmonics, in place.
func (d degree) orthonormal(sums []float64) []float64 {
	blas64.Trsv(blas.NoTrans, d.factor.RawTriangular(), blas64.Vector{N: d.size, Data: sums, Inc: 1})
	return sums
}

// sums returns Σ_i P_l(⟨θ_j, x_i⟩), [size]. Each core takes some of the θ_j, so
// the order of every sum is that of the records.
func (d degree) sums(x transport.Points, l int) []float64 {
	const pointsAtOnce = 64
	sums := make([]transport.Sum, d.size)
	dim := x.Dim
	r := newRecurrence(dim, l)
	transport.Parallel((d.size+pointsAtOnce-1)/pointsAtOnce, func() []float64 {
		return make([]float64, dim)
	}, func(row []float64, block int) {
		from, to := block*pointsAtOnce, min((block+1)*pointsAtOnce, d.size)
		for i := range x.Len() {
			unit(row, x.Row(i))
			j := from
			for ; j+4 <= to; j += 4 {
				t0, t1, t2, t3 := dot4(row, d.points[j*dim:(j+4)*dim])
				p0, p1, p2, p3 := r.last4(t0, t1, t2, t3)
				four := sums[j:][:4]
				four[0].Add(p0)
				four[1].Add(p1)
				four[2].Add(p2)
				four[3].Add(p3)
			}
			for ; j < to; j++ {
				sums[j].Add(r.last(dot(row, d.points[j*dim:(j+1)*dim])))
			}
		}
	})
	return transport.SumValues(sums)
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

// dot4 is dot of a with four vectors, one after the other in b.
func dot4(a, b []float64) (s0, s1, s2, s3 float64) {
	n := len(a)
	b0, b1, b2, b3 := b[:n], b[n:][:n], b[2*n:][:n], b[3*n:][:n]
	for c, v := range a {
		s0, s1, s2, s3 = s0+v*b0[c], s1+v*b1[c], s2+v*b2[c], s3+v*b3[c]
	}
	return s0, s1, s2, s3
}

// check returns an error unless x are points of the sphere.
func (b *Basis) check(x transport.Points) error {
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
