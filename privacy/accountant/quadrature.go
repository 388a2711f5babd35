package accountant

import "math"

// logIntegral returns an upper bound of log ∫ exp(f) over [lo, hi], at most a
// relative 10⁻⁸ above, or what rounding leaves where |f| is large. It is made for f that are −(z/width)²/2 plus
// something convex (or log-like): then no peak is narrower than width, and
// between two points 4 widths apart f rises at most about 2 above the higher one.
// So cells of 4 widths are enough to find every peak, and cells whose ends lie
// far below the highest are left out.
//
// Cells are integrated by Gauss–Kronrod, 7 points inside 15, and halved until
// the two rules agree; what they still differ by is added to the result, and so
// is the tolerance.
func logIntegral(f func(z float64) float64, lo, hi, width float64) float64 {
	cells := int(math.Ceil((hi - lo) / (4 * width)))
	cell := (hi - lo) / float64(cells)
	ends := make([]float64, cells+1)
	top := math.Inf(-1)
	for i := range ends {
		ends[i] = f(lo + float64(i)*cell)
		top = max(top, ends[i])
	}
	if math.IsInf(top, -1) {
		return top
	}
	const negligible = 60 // e⁻⁶⁰ of the highest value, and e² of that inside
	// f is as large as (hi/width)², and exp(f) is no better than f is rounded.
	tolerance := 1e-9 + 1e-15*(hi/width)*(hi/width)
	var sum, slack float64
	for i := range cells {
		if max(ends[i], ends[i+1]) < top-negligible {
			continue
		}
		s, d := integrate(f, top, tolerance, lo+float64(i)*cell, lo+float64(i+1)*cell, 12)
		sum, slack = sum+s, slack+d
	}
	return top + math.Log((sum+slack)*(1+tolerance))
}

// integrate returns ∫ exp(f − shift) over [a, b] and what its error is at most,
// as far as two rules can tell. It halves the interval up to depth times.
func integrate(f func(float64) float64, shift, tolerance, a, b float64, depth int) (sum, slack float64) {
	center, half := (a+b)/2, (b-a)/2
	var kronrod, gauss float64
	for i, x := range kronrodNodes {
		y := math.Exp(f(center+half*x) - shift)
		if x != 0 {
			y += math.Exp(f(center-half*x) - shift)
		}
		kronrod += kronrodWeights[i] * y
		if i%2 == 1 {
			gauss += gaussWeights[i/2] * y
		}
	}
	sum, slack = half*kronrod, half*math.Abs(kronrod-gauss)
	// The difference is the error of the 7-point rule; the 15 points are far
	// better. Cells with nothing in them need no precision.
	if slack <= tolerance*sum || slack <= 1e-12*half || depth == 0 {
		return sum, slack
	}
	left, leftSlack := integrate(f, shift, tolerance, a, center, depth-1)
	right, rightSlack := integrate(f, shift, tolerance, center, b, depth-1)
	return left + right, leftSlack + rightSlack
}

// Gauss–Kronrod rule on [−1, 1], nodes from the outside in; every second one is
// a node of the 7-point Gauss rule (Kronrod 1965).
var (
	kronrodNodes = [8]float64{
		0.99145537112081263921, 0.94910791234275852453, 0.86486442335976907279, 0.74153118559939443986,
		0.58608723546769113029, 0.40584515137739716691, 0.20778495500789846760, 0,
	}
	kronrodWeights = [8]float64{
		0.02293532201052922496, 0.06309209262997855329, 0.10479001032225018384, 0.14065325971552591875,
		0.16900472663926790283, 0.19035057806478540991, 0.20443294007529889241, 0.20948214108472782801,
	}
	gaussWeights = [4]float64{0.12948496616886969327, 0.27970539148927666790, 0.38183005050511894495, 0.41795918367346938776}
)
