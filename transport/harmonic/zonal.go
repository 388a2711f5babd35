// Package harmonic describes points of a sphere by the means of their spherical
// harmonics, from which the distribution of their projection on any direction
// follows. One noisy release of these means serves every direction there is.
//
// The harmonics of degree l on the sphere of R^dim are the polynomials of degree
// l that are orthogonal to all of lower degree; there are Count(dim, l) of them.
// What a projection ⟨x, θ⟩ has for moments of order up to L depends on the degrees
// up to L alone, and so does the sliced distance, up to what is finer.
//
// Why harmonics: rotations of the sphere change nothing about a sliced distance
// and take neighbours to neighbours. So among all ways to release linear
// statistics with Gaussian noise none is better than one whose noise looks the
// same from all sides (average the noise over rotations), and that is noise with
// one variance for each degree. What is left to choose are these variances, and
// Weights chooses them.
package harmonic

import (
	"fmt"
	"math"
)

// Count returns the number of harmonics of degree l on the sphere of R^dim, dim
// ≥ 2: C(dim+l−1, l) − C(dim+l−3, l−2). It is a float64 because it grows fast.
func Count(dim, l int) float64 {
	switch l {
	case 0:
		return 1
	case 1:
		return float64(dim)
	}
	return binomial(dim+l-1, l) - binomial(dim+l-3, l-2)
}

// Size returns the number of harmonics of degrees 1 to degree on the sphere of R^dim, or
// the largest int32 where there are more: all polynomials of that degree on the sphere,
// C(dim+degree−1, degree) + C(dim+degree−2, degree−1), but for the constant. It is 0 for dim
// < 2 or degree < 1.
func Size(dim, degree int) int {
	if dim < 2 || degree < 1 {
		return 0
	}
	// C(n+k, k) = C(n+k, n), which is large before the smaller of the two is.
	choose := func(n, k int) float64 {
		n, k = max(n, k), min(n, k)
		b := 1.
		for i := 1; i <= k && b < math.MaxInt32; i++ {
			b = b * (float64(n) + float64(i)) / float64(i) // a whole number each time
		}
		return b
	}
	return int(min(choose(dim-1, degree)+choose(dim-1, degree-1)-1, math.MaxInt32))
}

func binomial(n, k int) float64 {
	b := 1.
	for i := 1; i <= k; i++ {
		b = b * float64(n-k+i) / float64(i) // a whole number each time
	}
	return b
}

// zonal writes P_0(t) … P_L(t) to p, [L+1]: the polynomials with P_l(1) = 1 that
// are orthogonal for the projection of the uniform distribution of the sphere,
// with density ∝ (1−t²)^((dim−3)/2) (Gegenbauer's, normalised; Müller 1966,
// Spherical Harmonics, Section 1). Harmonics Y of degree l, orthonormal for the
// uniform distribution, add up to them:
//
//	Σ_m Y_m(x)·Y_m(x′) = Count(dim, l)·P_l(⟨x, x′⟩).
func zonal(p []float64, dim int, t float64) {
	p[0] = 1
	if len(p) > 1 {
		p[1] = t
	}
	d := float64(dim)
	for l := 1; l+1 < len(p); l++ {
		k := float64(l)
		p[l+1] = ((2*k+d-2)*t*p[l] - k*p[l-1]) / (k + d - 2)
	}
}

// eigenvalue is that of the sphere's Laplacian, l·(l+dim−2).
func eigenvalue(dim, l int) float64 { return float64(l) * float64(l+dim-2) }

// Weights returns the weights w_1 … w_L of the degrees in a release, [L], with
//
//	w_l² = (Count(dim, l)·l·(l+dim−2))^(−0.7).
//
// An exponent of ½ is the best for the sliced distance of points that are spread
// evenly: noise of variance τ² on every harmonic of degree l then moves SW₂² by about
// τ²/(l·(l+dim−2)) (the projection's distribution function moves by N(0, τ²/Count)
// times the integral of Count·P_l, and Sturm and Liouville say what that is). A
// release with weights w has τ_l = s/w_l and a squared sensitivity ∝ Σ
// Count(l)·w_l², so Σ 1/(w_l²·l(l+dim−2))·Σ Count(l)·w_l² is to be least, and by
// Cauchy–Schwarz it is with these. Points that crowd ask for surer low degrees, as
// images' latents do: 0.7 was measured to be better on them (docs/harmonic-sketch.md).
// It panics for a negative degree, and below two dimensions.
func Weights(dim, degree int) []float64 { return falling(dim, degree, crowded) }

// The exponents of sketches without labels and with them.
const crowded, even = 0.7, 0.5

