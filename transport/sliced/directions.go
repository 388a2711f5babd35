// Package sliced carries one-dimensional transport to R^d: it projects points
// on directions, and compares, sketches or moves them there.
package sliced

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Directions are Count unit vectors of R^Dim: Data is [Count, Dim], one
// direction a row. As a matrix U of shape [Dim, Count] they have the directions
// for columns, and points X of shape [n, Dim] project to XU.
type Directions struct {
	Dim, Count int
	Data       []float32
	// Stack is how many directions in a row were drawn together, as a basis; 0
	// says that all are independent.
	Stack int
}

// Uniform draws count independent directions from the uniform distribution on
// the sphere of R^dim (000 and 003, Algorithms 1 and 2). It panics for a dimension
// below 1, a negative count or no rng.
func Uniform(dim, count int, rng *rand.Rand) Directions {
	checkDraw("directions", dim, count, rng)
	u := Directions{Dim: dim, Count: count, Data: make([]float32, count*dim)}
	for j := range count {
		draw(u.Row(j), rng, nil)
	}
	return u
}

// Orthonormal draws stacks independent Haar-distributed orthonormal bases of
// R^dim: stacks·dim directions. Each direction alone is uniform on the sphere,
// so sliced averages keep their mean; together they satisfy
// ‖vU‖² = stacks·‖v‖² for every v, so that the sensitivity of a projection is
// the same whichever way a record moves, and the smallest that any set of so
// many unit directions can have. It panics as Uniform does.
func Orthonormal(dim, stacks int, rng *rand.Rand) Directions {
	checkDraw("bases", dim, stacks, rng)
	u := Directions{Dim: dim, Count: dim * stacks, Data: make([]float32, stacks*dim*dim), Stack: dim}
	basis := make([][]float64, 0, dim)
	for s := range stacks {
		basis = basis[:0]
		for j := range dim {
			basis = append(basis, draw(u.Row(s*dim+j), rng, basis))
		}
	}
	return u
}

// checkDraw panics with words where make or a nil rng would panic without.
func checkDraw(what string, dim, count int, rng *rand.Rand) {
	if dim < 1 || count < 0 {
		panic(fmt.Sprintf("sliced: expected 0 or more %s of 1 or more dimensions, found %d of %d", what, count, dim))
	}
	if rng == nil {
		panic(fmt.Sprintf("sliced: expected a source of random numbers to draw %s from, found nil; give one, such as rand.New(rand.NewPCG(1, 2))", what))
	}
}

// draw fills row with a uniform unit vector orthogonal to the given orthonormal
// vectors, and returns it in full precision. Gram–Schmidt runs twice, which is
// enough for orthogonality to rounding (Giraud, Langou & Rozložník 2005).
func draw(row []float32, rng *rand.Rand, basis [][]float64) []float64 {
	v := make([]float64, len(row))
	for {
		for c := range v {
			v[c] = rng.NormFloat64()
		}
		for range 2 {
			for _, b := range basis {
				along := dot(v, b)
				for c := range v {
					v[c] -= along * b[c]
				}
			}
		}
		// What is left of the draw is too short to be trusted with
		// probability near zero; then draw again.
		if norm := math.Sqrt(dot(v, v)); norm > 1e-6 {
			for c := range v {
				v[c] /= norm
				row[c] = float32(v[c])
			}
			return v
		}
	}
}

func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// Row returns direction j, [Dim], sharing its memory.
func (u Directions) Row(j int) []float32 { return u.Data[j*u.Dim : (j+1)*u.Dim : (j+1)*u.Dim] }

// Slice returns directions from to to−1, sharing their memory.
func (u Directions) Slice(from, to int) Directions {
	part := Directions{Dim: u.Dim, Count: to - from, Data: u.Data[from*u.Dim : to*u.Dim]}
	if u.Stack > 0 && from%u.Stack == 0 && to%u.Stack == 0 {
		part.Stack = u.Stack
	}
	return part
}

// SpectralNorm returns σ_max(U), the largest factor by which projecting
// stretches a vector: ‖vU‖ ≤ σ_max(U)·‖v‖, with equality along the top left
// singular vector. It is computed from the directions as they are, so it holds
// for these directions and every pair of rows with certainty; Lemma 1 of 003 is of one
// pair, with high probability (PublishedBound). For Orthonormal directions it is √(Count/Dim). It is NaN of what is
// no matrix of numbers.
func (u Directions) SpectralNorm() float64 {
	if u.checkShape() != nil {
		return math.NaN()
	}
	var eigen mat.EigenSym
	gram := u.gram()
	if trace := mat.Trace(gram); math.IsNaN(trace) || math.IsInf(trace, 0) {
		return math.NaN()
	}
	if !eigen.Factorize(gram, false) {
		// The trace bounds the largest eigenvalue: loose, never wrong.
		return math.Sqrt(mat.Trace(gram))
	}
	values := eigen.Values(nil)
	return math.Sqrt(values[len(values)-1])
}

// MostStretched returns the unit vector that projecting stretches by
// SpectralNorm, [Dim]: it and its negative are the worst pair of neighbours.
func (u Directions) MostStretched() ([]float32, error) {
	if err := u.Check(u.Dim); err != nil {
		return nil, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(u.gram(), true) {
		return nil, errors.New("sliced: the eigenvectors of the directions' Gram matrix do not converge")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	along := make([]float32, u.Dim)
	for c := range along {
		along[c] = float32(vectors.At(c, u.Dim-1))
	}
	return along, nil
}

// gram is Σ_l θ_l·θ_lᵀ, [Dim, Dim].
func (u Directions) gram() *mat.SymDense {
	gram := mat.NewSymDense(u.Dim, nil)
	for j := range u.Count {
		row := u.Row(j)
		for a := range row {
			for b := a; b < len(row); b++ {
				gram.SetSym(a, b, gram.At(a, b)+float64(row[a])*float64(row[b]))
			}
		}
	}
	return gram
}

// unitError is how far ‖θ‖² may be from 1. Libraries that normalise in float32
// stay far within it; what the rest adds to a bound for unit vectors is in
// Limits.
const unitError = 1e-4

// Check returns an error unless u has at least one direction, all of norm 1, that can
// project points of dimension dim.
func (u Directions) Check(dim int) error {
	if u.Count >= 1 && u.Dim != dim {
		return fmt.Errorf("sliced: directions of dimension %d cannot project points of dimension %d", u.Dim, dim)
	}
	if err := u.checkShape(); err != nil {
		return err
	}
	for j := range u.Count {
		var squares float64
		for _, v := range u.Row(j) {
			squares += float64(v) * float64(v)
		}
		if !(math.Abs(squares-1) < unitError) {
			return fmt.Errorf("sliced: direction %d has norm %v; divide it by that", j, math.Sqrt(squares))
		}
	}
	return nil
}

// checkShape returns an error unless u is a matrix with at least one direction.
func (u Directions) checkShape() error {
	switch {
	case u.Count < 1:
		return fmt.Errorf("sliced: no directions; draw at least one")
	case u.Dim < 1:
		return fmt.Errorf("sliced: directions of dimension %d; want at least 1", u.Dim)
	case int64(len(u.Data)) != int64(u.Count)*int64(u.Dim):
		return fmt.Errorf("sliced: %d numbers are not %d directions of dimension %d", len(u.Data), u.Count, u.Dim)
	}
	return nil
}
