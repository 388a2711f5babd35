package matching

import (
	"fmt"
	"math"
)

// NoiseNorm bounds the norm of a gradient's noise: of r numbers with Gaussian noise of
// standard deviation std each,
//
//	‖noise‖² ≤ std²·(r + 2√(r·ln(1/δ′)) + 2·ln(1/δ′))
//
// with probability at least 1−δ′ (004, Corollary 4.2, by Laurent and Massart's
// inequality for χ²). It is the root that is returned, in the gradient's own units: by
// so much may a release be off what was clipped. Rounding to the noise's grid, of at most
// 2⁻³⁰ of std a number, is not counted.
//
// It tells what a step is worth and not how private it is; and of one step: that of each
// of T holds at all of them together with probability 1−T·δ′ only.
//
// An error says which of them is no deviation, no number of parameters, or no
// probability between 0 and 1.
func NoiseNorm(std float64, r int, failure float64) (float64, error) {
	switch {
	case !(std >= 0) || math.IsInf(std, 0):
		return 0, fmt.Errorf("matching: noise of standard deviation %v; it must be finite and at least 0", std)
	case r < 1:
		return 0, fmt.Errorf("matching: the noise of %d parameters; there must be at least one", r)
	case !(failure > 0 && failure < 1):
		return 0, fmt.Errorf("matching: a bound that fails with probability δ′ = %v; it must lie between 0 and 1, such as 0.05", failure)
	}
	n, log := float64(r), -math.Log(failure)
	return std * math.Sqrt(n+2*math.Sqrt(n*log)+2*log), nil
}

// NoiseFailure is δ′ of the bounds on noise that results tell.
const NoiseFailure = 0.05

// TellNoise adds to a result's metrics what noise each step's gradient of r parameters had:
// "noise", the standard deviation on each of its numbers, and "noise norm", the NoiseNorm
// of all of them. It returns the words that say so.
func TellNoise(metrics map[string]float64, std float64, r int) (words string, err error) {
	bound, err := NoiseNorm(std, r, NoiseFailure)
	metrics["noise"], metrics["noise norm"] = std, bound
	return fmt.Sprintf("noise is the standard deviation of that on each number of a gradient, and with probability %v its norm over all %d of them is at most the noise norm, at any one step (004, Corollary 4.2)", 1-NoiseFailure, r), err
}
