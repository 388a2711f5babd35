// Package fairness measures how decisions and predictions differ between two groups
// of people: what is 0 or 1 of a sensitive attribute (004, Appendix C). All measures
// are of samples as they are given, and so not private.
package fairness

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"molehill/transport"
)

// shares returns how often chosen holds within each of the groups 0 and 1, over the
// rows that among allows. what names those rows to people.
func shares(group []int, n int, what string, among, chosen func(i int) bool) (share [2]float64, err error) {
	if len(group) != n {
		return share, fmt.Errorf("fairness: groups of %d rows for %d; give each row its group", len(group), n)
	}
	var all [2]int
	for i, g := range group {
		if g != 0 && g != 1 {
			return share, fmt.Errorf("fairness: row %d is of group %d; there are the groups 0 and 1: recode the column, or drop the row", i, g)
		}
		if !among(i) {
			continue
		}
		all[g]++
		if chosen(i) {
			share[g]++
		}
	}
	for g, count := range all {
		if count == 0 {
			return share, fmt.Errorf("fairness: group %d has no %s, so that nothing can be said of it; bring at least one of them, or leave this measure out", g, what)
		}
		share[g] /= float64(count)
	}
	return share, nil
}

func everybody(int) bool { return true }

// DisparateImpact is P(decision | group 0) / P(decision | group 1) (004 Eq. 12): 1 is
// parity; +Inf where group 1 is never chosen and group 0 is, NaN where neither is.
func DisparateImpact(decisions []bool, group []int) (float64, error) {
	s, err := shares(group, len(decisions), "rows", everybody, func(i int) bool { return decisions[i] })
	return s[0] / s[1], err
}

// ParityGap is |P(decision | group 1) − P(decision | group 0)|, of demographic parity
// (004, Remark C.3).
func ParityGap(decisions []bool, group []int) (float64, error) {
	s, err := shares(group, len(decisions), "rows", everybody, func(i int) bool { return decisions[i] })
	return math.Abs(s[1] - s[0]), err
}

// Odds is EO_k, P(decision | group 0, outcome k) / P(decision | group 1, outcome k)
// (004 Eqs. 13 and 14): 1 where the groups are equal.
func Odds(decisions []bool, group, outcome []int, k int) (float64, error) {
	if len(outcome) != len(decisions) {
		return 0, fmt.Errorf("fairness: %d outcomes of %d decisions; give one each", len(outcome), len(decisions))
	}
	for i, y := range outcome {
		if y != 0 && y != 1 {
			return 0, fmt.Errorf("fairness: row %d has outcome %d; there are the outcomes 0 and 1: recode the column, or drop the row", i, y)
		}
	}
	if k != 0 && k != 1 {
		return 0, fmt.Errorf("fairness: odds of outcome %d; there are the outcomes 0 and 1", k)
	}
	s, err := shares(group, len(decisions), fmt.Sprintf("rows with outcome %d", k), func(i int) bool { return outcome[i] == k }, func(i int) bool { return decisions[i] })
	return s[0] / s[1], err
}

// OverDiagonal are OD_0 and OD_1: the share of each group's predictions in the plane,
// [n, 2], that lie above the line y = −x (004, C.4).
func OverDiagonal(predictions transport.Points, group []int) (over [2]float64, err error) {
	if predictions.Dim != 2 {
		return over, fmt.Errorf("fairness: predictions of dimension %d; the diagonal is one of the plane: give two numbers a row", predictions.Dim)
	}
	return shares(group, predictions.Len(), "rows", everybody, func(i int) bool {
		row := predictions.Row(i)
		return row[1] > -row[0]
	})
}

// KolmogorovSmirnov is the largest difference of the distribution functions of two
// samples: 0 if they are equal, 1 if they are apart.
func KolmogorovSmirnov(a, b []float64) (float64, error) {
	if len(a) == 0 || len(b) == 0 {
		return 0, errors.New("fairness: the Kolmogorov–Smirnov distance of an empty sample; bring at least one row of each group")
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	if math.IsNaN(a[0]) || math.IsNaN(b[0]) { // sorted first
		return 0, errors.New("fairness: a sample has NaN; drop or repair that row")
	}
	var i, j int
	var largest float64
	for i < len(a) && j < len(b) {
		at := min(a[i], b[j])
		for i < len(a) && a[i] == at {
			i++
		}
		for j < len(b) && b[j] == at {
			j++
		}
		largest = max(largest, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return largest, nil
}