// falling are weights that fall with an exponent, [degree].
func falling(dim, degree int, exponent float64) []float64 {
	if dim < 2 || degree < 0 {
		panic(fmt.Sprintf("harmonic: expected weights up to degree 0 or more in 2 or more dimensions, found degree %d in %d", degree, dim))
	}
	w := make([]float64, degree)
	for l := 1; l <= degree; l++ {
		w[l-1] = math.Pow(Count(dim, l)*eigenvalue(dim, l), -exponent/2)
	}
	return w
}

// kernel is K(t) = Σ_l w_l²·Count(l)·P_l(t), the inner product of what a release
// holds of two points with ⟨x, x′⟩ = t.
type kernel struct {
	dim     int
	squares []float64 // w_l²·Count(l), of l = 1 … L
}

func newKernel(dim int, weights []float64) kernel {
	k := kernel{dim: dim, squares: make([]float64, len(weights))}
	for i, w := range weights {
		k.squares[i] = w * w * Count(dim, i+1)
	}
	return k
}

// norm is K(1) = ‖φ(x)‖² of every point x of the sphere.
func (k kernel) norm() float64 {
	var sum float64
	for _, s := range k.squares {
		sum += s
	}
	return sum
}

// lowest returns a lower bound of K on [−1, 1] and where it is least, within the
// width of a grid. K(cos φ) is a trigonometric polynomial; each P_l is at most 1 in
// absolute value, so by Bernstein's inequality its slope in φ is at most l, and
// between the points of a grid K falls by no more than that allows.
func (k kernel) lowest() (bound, at float64) {
	const grid = 20_000
	p := make([]float64, len(k.squares)+1)
	least := math.Inf(1)
	for i := range grid + 1 {
		t := math.Cos(math.Pi * float64(i) / grid)
		zonal(p, k.dim, t)
		var value float64
		for l, s := range k.squares {
			value += s * p[l+1]
		}
		if value < least {
			least, at = value, t
		}
	}
	var slope float64
	for l, s := range k.squares {
		slope += s * float64(l+1)
	}
	return least - slope*math.Pi/grid/2, at
}

// Farthest returns the inner product of two points of the sphere of R^dim whose
// exchange moves a sketch without labels up to a degree the most: those that reach Sensitivity.
// The antipode is not among them if even degrees have a part. It panics as Weights does.
func Farthest(dim, degree int) float64 {
	_, at := newKernel(dim, Weights(dim, degree)).lowest()
	return at
}

// MaxSize is the most harmonics of a single degree that a basis has, and MaxDegree its
// highest degree: from 1475 on the polynomials that those of three dimensions are made
// of pass the range of double precision.
const (
	MaxSize   = 3000
	MaxDegree = 1000
)

// What degrees are taken to carry of latents of images, ‖E Y‖², and the highest that is
// looked at.
const energy, highest = 4, 12

// PriorDegree returns the degree up to which the means of m public points, which have no
// noise, tell more than sampling blurs: a degree of N harmonics strays by N/m, and is
// taken to carry an energy of 4.
func PriorDegree(dim, m int) int {
	degree := 1
	for degree < highest && Count(dim, degree+1) <= min(MaxSize, energy*float64(m)) {
		degree++
	}
	return degree
}

// Degree returns the degree up to which it pays to release the means of n
// records with noise of the given multiplier (the noise's standard deviation over
// the sensitivity): the one with the least predicted error of SW₂², from noise
// and from what is left out. It looks at public numbers only. What is left out
// is not known, so every degree is taken to carry an energy ‖E Y‖² of 4, which is
// what latents of images have. The noise of a degree is never taken for worse
// than its absence, for shrinking sees to that.
func Degree(dim, n int, noiseMultiplier float64) (int, error) {
	return degreeFor(dim, n, noiseMultiplier, crowded)
}

// degreeFor is Degree for weights that fall with an exponent.
func degreeFor(dim, n int, noiseMultiplier, exponent float64) (int, error) {
	if dim < 2 || n < 1 || !(noiseMultiplier >= 0) {
		return 0, fmt.Errorf("harmonic: %d records of dimension %d with noise %v; need at least 1, of at least 2 dimensions, with noise of at least 0", n, dim, noiseMultiplier)
	}
	best, least := 1, math.Inf(1)
	for degree := 1; degree <= highest && Count(dim, degree) <= MaxSize; degree++ {
		weights := falling(dim, degree, exponent)
		s := noiseMultiplier * math.Sqrt(2*newKernel(dim, weights).norm()) / float64(n)
		var total float64
		for l := 1; l <= highest; l++ {
			missing := energy / (Count(dim, l) * eigenvalue(dim, l))
			if l <= degree {
				noise := s * s / (weights[l-1] * weights[l-1] * eigenvalue(dim, l))
				missing = missing * noise / (missing + noise)
			}
			total += missing
		}
		if total < least {
			best, least = degree, total
		}
	}
	return best, nil
}
