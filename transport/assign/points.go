package assign

import (
	"errors"
	"fmt"
	"math"

	"molehill/transport"
)

// Costs returns C[i, j] = cost(x_i, y_j), [n, m], row by row, for points of one
// dimension. A cost is any function of two points, for example
// sinkhorn.SquaredL2.At.
func Costs(x, y transport.Points, cost func(x, y []float32) float64) []float64 {
	costs := make([]float64, 0, x.Len()*y.Len())
	for i := range x.Len() {
		for j := range y.Len() {
			costs = append(costs, cost(x.Row(i), y.Row(j)))
		}
	}
	return costs
}

// Match returns the optimal assignment of the points of y to those of x, one
// each, under a ground cost (see Costs). There must be as many of the one as of the other.
func Match(x, y transport.Points, cost func(x, y []float32) float64) (Assignment, error) {
	if cost == nil {
		return Assignment{}, errors.New("assign: no cost; give a function of two points")
	}
	if err := x.Check(); err != nil {
		return Assignment{}, fmt.Errorf("assign: x: %w", err)
	}
	if err := y.Check(); err != nil {
		return Assignment{}, fmt.Errorf("assign: y: %w", err)
	}
	switch n := x.Len(); {
	case x.Dim != y.Dim:
		return Assignment{}, fmt.Errorf("assign: points of dimension %d and %d; want the same", x.Dim, y.Dim)
	case n != y.Len():
		return Assignment{}, fmt.Errorf("assign: %d and %d points; an assignment needs as many of the one as of the other, draw a subsample", n, y.Len())
	case n > Limit: // before the matrix is made
		return Assignment{}, fmt.Errorf("assign: %d points; exact assignment takes up to %d, draw a subsample", n, Limit)
	}
	return Solve(Costs(x, y, cost), x.Len())
}

// Wasserstein returns W_p(x, y), p ≥ 1, between two sets of n equally weighted
// points, with the Euclidean distance for ground distance:
//
//	W_p(x, y) = (min over permutations σ of (1/n)·Σ_i ‖x_i − y_σ(i)‖₂^p)^(1/p)
//
// It is exact up to rounding: the least W_p of all plans, not only of
// assignments.
func Wasserstein(x, y transport.Points, p float64) (float64, error) {
	if !(p >= 1) || math.IsInf(p, 0) {
		return 0, fmt.Errorf("assign: the order of W_p is p = %v; want a finite p ≥ 1", p)
	}
	a, err := Match(x, y, func(x, y []float32) float64 {
		var squares float64
		for k := range x {
			d := float64(x[k]) - float64(y[k])
			squares += d * d
		}
		switch p {
		case 1:
			return math.Sqrt(squares)
		case 2:
			return squares
		}
		return math.Pow(squares, p/2)
	})
	if err != nil {
		return 0, err
	}
	return math.Pow(a.Total/float64(x.Len()), 1/p), nil
}
