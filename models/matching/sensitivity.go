package matching

import (
	"molehill/privacy"
	"molehill/transport/sliced"
)

// Query is what is known of a batch beforehand, all of it public.
type Query struct {
	Records int            // n of a batch
	Pairs   []sliced.Sizes // of the samples of its pairs
	Alpha   float64        // α
	// Frame is λ of the directions (sliced.Limits.Frame): sliced.OrthonormalFrame for
	// stacks of orthonormal ones, 0 for any. Gradients know no query: that a batch has
	// its sizes, and directions of no larger Frame, is the caller's to see to.
	Frame float64
	// AsPublished takes the constants of the paper: true bounds too, and larger.
	AsPublished bool
}

// Sensitivity is that of Gradient.Values when one record is replaced by another, of its
// sample where samples of private records are matched with each other (k-end):
// sliced.Objective's.
func (c Clipping) Sensitivity(q Query) (privacy.Sensitivity, error) {
	if err := c.check(); err != nil {
		return privacy.Sensitivity{}, err
	}
	return sliced.Objective{Records: q.Records, Pairs: q.Pairs, Alpha: q.Alpha, Clip: c.Loss,
		Limits: sliced.Limits{Output: c.Output, Source: c.Jacobian, Target: c.Jacobian, Frame: q.Frame, AsPublished: q.AsPublished}}.Sensitivity()
}
