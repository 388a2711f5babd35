package sliced

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
)

// Smoothed is the Gaussian-smoothed sliced Wasserstein distance (003 Eq. 9;
// Rakotomamonjy & Ralaivola 2021): both projected measures are convolved with
// N(0, σ²) before they are compared. It is no private release: see
// ProjectionSensitivity for what is.
type Smoothed struct {
	Sigma float64 // σ ≥ 0, in the unit of the points; 0 is SW
	P     float64 // p ≥ 1
}

// Sampled estimates the distance by adding noise to every projection, as a noisy
// release of the projections does (003 Eqs. 20 and 21). It is a distance of
// samples: equal measures are apart by what n draws are, and more so the larger σ
// is. Exact is without that. The standard error is over directions and noise.
func (s Smoothed) Sampled(x, y transport.Measure, u Directions, rng *rand.Rand) (Distance, error) {
	if rng == nil {
		return Distance{}, errors.New("sliced: no source of random numbers for the noise; give an rng, or take Exact")
	}
	pairing, err := s.pairing(x, y, u)
	if err != nil {
		return Distance{}, err
	}
	pairing.smoothing, pairing.seeds = s.Sigma, make([]uint64, u.Count)
	for j := range pairing.seeds {
		pairing.seeds[j] = rng.Uint64()
	}
	return newDistance(pairing.run(u, false), s.P, u)
}

// Exact computes the distance over directions u from the distribution functions
// of both convolutions, without sampling (transport.SmoothedLine).
// Distance.Quadrature bounds the error of that.
func (s Smoothed) Exact(x, y transport.Measure, u Directions) (Distance, error) {
	if s.Sigma == 0 {
		return SW(x, y, s.P, u)
	}
	if _, err := s.pairing(x, y, u); err != nil {
		return Distance{}, err
	}
	distances, bounds, errs := make([]float64, u.Count), make([]float64, u.Count), make([]error, u.Count)
	transport.Parallel(u.Count, func() *transport.SmoothedLine {
		return &transport.SmoothedLine{Sigma: s.Sigma, Line: transport.Line{
			X: make([]float64, x.Len()), A: x.Weights, Y: make([]float64, y.Len()), B: y.Weights}}
	}, func(line *transport.SmoothedLine, j int) {
		project(line.X, x.Points, u.Row(j))
		project(line.Y, y.Points, u.Row(j))
		distances[j], bounds[j], errs[j] = line.RelativeCost(s.P)
		distances[j] = s.Sigma * math.Pow(distances[j], 1/s.P)
	})
	for _, err := range errs {
		if err != nil {
			return Distance{}, err
		}
	}
	d, err := newDistance(distances, s.P, u)
	if err == nil {
		power, bound := math.Pow(d.Value/s.Sigma, s.P), floats.Sum(bounds)/float64(u.Count)
		d.Quadrature = s.Sigma * (math.Pow(power+bound, 1/s.P) - math.Pow(max(0, power-bound), 1/s.P))
	}
	return d, err
}

func (s Smoothed) pairing(x, y transport.Measure, u Directions) (*pairing, error) {
	if !(s.Sigma >= 0) || math.IsInf(s.Sigma, 0) {
		return nil, fmt.Errorf("sliced: smoothing by σ = %v; it is finite and at least 0", s.Sigma)
	}
	return newPairing(x, y, s.P, u, runtime.GOMAXPROCS(0))
}

// project writes the coordinates of points along a direction in double precision.
func project(at []float64, x transport.Points, direction []float32) {
	for i := range at {
		at[i] = 0
		for c, v := range x.Row(i) {
			at[i] += float64(v) * float64(direction[c])
		}
	}
}
