package metric

import "math"

// Agreement is the share of labels that are those of truth, both [n], with the standard
// error of a share of independent rows. Higher is better; of no rows it is NaN, and of more
// or fewer labels than there is truth of.
func Agreement(labels, truth []int) Value {
	if len(labels) != len(truth) {
		return Value{Value: math.NaN(), StandardError: math.NaN()}
	}
	right := 0
	for i, label := range labels {
		if label == truth[i] {
			right++
		}
	}
	n := float64(len(truth))
	p := float64(right) / n
	return Value{Value: p, StandardError: math.Sqrt(p * (1 - p) / n)}
}
