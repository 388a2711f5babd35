package flow

import (
	"fmt"
	"math"

	"molehill/transport/sliced"
)

// Displacement returns how far one record sends the particles in one step, all of
// them as one vector in ℓ₂: the most by which h·v̂ changes when one of rows
// projections on each direction of u moves with a record that is replaced by
// another at most diameter away, while all noise stays as it is. It is what
// accountant.DiffusedRelease asks for, for a target whose quantile functions are
// the sorted noisy projections of so many rows (Resampled, NewPresampled).
//
// It is h/N_θ·σ_max(U)²·diameter·κ. On one direction, a projection that moves by c
// makes order statistics move, all the same way and by |c| in total; each of
// them, q, counts in ψ′ of the particles whose levels lie beside it, with the
// weights of the interpolation. κ is the largest ℓ₂ norm of one order statistic's
// weights, so the pulls move by at most κ·|c|. Over the directions that is
// κ·‖(x−x′)U‖ ≤ κ·σ_max(U)·diameter, and pulls become velocities by Uᵀ/N_θ.
//
// The particles' levels are ranks, evenly spaced, of their projections or, with
// smoothing, of these and their noise: κ is about √(2/3·particles/rows) where there
// are more particles than rows. With smoothing and CleanEvaluation nothing keeps the
// particles from crowding at one level, and κ is √particles.
func (f Flow) Displacement(particles, rows int, u sliced.Directions, diameter float64) (float64, error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	if particles < 1 || rows < 1 || u.Count < 1 {
		return 0, fmt.Errorf("flow: %d particles, %d rows and %d directions; want at least one of each", particles, rows, u.Count)
	}
	projection := sliced.ProjectionSensitivity(u, diameter)
	if math.IsInf(projection.Value, 1) || math.IsNaN(projection.Value) {
		return 0, fmt.Errorf("flow: no bound for a record that moves by %v along %d directions; want unit directions and a positive, finite diameter", diameter, u.Count)
	}
	kappa := math.Sqrt(float64(particles))
	if !f.sharesLevels() {
		kappa = crowd(particles, rows)
	}
	return f.StepSize / float64(u.Count) * u.SpectralNorm() * projection.Value * kappa, nil
}

// sharesLevels says whether particles' levels are of a sample that is not their own, so that
// nothing keeps them from being at one level.
func (f Flow) sharesLevels() bool { return f.Smoothing > 0 && f.CleanEvaluation }

// crowd is the largest ℓ₂ norm, over the knots of a quantile function of so many
// rows, of the weights with which the ranks of the particles interpolate at it.
func crowd(particles, rows int) (largest float64) {
	if rows == 1 {
		return math.Sqrt(float64(particles))
	}
	sums := make([]float64, rows) // of squared weights, by knot
	spacing := float64(rows-1) / float64(max(1, particles-1))
	for i := range particles {
		position := float64(i) * spacing
		lower := min(int(position), rows-2)
		part := position - float64(lower)
		sums[lower] += (1 - part) * (1 - part)
		sums[lower+1] += part * part
	}
	for _, sum := range sums {
		largest = max(largest, sum)
	}
	return math.Sqrt(largest)
}
