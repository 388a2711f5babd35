package assign

import (
	"errors"
	"fmt"
	"math"

	"molehill/transport"
)

const noCost = "assign: no cost; give a function of two points, such as sinkhorn.SquaredL2.At"

// Costs returns C[i, j] = cost(x_i, y_j), [n, m], row by row, for points of one
// dimension. A cost is any function of two points, for example
// sinkhorn.SquaredL2.At. It panics without one.
func Costs(x, y transport.Points, cost func(x, y []float32) float64) []float64 {
	if cost == nil {
		panic(noCost)
	}
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
		return Assignment{}, errors.New(noCost)
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
// assignments. Lengths are in units of the longest one of the assignment, so
// that no power overflows or vanishes. Where that is much shorter than the
// farthest pair and p is large, more than one assignment is needed to find it.
func Wasserstein(x, y transport.Points, p float64) (float64, error) {
	if !(p >= 1) || math.IsInf(p, 0) {
		return 0, fmt.Errorf("assign: the order of W_p is p = %v; want a finite p ≥ 1", p)
	}
	cost := distance
	if p > 1 && p <= 2 { // no power of float32's range is out of float64's
		cost = func(x, y []float32) float64 { return math.Pow(distance(x, y), p) }
	}
	a, err := Match(x, y, cost)
	if err != nil {
		return 0, err
	}
	if p <= 2 {
		return math.Pow(a.Total/float64(x.Len()), 1/p), nil
	}
	// No power of this assignment is above 1, so that of W_p costs at most n.
	for {
		unit := longest(x, y, a)
		if unit == 0 {
			return 0, nil
		}
		a, err = Match(x, y, func(x, y []float32) float64 {
			return min(math.Pow(distance(x, y)/unit, p), 2*Limit) // more than n: in no optimal assignment
		})
		if err != nil {
			return 0, err
		}
		if a.Total > 0x1p-1000 { // nothing that counts has vanished
			return unit * math.Pow(a.Total/float64(x.Len()), 1/p), nil
		}
	}
}

// distance is ‖x−y‖₂.
func distance(x, y []float32) float64 {
	var squares float64
	for k := range x {
		d := float64(x[k]) - float64(y[k])
		squares += d * d
	}
	return math.Sqrt(squares)
}

// longest returns the largest distance of an assignment.
func longest(x, y transport.Points, a Assignment) float64 {
	var longest float64
	for i, j := range a.Column {
		longest = max(longest, distance(x.Row(i), y.Row(j)))
	}
	return longest
}
