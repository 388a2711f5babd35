package transport

import "math"

// Couple visits the optimal plan between two sorted samples of n and m equally
// weighted points, for every convex cost on the line: the coupling of order
// statistics (north-west corner rule), at most n+m−1 pairs in ascending order.
// The masses are in units of 1/(n·m), so they are whole numbers and add up to
// n·m exactly.
func Couple(n, m int, visit func(i, j int, mass int)) {
	i, j, left, right := 0, 0, m, n // what is left of point i (mass m) and of point j (mass n)
	for i < n && j < m {
		mass := min(left, right)
		visit(i, j, mass)
		if left -= mass; left == 0 {
			i, left = i+1, m
		}
		if right -= mass; right == 0 {
			j, right = j+1, n
		}
	}
}

// Wasserstein returns W_p(x, y) between two sorted samples of any sizes, p ≥ 1:
// the p-th root of Σ mass·|x_i − y_j|^p over Couple (Peyré & Cuturi 2019, 2.30).
func Wasserstein(x, y []float32, p float64) float64 {
	return math.Pow(wassersteinPower(x, y, p), 1/p)
}

// SquaredWasserstein returns W₂²(x, y) between two sorted samples.
func SquaredWasserstein(x, y []float32) float64 { return wassersteinPower(x, y, 2) }

func wassersteinPower(x, y []float32, p float64) float64 {
	if len(x) == 0 || len(y) == 0 {
		return math.NaN()
	}
	var total float64
	if p == 2 && len(x) == len(y) { // the common case, without the bookkeeping
		for i := range x {
			d := float64(x[i]) - float64(y[i])
			total += d * d
		}
		return total / float64(len(x))
	}
	Couple(len(x), len(y), func(i, j, mass int) {
		d := math.Abs(float64(x[i]) - float64(y[j]))
		if p == 2 {
			total += float64(mass) * d * d
		} else {
			total += float64(mass) * math.Pow(d, p)
		}
	})
	return total / (float64(len(x)) * float64(len(y)))
}

// Map returns the monotone map from the sorted sample x to the sorted sample y,
// one target a point: T(x_i) is the mean of the part of y that the optimal plan
// gives to x_i (its barycentric projection). For equal sizes it is y itself.
func Map(x, y []float32) []float32 {
	targets := make([]float64, len(x))
	Couple(len(x), len(y), func(i, j, mass int) { targets[i] += float64(mass) * float64(y[j]) })
	mapped := make([]float32, len(x))
	for i, t := range targets {
		mapped[i] = float32(t / float64(len(y)))
	}
	return mapped
}
