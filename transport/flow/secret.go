package flow

import (
	"fmt"
	"math"

	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// secretStep moves the particles with diffusion from the secret source.
func (f Flow) secretStep(x transport.Points, guide Guide, step int) error {
	moved, err := f.velocities(x, guide, step)
	if err != nil {
		return err
	}
	for i, v := range moved {
		moved[i] = float64(x.Data[i]) + f.StepSize*v
	}
	if f.Once != nil {
		if err := f.Once(fmt.Sprint("diffusion ", step), noise.Digest(moved, f.diffusionStd(), 0)); err != nil {
			return err
		}
	}
	if err := f.Secret.Release(moved, moved, f.diffusionStd(), 0, "diffusion", step); err != nil {
		return err
	}
	for i, v := range moved {
		x.Data[i] = float32(v)
	}
	return nil
}

// velocities are a guide's, [n, Dim]: along slices in double precision, as what single
// precision would add to the way of a record has no bound that is of use (Rounding).
func (f Flow) velocities(x transport.Points, guide Guide, step int) ([]float64, error) {
	if along, ok := guide.(Slices); ok && along.Target != nil {
		u, quantiles, err := along.At(step)
		if err == nil {
			err = checkSlices(x, u, quantiles)
		}
		if err != nil {
			return nil, err
		}
		return f.exactDrift(x, u, quantiles, step)
	}
	drift, err := f.guided(x, guide, step)
	velocities := make([]float64, len(drift))
	for i, v := range drift {
		velocities[i] = float64(v)
	}
	return velocities, err
}

// exactDrift is Drift with pulls and their sums in double precision. Where particles are
// on a direction, and at which levels, is as there: that depends on them alone.
func (f Flow) exactDrift(x transport.Points, u sliced.Directions, quantiles []transport.Quantile, step int) ([]float64, error) {
	n, dim := x.Len(), x.Dim
	pulls := make([]float64, min(directionsAtOnce, u.Count)*n) // by direction and particle
	drift := make([]float64, len(x.Data))
	err := f.walk(x, u, step, func(l *line, j, at int, along, noise []float32) {
		z, order, levels := f.levelsOn(l, along, noise)
		for rank, i := range order {
			pulls[at*n+int(i)] = quantiles[j].Exact(levels[rank]) - float64(z[i])
		}
	}, func(part sliced.Directions, _ []float32) {
		const some = 512 // particles, whose velocities stay in a core's cache
		transport.InParallel((n+some-1)/some, func(k int) {
			for j := range part.Count {
				theta := part.Data[j*dim : (j+1)*dim]
				for i := k * some; i < min(n, (k+1)*some); i++ {
					pull := pulls[j*n+i] / float64(u.Count)
					for c, t := range theta {
						drift[i*dim+c] += pull * float64(t)
					}
				}
			}
		})
	})
	return drift, err
}

// Rounding bounds what numbers of so many bits add, whatever a record's way, to
// Displacement: f is a step with secret diffusion, whose particles, in R^Dim, leave on the
// grid of that, and whose target's quantile functions are sorted releases of at most
// largest, in single precision.
//
// What depends on the particles alone is the same for all data: their projections, their
// levels, the weights of the interpolation. Of the rest a release is rounded to single
// precision, by largest·2⁻²⁴ at most, which moves each pull by no more, on either side:
// 2·largest·2⁻²⁴·√N on a direction, and √N_θ times that on all, of which velocities are
// Uᵀ/N_θ times. Pulls, their sums and the step are in double precision, where they are off
// by (N_θ + 4)·2⁻⁵³ of what is summed, on either side and on each of N·Dim coordinates: of
// quantiles, and of particles that lie as far out as the grid reaches. The bound has twice
// that, for projections in single precision may be longer than particles.
func (f Flow) Rounding(particles int, u sliced.Directions, largest float64) float64 {
	n, count := float64(particles), float64(u.Count)
	std := f.diffusionStd()
	far := max(noise.Farthest(1), noise.Reach(std)+noise.Farthest(std)) // a coordinate, from the start on
	z := far*math.Sqrt(float64(u.Dim)) + noise.Farthest(f.Smoothing)
	quantiles := f.StepSize / count * u.SpectralNorm() * 2 * largest * 0x1p-24 * math.Sqrt(count*n)
	sums := 2 * math.Sqrt(n*float64(u.Dim)) * 0x1p-53 * ((count+4)*f.StepSize*(largest+z) + far)
	return quantiles + 2*sums
}
