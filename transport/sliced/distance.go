package sliced

import (
	"math"

	"molehill/transport"
)

// Distance is a Monte Carlo estimate of the sliced Wasserstein distance.
type Distance struct {
	Value         float64 // SW₂, in the unit of the points
	StandardError float64 // of Value, over the directions
	Directions    int
}

// SW2 estimates SW₂(x, y) = (∫ W₂²(θ#x, θ#y) dθ)^½ (003 Eq. 4) over the given
// directions, between samples of any sizes. The standard error comes from the
// spread of W₂² over directions by the delta method; stacked directions make it
// an overestimate.
func SW2(x, y transport.Points, u Directions) (Distance, error) {
	for _, p := range []transport.Points{x, y} {
		if err := p.Check(); err != nil {
			return Distance{}, err
		}
		if err := u.check(p.Dim); err != nil {
			return Distance{}, err
		}
	}
	type buffers struct {
		x, y   []float32
		sorter *transport.Sorter
	}
	squares := make([]float64, u.Count)
	Parallel(u.Count, func() buffers {
		return buffers{make([]float32, x.Len()), make([]float32, y.Len()), new(transport.Sorter)}
	}, func(b buffers, j int) {
		ProjectOn(b.x, x, u.Row(j))
		ProjectOn(b.y, y, u.Row(j))
		b.sorter.Sort(b.x)
		b.sorter.Sort(b.y)
		squares[j] = transport.SquaredWasserstein(b.x, b.y)
	})
	mean, spread := meanAndError(squares)
	d := Distance{Value: math.Sqrt(mean), Directions: u.Count}
	if mean > 0 {
		d.StandardError = spread / (2 * d.Value)
	}
	return d, nil
}

// meanAndError returns the mean of values and its standard error.
func meanAndError(values []float64) (mean, standardError float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if len(values) < 2 {
		return mean, 0
	}
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}
