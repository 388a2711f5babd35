package harmonic

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"molehill/privacy"
	"molehill/transport"
)

// Sketch is what a release holds of n points: the means of their harmonics, those
// of degree l times w_l.
type Sketch struct {
	Basis   *Basis
	Weights []float64 // w_l, [Degree]
	Records int       // n, public
	Means   []float64 // [Basis.Size()]
}

// NewSketch computes the sketch of x, points of norm 1, with Weights.
func NewSketch(x transport.Points, b *Basis) (*Sketch, error) {
	means, err := b.Means(x)
	if err != nil {
		return nil, err
	}
	s := &Sketch{Basis: b, Weights: Weights(b.Dim, b.Degree), Records: x.Len(), Means: means}
	s.each(func(l int, means []float64) {
		for j := range means {
			means[j] *= s.Weights[l-1]
		}
	})
	return s, nil
}

// each calls visit with the means of every degree.
func (s *Sketch) each(visit func(l int, means []float64)) { s.Basis.each(s.Means, visit) }

// Sensitivity returns the ℓ₂-sensitivity of a sketch of n points of the sphere of
// R^dim up to a degree, with Weights, when one of them is replaced.
//
// A point adds φ(x)/n with φ(x)_lm = w_l·Y_lm(x). By the addition theorem
// ⟨φ(x), φ(x′)⟩ = K(⟨x, x′⟩) with K(t) = Σ_l w_l²·Count(l)·P_l(t), so
//
//	‖φ(x) − φ(x′)‖² = 2·(K(1) − K(⟨x, x′⟩)) ≤ 2·(K(1) − min K),
//
// which is attained, by points as far apart as the minimum says. The minimum is
// bounded from below (kernel.lowest), and a part in 10⁴ is added for rounding, of which
// harmonics and their compensated sums have far less.
func Sensitivity(dim, degree, n int) (privacy.Sensitivity, error) {
	return sensitivityOf(dim, degree, n, crowded)
}

// sensitivityOf is that of a sketch with weights that fall with an exponent.
func sensitivityOf(dim, degree, n int, exponent float64) (privacy.Sensitivity, error) {
	if err := checkDegree(dim, degree); err != nil {
		return privacy.Sensitivity{}, err
	}
	if n < 1 {
		return privacy.Sensitivity{}, fmt.Errorf("harmonic: a sketch of %d records; take at least 1", n)
	}
	k := newKernel(dim, falling(dim, degree, exponent))
	lowest, _ := k.lowest()
	const rounding = 1 + 1e-4
	return privacy.Sensitivity{
		Value:    math.Sqrt(2*(k.norm()-lowest)) / float64(n) * rounding,
		Relation: privacy.ReplaceOne,
		Query:    fmt.Sprintf("means of the spherical harmonics of degrees 1 to %d", degree),
		Source:   "√(2·(K(1) − min K))/n by the addition theorem (docs/harmonic-sketch.md)",
	}, nil
}

// leastVariance keeps the fit of a density unique where there is no noise: moments
// are met to a thousandth of what tells points a thousandth apart.
const leastVariance = 1e-8

// Density estimates where the points are from a sketch whose means carry Gaussian
// noise of standard deviation noiseStd.
//
// With little noise it keeps of every degree the share by which its energy exceeds
// that of the noise (James & Stein 1961, the positive part): all of it where there
// is no noise, nothing where there is nothing else. With more, degrees are shrunk
// towards those of a distribution that is fitted to all of them at once (atoms),
// from points that rng draws. It is public, and read only then. It panics for noise that is
// no finite number of at least 0: a density of it would be uniform, and look like one.
func (s *Sketch) Density(noiseStd float64, rng *rand.Rand) *Density {
	d, _ := s.estimate(noiseStd, rng)
	return d
}

// DensityForParticles is Density for particles, which follow every wrinkle of its
// quantiles where a network smooths them. With little noise moments count for less
// sure than they are, and entropy for more (docs/harmonic-sketch.md has what that
// does); without noise, or with much, it is Density.
func (s *Sketch) DensityForParticles(noiseStd float64, rng *rand.Rand) *Density {
	d, little := s.estimate(noiseStd, rng)
	if little {
		for i, variance := range d.errors {
			d.errors[i] = calm*(variance-leastVariance) + leastVariance
		}
	}
	return d
}

// calm is by how much the errors of moments are taken for larger than they are, for
// particles.
const calm = 10

// estimate is Density, and whether there is little noise.
func (s *Sketch) estimate(noiseStd float64, rng *rand.Rand) (d *Density, little bool) {
	if err := checkNoise(noiseStd); err != nil {
		panic(err)
	}
	d = &Density{basis: s.Basis}
	s.each(func(l int, means []float64) {
		size := float64(len(means))
		kept := exceeding(dot(means, means), noiseStd*noiseStd*size)
		// A moment is the mean of Y(θ)·Y(x)/Count with ‖Y(θ)‖² = Count.
		variance := noiseStd * noiseStd / (s.Weights[l-1] * s.Weights[l-1] * size)
		d.add(means, kept/s.Weights[l-1], kept, kept*variance)
	})
	if d.noise() <= plainNoise {
		return d, true
	}
	if s.Basis.Degree > 2 { // up to there nothing that one degree could tell of another
		s.refine(d, noiseStd, rng)
	}
	return d, false
}

// checkNoise refuses what is no standard deviation of a release.
func checkNoise(std float64) error {
	if !(std >= 0) || math.IsInf(std, 0) {
		return fmt.Errorf("harmonic: noise of standard deviation %v; give that of the release, a finite number of at least 0", std)
	}
	return nil
}

// plainNoise is the noise of a density from which on a joint fit is worth its
// time: a few thousand points that follow all directions at once average away
// about as much.
const plainNoise = 0.005

// noise is how far errors of the moments move the sliced W₂, near the uniform
// distribution (Weights).
func (d *Density) noise() float64 {
	var squares float64
	for i, variance := range d.errors {
		squares += (variance - leastVariance) * Count(d.Dim(), i+1) / eigenvalue(d.Dim(), i+1)
	}
	return math.Sqrt(max(0, squares))
}

// refine has d, a first estimate from a sketch with noise of standard deviation
// noiseStd, keep of every degree what atoms explain of it and, of the rest, the
// share by which it exceeds the noise.
func (s *Sketch) refine(d *Density, noiseStd float64, rng *rand.Rand) {
	fitted := s.jointly(noiseStd, d, rng).means()
	s.each(func(l int, means []float64) {
		w := s.Weights[l-1]
		mean, beyond := fitted[l-1], make([]float64, len(means))
		for j, m := range means {
			beyond[j] = m/w - mean[j]
		}
		d.kept[l-1] = exceeding(dot(beyond, beyond), noiseStd*noiseStd/(w*w)*float64(len(means)))
		floats.AddScaled(mean, d.kept[l-1], beyond)
		d.set(l, mean, 1)
	})
}
