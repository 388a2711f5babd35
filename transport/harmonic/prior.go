package harmonic

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

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
// Let q be the means that were released and p those of the prior. Around what the
// populations have they stray by sampling, with covariances C/n and C/m for n records and
// m public points of one population (covariance), and q by the noise of its degree
// besides, σ_l². Two populations are apart by more: along what points stray along, as if
// the prior had been made of fewer points (κ), and on each harmonic of degree l (t_l).
// Then of all mixtures
//
//	p + V·(V + C/n + diag(σ_l²))⁻¹·(q − p),   V = (1/m + κ)·C + diag(t_l²),
//
// strays least, with κ and t_l² from q − p itself (distances; Efron & Morris 1973). So
// where there is no noise and the prior is of another population, the release is all there
// is; where they are alike each counts by what it knows; what is told of one harmonic tells
// of those that points stray along with it, of degrees that were not released, too; and
// where there is more noise than they are apart, the prior is all there is.
//
// It reads what was released and what is public, and no record.
func (s *Sketch) DensityBeside(prior *Prior, noiseStd float64) (*Density, error) {
	if prior == nil {
		return nil, errors.New("harmonic: no prior; make one with NewPrior, or take Density")
	}
	if err := checkNoise(noiseStd); err != nil {
		return nil, err
	}
	if s.Basis.Dim != prior.Basis.Dim || s.Basis.Degree > prior.Basis.Degree {
		return nil, fmt.Errorf("harmonic: a prior up to degree %d in %d dimensions beside a sketch up to degree %d in %d; the prior's degree must be as high at least", prior.Basis.Degree, prior.Basis.Dim, s.Basis.Degree, s.Basis.Dim)
	}
	means, shares, variances := s.between(prior, noiseStd)
	d := &Density{basis: prior.Basis}
	prior.Basis.each(means, func(l int, mean []float64) {
		// A moment is the mean of Y(θ)·Y(x)/Count with ‖Y(θ)‖² = Count.
		d.add(mean, 1, shares[l-1], variances[l-1]/float64(len(mean)))
	})
	return d, nil
}

// beyondChance is how many standard deviations of what chance makes of a distance are not
// believed. Of noise alone, on degrees of 5 to 30 harmonics, one leaves 0.24 to 0.36 of its
// variance on a single number, in the mean, and two 0.06 to 0.13. A prior of another
// population is followed for longer then (docs/harmonic-sketch.md has what that costs).
const beyondChance = 2

// variance is that of a harmonic of one point of a population, in the mean over the
// harmonics of a degree, of which m points have the means p: each point has Σ_m Y_m² = N.
// One alone tells nothing of it, so that evenly spread points are assumed.
func variance(p []float64, m int) float64 {
	if m == 1 {
		return 1
	}
	return max(0, 1-dot(p, p)/float64(len(p))) * float64(m) / float64(m-1)
}

// between returns means between the prior's and the released ones, [prior.Basis.Size()],
// and of every degree of the prior's the share of these, 0 above the sketch's, and the
// variance that is left on a harmonic, both in the mean, [prior.Basis.Degree].
func (s *Sketch) between(prior *Prior, noiseStd float64) (means, shares, variances []float64) {
	by := &straying{
		covariance: covarianceOf(prior, s.Basis),
		ofRecords:  1 / float64(s.Records), ofPrior: 1 / float64(prior.Points.Len()),
		noise: make([]float64, s.Basis.Degree), apart: make([]float64, s.Basis.Degree),
	}
	r := slices.Clone(s.Means) // q − p
	s.Basis.each(r, func(l int, part []float64) {
		w := s.Weights[l-1]
		by.noise[l-1] = noiseStd * noiseStd / (w * w)
		floats.Scale(1/w, part)
		floats.Sub(part, s.Basis.part(prior.Means, l))
	})
	above := by.distances(r)
	weights, left := by.weigh(r)
	means = by.move(weights)
	floats.Scale(by.ofPrior/by.spread(), means)
	floats.Add(means, prior.Means)
	prior.Basis.each(means, func(l int, part []float64) {
		if l > s.Basis.Degree {
			p := prior.Basis.part(prior.Means, l)
			shares, variances = append(shares, 0), append(variances, by.ofPrior*variance(p, prior.Points.Len())+above/float64(len(p)))
			return
		}
		floats.AddScaled(part, (by.ofPrior*by.even*by.variances[l-1]+by.apart[l-1])/by.rest(l), s.Basis.part(left, l))
		ofPrior, ofRelease := by.ofPrior*by.each(l)+by.apart[l-1], by.ofRecords*by.each(l)+by.noise[l-1]
		share := ofPrior / (ofPrior + ofRelease + leastRest)
		shares, variances = append(shares, share), append(variances, share*ofRelease)
	})
	return means, shares, variances
}
