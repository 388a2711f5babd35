package harmonic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"molehill/transport"
)

// Prior is what public points, near which records are expected to be, tell of them: the
// means of their harmonics, without noise.
type Prior struct {
	Basis  *Basis
	Points transport.Points // [m, Basis.Dim], of norm 1
	Means  []float64        // of orthonormal harmonics, [Basis.Size()]
}

// NewPrior computes the means of x, public points of norm 1.
func NewPrior(x transport.Points, b *Basis) (*Prior, error) {
	means, err := b.Means(x)
	if err != nil {
		return nil, err
	}
	return &Prior{b, x, means}, nil
}

// DensityBeside estimates where the records' population is from a sketch whose means
// carry Gaussian noise of standard deviation noiseStd, and from a prior, of as many
// degrees or more.
//
// Of a degree with N harmonics let q and p be the means that were released and those of
// the prior. Around what the populations have they stray by sampling, by about
// v = (1 − ‖p‖²/N)/n on each harmonic for n points, and q by the noise σ². If the two
// populations are t apart, E‖q − p‖² = N·(t² + v_p + v_q + σ²), and the mean of the two
// that strays least is
//
//	p + s·(q − p),   s = (t² + v_p)/(t² + v_p + v_q + σ²),
//
// with t² from ‖q − p‖² itself (Efron & Morris 1973), less what chance adds to it: its
// standard deviation where they are not apart, √(2/N) of what is expected. So where there
// is no noise and the prior is of another population, s is near 1; where they are alike
// each counts by what it knows; where there is more noise than they are apart, the prior
// is all there is. A prior of anything else costs little: what is far from it is kept.
// If a degree shows that the populations differ (differs), the prior first leans towards
// all of the release (lean).
//
// It reads what was released and what is public, and no record. rng is public.
func (s *Sketch) DensityBeside(prior *Prior, noiseStd float64, rng *rand.Rand) (*Density, error) {
	if s.Basis.Dim != prior.Basis.Dim || s.Basis.Degree > prior.Basis.Degree {
		return nil, fmt.Errorf("harmonic: a prior up to degree %d in %d dimensions beside a sketch up to degree %d in %d; the prior's degree must be as high at least", prior.Basis.Degree, prior.Basis.Dim, s.Basis.Degree, s.Basis.Dim)
	}
	d := &Density{basis: prior.Basis}
	means, points := prior.Means, float64(prior.Points.Len())
	if s.differs(prior, noiseStd) {
		means, points = s.lean(prior, noiseStd, rng)
	}
	prior.Basis.each(means, func(l int, p []float64) {
		one := variance(p)
		mean, kept, variance := p, 0., one/points
		if l <= s.Basis.Degree {
			mean, kept, variance = s.between(l, p, one/float64(s.Records), variance, noiseStd)
		}
		// A moment is the mean of Y(θ)·Y(x)/Count with ‖Y(θ)‖² = Count.
		d.add(mean, 1, kept, variance/float64(len(p)))
	})
	return d, nil
}

// variance is that of a harmonic of one point, in the mean over the harmonics of a degree
// with means p: each point has Σ_m Y_m² = N.
func variance(p []float64) float64 { return max(0, 1-dot(p, p)/float64(len(p))) }

// differsByChance is how often two samples of one population differ, if what they stray
// by is noise; somewhat more often without any, as points do not stray alike along all
// harmonics.
const differsByChance = 0.01

// differs reports whether the means of some degree are farther from the prior's than
// chance takes them: by χ² of as many degrees of freedom as it has harmonics, at a level
// that all degrees share (Bonferroni).
func (s *Sketch) differs(prior *Prior, noiseStd float64) (differ bool) {
	s.Basis.each(prior.Means[:s.Basis.Size()], func(l int, p []float64) {
		one := variance(p)
		between, expected := s.apart(l, p, one/float64(s.Records), one/float64(prior.Points.Len()), noiseStd)
		chance := distuv.ChiSquared{K: float64(len(p))}.Survival(dot(between, between) / expected)
		differ = differ || chance < differsByChance/float64(s.Basis.Degree)
	})
	return differ
}

// lean returns the prior's means with its points weighted so that they agree with the
// release up to its noise and depart from equal weights no further than that takes
// (atoms), and how many points of equal weights stray as much as these do. What one degree
// tells moves the others so, those that were not released, too; degrees shrunk one by one
// would leave a law whose mean has moved and whose second moments have not. It moves a
// prior only to where it has points.
func (s *Sketch) lean(prior *Prior, noiseStd float64, rng *rand.Rand) (means []float64, points float64) {
	x := make([]float64, 0, min(atomCount, prior.Points.Len())*prior.Basis.Dim)
	for _, i := range rng.Perm(prior.Points.Len())[:min(atomCount, prior.Points.Len())] {
		row := make([]float64, prior.Basis.Dim)
		unit(row, prior.Points.Row(i))
		x = append(x, row...)
	}
	a := newAtoms(s, x)
	before := slices.Concat(a.means(prior.Basis)...)
	variances := make([]float64, s.Basis.Degree)
	s.Basis.each(prior.Means[:s.Basis.Size()], func(l int, p []float64) {
		w := s.Weights[l-1]
		variances[l-1] = variance(p)*(1/float64(s.Records)+1/float64(a.n)) + noiseStd*noiseStd/(w*w)
	})
	a.anneal(variances, schedule[0])
	means = slices.Concat(a.means(prior.Basis)...)
	floats.Sub(means, before) // what the weights have moved: the atoms are some of the points
	floats.Add(means, prior.Means)
	return means, float64(prior.Points.Len()) / float64(a.n) / dot(a.weights, a.weights)
}

// apart returns the released means of degree l less those of p, and the expected square of
// each of these numbers if the populations are alike. The samplings' variances are those
// of the records and of p.
func (s *Sketch) apart(l int, p []float64, sampling, samplingOfPrior, noiseStd float64) (between []float64, expected float64) {
	w, q := s.Weights[l-1], s.of(l)
	between = make([]float64, len(p))
	for j := range between {
		between[j] = q[j]/w - p[j]
	}
	return between, sampling + samplingOfPrior + noiseStd*noiseStd/(w*w)
}

// between returns the mean of degree l between p and the released ones, its share of
// these, and its variance on each harmonic.
func (s *Sketch) between(l int, p []float64, sampling, samplingOfPrior, noiseStd float64) (mean []float64, share, variance float64) {
	mean, expected := s.apart(l, p, sampling, samplingOfPrior, noiseStd)
	own, size := expected-samplingOfPrior, float64(len(p))
	share = 1 - own/max(expected, dot(mean, mean)/size-math.Sqrt(2/size)*expected)
	floats.Scale(share, mean)
	floats.Add(mean, p)
	return mean, share, share * own
}

// of returns the means of one degree.
func (s *Sketch) of(l int) (means []float64) {
	s.each(func(other int, part []float64) {
		if other == l {
			means = part
		}
	})
	return means
}
