package metric

import "math"

// Agreement is the share of labels that are those of truth, both [n], with the standard
// error of a share of independent rows. Higher is better; of no rows it is NaN.
func Agreement(labels, truth []int) Value {
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
