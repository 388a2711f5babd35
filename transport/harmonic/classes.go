package harmonic

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Densities estimates from a sketch whose means carry Gaussian noise of standard
// deviation noiseStd how often each class occurs, [Classes], of sum 1, and where
// its points are, [Classes].
//
// Everything is shrunk as in Sketch.Density, and towards what takes less to know:
// the frequencies towards 1/Classes, the means over all points towards the uniform
// distribution's, and those over a class towards those over all points, degree by
// degree. A class that is never seen has the density of all. It panics as
// Sketch.Density does.
func (s *Labelled) Densities(noiseStd float64) ([]float64, []*Density) {
	if err := checkNoise(noiseStd); err != nil {
		panic(err)
	}
	frequencies := s.frequencies(noiseStd)
	densities := make([]*Density, s.Classes)
	for c := range densities {
		densities[c] = &Density{basis: s.Basis}
	}
	from := 1
	for i := range s.Basis.Degree {
		n := Count(s.Basis.Dim, i+1)
		size := int(n)
		to := from + size
		noise := noiseStd / s.Weights[i+1]
		noise *= noise // variance of a mean over a class as a part of all
		all := make([]float64, size)
		for c := range s.Classes {
			floats.AddScaled(all, 1/s.Weights[i+1], s.row(c)[from:to])
		}
		noiseOfAll := noise * float64(s.Classes)
		keptOfAll := exceeding(floats.Dot(all, all), n*noiseOfAll)
		for c, d := range densities {
			// apart is the mean of (1{y = c} − p)·Y.
			p, apart := frequencies[c], make([]float64, size)
			floats.AddScaledTo(apart, apart, 1/s.Weights[i+1], s.row(c)[from:to])
			floats.AddScaled(apart, -p, all)
			noiseApart := noise * (1 - 2*p + p*p*float64(s.Classes))
			kept := exceeding(floats.Dot(apart, apart), n*noiseApart)
			mean, variance := make([]float64, size), keptOfAll*noiseOfAll
			floats.AddScaled(mean, keptOfAll, all)
			if p > 0 {
				floats.AddScaled(mean, kept/p, apart)
				variance += kept * noiseApart / (p * p)
			}
			d.add(mean, 1, kept, variance/n)
		}
		from = to
	}
	return frequencies, densities
}

// frequencies of the classes, shrunk towards equal ones.
func (s *Labelled) frequencies(noiseStd float64) []float64 {
	classes := float64(s.Classes)
	p := make([]float64, s.Classes)
	for c := range p {
		p[c] = s.row(c)[0] / s.Weights[0]
	}
	// Their sum is 1: what noise has added to it is taken away.
	floats.AddConst(-floats.Sum(p)/classes, p)
	noise := noiseStd / s.Weights[0]
	floats.Scale(exceeding(floats.Dot(p, p), (classes-1)*noise*noise), p)
	floats.AddConst(1/classes, p)
	ontoSimplex(p)
	return p
}

// exceeding is the share of energy that noise does not explain (James & Stein
// 1961, the positive part).
func exceeding(energy, noise float64) float64 {
	if !(energy > noise) {
		return 0
	}
	return (energy - noise) / energy
}

// ontoSimplex moves p to the nearest point with p ≥ 0 and sum 1: all values are
// lowered alike, and stop at 0 (Held, Wolfe & Crowder 1974).
func ontoSimplex(p []float64) {
	sorted := slices.Clone(p)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	var sum, lower float64
	for i, v := range sorted {
		sum += v
		if by := (sum - 1) / float64(i+1); v > by {
			lower = by
		}
	}
	for i, v := range p {
		p[i] = max(0, v-lower)
	}
}
