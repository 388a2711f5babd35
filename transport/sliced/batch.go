package sliced

import (
	"fmt"

	"molehill/transport"
)

// Problem is two weighted samples to compare, of any sizes.
type Problem struct{ X, Y transport.Measure }

// Gradient is what SWGradient returns of a problem.
type Gradient struct {
	Distance
	ByX, ByY []float32 // ∂SW_p^p by the points, [n, d] and [m, d]
}

// SWGradients returns SWGradient of each problem, to the bit, along the same
// directions: the problems side by side, one a core. That is the faster the
// smaller they are. An error names the first problem that has one.
func SWGradients(problems []Problem, p float64, u Directions) ([]Gradient, error) {
	gradients, errs := make([]Gradient, len(problems)), make([]error, len(problems))
	transport.InParallel(len(problems), func(i int) {
		g := &gradients[i]
		g.Distance, g.ByX, g.ByY, errs[i] = swGradient(problems[i].X, problems[i].Y, p, u, 1)
	})
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return gradients, nil
}
