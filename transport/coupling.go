package transport

import "math"

// Pair is an entry of a plan: Mass goes from point I of one sample to point J
// of the other.
type Pair struct {
	I, J int
	Mass float64
}

// sameLevel is how near two levels are taken to be one. Levels are rounded, and
// what rounding puts between two that are equal is no mass to transport: after a
// p-th root it would be seen.
const sameLevel = 0x1p-51

// Levels returns the distribution function of n sorted points at each of them,
// [n]: the share of weights up to and with point i, from 0 to 1, the last one
// exactly 1. Nil weights are equal; others are as CheckWeights wants them. It panics
// where they are not n.
func Levels(weights []float64, n int) []float64 {
	checkCount(weights, n)
	levels := make([]float64, n)
	if weights == nil {
		for i := range levels {
			levels[i] = float64(i+1) / float64(n)
		}
		return levels
	}
	LevelsInOrder(levels, weights, nil)
	return levels
}

// LevelsInOrder writes the levels of points that order sorts: levels[r] is the
// share of the weights of points order[0] … order[r], or 0 … r without an order.
func LevelsInOrder(levels, weights []float64, order []int32) {
	var sum Sum // so that a level is off by its last bit however many weights are below it
	for r := range levels {
		w := weights[r]
		if order != nil {
			w = weights[order[r]]
		}
		sum.Add(w)
		levels[r] = sum.Value()
	}
	total, below := sum.Value(), 0.
	for r, level := range levels {
		below = max(below, min(1, level/total))
		levels[r] = below
	}
}

// Couple appends to plan the optimal plan between two sorted samples, for every
// convex cost on the line: the coupling of order statistics (north-west corner
// rule; the R_ij of 004, Proposition 3.1), at most n+m−1 pairs of ranks in
// ascending order, with masses above 0 that add up to 1. The samples are given
// by their Levels, [n] and [m].
//
// Levels are rounded to 2⁻⁵³, and two of the samples' that are less than 2⁻⁵¹ apart are
// taken for one, so that masses as small cannot be told from rounding, however far they
// go: those at the upper end are left out (of weights 1 and 1e-16 the second), those at
// the lower end, where levels have more digits, may count.
func Couple(plan []Pair, left, right []float64) []Pair {
	last := 0.
	for i, j := 0, 0; i < len(left) && j < len(right); {
		a, b := left[i], right[j]
		end := min(a, b)
		if end > last {
			plan = append(plan, Pair{i, j, end - last})
			last = end
		}
		if a <= b+sameLevel {
			i++
		}
		if b <= a+sameLevel {
			j++
		}
	}
	return plan
}

// Float is what the coordinates of a sample are.
type Float interface{ ~float32 | ~float64 }

// Power returns Σ mass·|x_i − y_j|^p over a plan between the sorted samples x and
// y: W_p^p, p ≥ 1 (Peyré & Cuturi 2019, 2.30). Unless they are nil, it writes the
// sum's derivatives by the points to byX, [n], and byY, [m] (004, Proposition
// 3.2, for p = 2); either may be nil alone:
//
//	∂W_p^p/∂x_i = Σ_j mass_ij·p·|x_i − y_j|^(p−1)·sign(x_i − y_j)
//
// with sign(0) = 0. Where points coincide, these are of one plan among many:
// see ShareTies.
func Power[F Float](plan []Pair, x, y []F, p float64, byX, byY []float64) float64 {
	return PowerIn(1, plan, x, y, p, byX, byY)
}

// Farthest returns the largest |x_i − y_j| of a plan's pairs.
func Farthest[F Float](plan []Pair, x, y []F) float64 {
	var farthest float64
	for _, pair := range plan {
		farthest = max(farthest, math.Abs(float64(x[pair.I])-float64(y[pair.J])))
	}
	return farthest
}

// PowerIn is Power of distances in a unit other than 1, so that W_p^p does not
// overflow or vanish: W_p^p is unit^p times what it returns, and its derivatives
// are unit^(p−1) times what it writes. Of all units Farthest is the safest.
func PowerIn[F Float](unit float64, plan []Pair, x, y []F, p float64, byX, byY []float64) float64 {
	clear(byX)
	clear(byY)
	var total float64
	switch {
	case p == 2 && unit == 1 && byX == nil && byY == nil:
		for _, pair := range plan {
			d := float64(x[pair.I]) - float64(y[pair.J])
			total += pair.Mass * d * d
		}
	case p == 2 && unit == 1 && byX != nil && byY != nil:
		for _, pair := range plan {
			d := float64(x[pair.I]) - float64(y[pair.J])
			slope := pair.Mass * d
			total += slope * d
			byX[pair.I] += 2 * slope
			byY[pair.J] -= 2 * slope
		}
	default:
		for _, pair := range plan {
			d := float64(x[pair.I]) - float64(y[pair.J])
			length := math.Abs(d) / unit
			slope := pair.Mass // of what is proportional to |d| at p = 1
			if p != 1 {
				slope *= math.Pow(length, p-1)
			}
			total += slope * length
			if d == 0 {
				continue
			}
			slope = math.Copysign(p*slope, d)
			if byX != nil {
				byX[pair.I] += slope
			}
			if byY != nil {
				byY[pair.J] -= slope
			}
		}
	}
	return total
}

// ShareTies replaces what points of a sorted sample that coincide were given by
// their parts of it: in proportion to their shares, or equal parts where shares
// is nil. Order sorts the shares as LevelsInOrder's does the weights.
//
// The plan is not unique where points coincide. What each gets then depends on
// the order of the points no more; at equal shares it is the mean over all ways
// to break the tie.
func ShareTies[F Float](sorted []F, given, shares []float64, order []int32) {
	n := len(sorted)
	share := func(rank int) float64 {
		switch {
		case shares == nil:
			return 1
		case order == nil:
			return shares[rank]
		}
		return shares[order[rank]]
	}
	for from := 0; from+1 < n; from++ {
		if sorted[from] != sorted[from+1] {
			continue
		}
		sum, weight, to := given[from], share(from), from+1
		for ; to < n && sorted[to] == sorted[from]; to++ {
			sum += given[to]
			weight += share(to)
		}
		for rank := from; rank < to; rank++ {
			given[rank] = 0
			if part := share(rank); part > 0 {
				given[rank] = sum * (part / weight)
			}
		}
		from = to - 1
	}
}
