package sliced

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/stat"

	"molehill/transport"
)

// Distance is a Monte Carlo estimate of a sliced Wasserstein distance.
type Distance struct {
	Value         float64 // SW_p, in the unit of the points; also where Power vanishes
	StandardError float64 // of Value, over the directions; 0 where one direction cannot tell
	Power         float64 // SW_p^p: the mean of W_p^p over the directions
	Directions    int
	// Quadrature bounds the error of Value on these directions where it is an
	// integral that is computed numerically (Smoothed.Exact).
	Quadrature float64
}

// SW estimates SW_p(x, y) = (∫ W_p^p(θ#x, θ#y) dθ)^(1/p), p ≥ 1 (003 Eq. 4), over
// the given directions, between weighted points of any numbers.
//
// The standard error comes from the spread of W_p^p over independent directions
// by the delta method. Of stacked directions it is the stacks that are
// independent; a single stack is taken for independent directions, which as a
// rule overestimates the error.
//
// Time is O(k·(n+m)·(d + log(n+m))). The projections are never all held at once:
// memory is O((n+m)·d), and 128 bytes a point besides.
func SW(x, y transport.Measure, p float64, u Directions) (Distance, error) {
	s, err := newPairing(x, y, p, u, runtime.GOMAXPROCS(0))
	if err != nil {
		return Distance{}, err
	}
	return newDistance(s.run(u, false), p, u)
}

// SW2 is SW of equally weighted points at p = 2.
func SW2(x, y transport.Points, u Directions) (Distance, error) {
	return SW(transport.Uniform(x), transport.Uniform(y), 2, u)
}

// SWGradient returns SW and the derivatives of SW_p^p, Distance.Power, by the
// points of x, [n, d], and of y, [m, d], in one pass:
//
//	∂SW_p^p/∂x_i = (1/k)·Σ_l θ_l·Σ_j mass_lij·p·|t|^(p−1)·sign(t),  t = ⟨θ_l, x_i − y_j⟩
//
// over the optimal plans of the k directions (004, Propositions 3.1 and 3.2, for
// p = 2). Points whose projections coincide share what the plan gives them, in
// proportion to their weights; at p = 1 the derivative of |t| at 0 is taken as 0.
// Arithmetic is in single precision, but for the plans and the value.
// OutputGradients is the same in double precision.
func SWGradient(x, y transport.Measure, p float64, u Directions) (d Distance, byX, byY []float32, err error) {
	return swGradient(x, y, p, u, runtime.GOMAXPROCS(0))
}

func swGradient(x, y transport.Measure, p float64, u Directions, workers int) (d Distance, byX, byY []float32, err error) {
	s, err := newPairing(x, y, p, u, workers)
	if err != nil {
		return Distance{}, nil, nil, err
	}
	if d, err = newDistance(s.run(u, true), p, u); err != nil {
		return Distance{}, nil, nil, err
	}
	if typical := p * math.Pow(d.Value, p-1); d.Value > 0 && typical < 0x1p-126 { // the least that float32 holds to full precision
		return Distance{}, nil, nil, fmt.Errorf("sliced: derivatives of distances like %v to the power %v are below what float32 holds; multiply the points by a constant", d.Value, p)
	}
	if byX, err = s.x.gradient(u.Count); err != nil {
		return Distance{}, nil, nil, err
	}
	if byY, err = s.y.gradient(u.Count); err != nil {
		return Distance{}, nil, nil, err
	}
	return d, byX, byY, nil
}

// newDistance returns the distance of W_p on each of the directions u.
func newDistance(distances []float64, p float64, u Directions) (Distance, error) {
	// Powers are of distances over the largest, which is among them as 1.
	largest := slices.Max(distances)
	if largest == 0 {
		return Distance{Directions: u.Count}, nil
	}
	powers := make([]float64, len(distances))
	for i, distance := range distances {
		powers[i] = math.Pow(distance/largest, p)
	}
	mean := stat.Mean(powers, nil)
	d := Distance{Value: largest * math.Pow(mean, 1/p), Directions: u.Count}
	d.Power = mean * math.Pow(largest, p)
	if math.IsNaN(d.Power) || math.IsInf(d.Power, 0) {
		return Distance{}, errOverflow(p)
	}
	independent := powers
	if stacks := len(powers) / max(1, u.Stack); u.Stack > 1 && stacks > 1 && stacks*u.Stack == len(powers) {
		independent = make([]float64, stacks)
		for i := range independent {
			independent[i] = stat.Mean(powers[i*u.Stack:(i+1)*u.Stack], nil)
		}
	}
	if k := float64(len(independent)); k > 1 {
		d.StandardError = stat.StdErr(stat.StdDev(independent, nil), k) * d.Value / (p * mean)
	}
	return d, nil
}

func errOverflow(p float64) error {
	return fmt.Errorf("sliced: distances to the power %v overflow; divide the points by a constant", p)
}
