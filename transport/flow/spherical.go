package flow

import (
	"fmt"
	"math/rand/v2"

	"molehill/privacy"
	"molehill/transport"
	"molehill/transport/harmonic"
	"molehill/transport/sliced"
)

// Spherical is a target that was released once, as means of spherical harmonics:
// unlike Released it has quantile functions on every direction there is.
type Spherical struct {
	Density    *harmonic.Density
	Directions Directions // of a step

	known recurring
}

// At implements Target.
func (t *Spherical) At(step int) (sliced.Directions, []transport.Quantile, error) {
	now, err := t.known.at([]*harmonic.Density{t.Density}, t.Directions, step)
	if err != nil {
		return now.on, nil, err
	}
	return now.on, now.quantiles[0], nil
}

// NewSpherical releases the means of the harmonics up to a degree of records on
// the unit sphere, once, with the noise of a plan made for harmonic.Sensitivity.
// Records off the sphere are moved to the nearest point of it, and those without
// a direction to its first basis vector.
func NewSpherical(records transport.Points, degree int, directions Directions, release *privacy.Releaser) (*Spherical, error) {
	return readSpherical(records, degree, directions, release, (*harmonic.Sketch).DensityForParticles)
}

// NewSphericalForNetwork is NewSpherical for a network that learns from the target and
// smooths what particles would follow: the release is the same, its density
// harmonic.Sketch.Density.
func NewSphericalForNetwork(records transport.Points, degree int, directions Directions, release *privacy.Releaser) (*Spherical, error) {
	return readSpherical(records, degree, directions, release, (*harmonic.Sketch).Density)
}

func readSpherical(records transport.Points, degree int, directions Directions, release *privacy.Releaser, read func(s *harmonic.Sketch, noiseStd float64, public *rand.Rand) *harmonic.Density) (*Spherical, error) {
	basis, err := harmonic.NewBasis(records.Dim, degree)
	if err != nil {
		return nil, err
	}
	sketch, err := releasedSketch(records, basis, release)
	if err != nil {
		return nil, err
	}
	return &Spherical{Density: read(sketch, release.NoiseStd(), directions.Random.Stream("atoms", 0)), Directions: directions}, nil
}

// NewSphericalBeside is NewSpherical with a prior of public points, which everybody may
// know: what is released, its sensitivity and its noise are the same, and only what is
// made of it differs (harmonic.Sketch.DensityBeside). Public points are moved to the
// sphere as records are.
func NewSphericalBeside(public, records transport.Points, degree int, directions Directions, release *privacy.Releaser) (*Spherical, error) {
	if public.Len() == 0 || public.Dim != records.Dim {
		return nil, fmt.Errorf("flow: a prior of %d points of dimension %d for records of dimension %d; give public points like the records, or none with NewSpherical", public.Len(), public.Dim, records.Dim)
	}
	basis, err := harmonic.NewBasis(records.Dim, max(degree, harmonic.PriorDegree(public.Dim, public.Len())))
	if err != nil {
		return nil, err
	}
	onSphere := public.Clone()
	onSphere.OnSphere()
	prior, err := harmonic.NewPrior(onSphere, basis)
	if err != nil {
		return nil, err
	}
	sketch, err := releasedSketch(records, basis.UpTo(degree), release)
	if err != nil {
		return nil, err
	}
	density, err := sketch.DensityBeside(prior, release.NoiseStd())
	return &Spherical{Density: density, Directions: directions}, err
}

// releasedSketch is that of all records, with the noise of a plan for it.
func releasedSketch(records transport.Points, basis *harmonic.Basis, release *privacy.Releaser) (*harmonic.Sketch, error) {
	if err := drawsAll(records, release); err != nil {
		return nil, err
	}
	sensitivity, err := harmonic.Sensitivity(records.Dim, basis.Degree, records.Len())
	if err != nil {
		return nil, err
	}
	onSphere := records.Clone()
	onSphere.OnSphere()
	sketch, err := harmonic.NewSketch(onSphere, basis)
	if err != nil {
		return nil, err
	}
	return sketch, release.Release(sketch.Means, sensitivity, 0)
}
