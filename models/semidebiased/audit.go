package semidebiased

import (
	"math"

	"molehill/privacy/audit"
)

// AuditedSteps is how many steps of a training an audit plays, at most: a gradient of
// few numbers is soon made.
const AuditedSteps = 500

// NotAudited is what an audit of the first of so many steps of a training does not
// look at.
func NotAudited(audited, steps int) []string {
	return append([]string{"the Sinkhorn loss itself: the worst gradient that a record can turn round stands in its place"}, audit.NotTested(audited, steps)...)
}

// Turned is the worst gradient that couples records, [size], far beyond what is clipped:
// the same along all numbers, which the record that is looked for turns round.
func Turned(size int, round bool) []float32 {
	toward := -1e3 / math.Sqrt(float64(size))
	if round {
		toward = -toward
	}
	gradient := make([]float32, size)
	for i := range gradient {
		gradient[i] = float32(toward)
	}
	return gradient
}
