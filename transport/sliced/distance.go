package sliced

import (
	"math"

	"gonum.org/v1/gonum/stat"

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
	mean, std := stat.MeanStdDev(squares, nil)
	d := Distance{Value: math.Sqrt(mean), Directions: u.Count}
	if mean > 0 && u.Count > 1 {
		d.StandardError = stat.StdErr(std, float64(u.Count)) / (2 * d.Value)
	}
	return d, nil
}
