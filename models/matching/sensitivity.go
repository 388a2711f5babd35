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
	// stacks of orthonormal ones, 0 for any.
	Frame float64
	// AsPublished takes the constants of the paper: true bounds too, and larger.
	AsPublished bool
}

// query is what the batch itself is known by, of n records and d numbers an output.
func (b Batch) query(n, d int) Query {
	q := Query{Records: n, Alpha: b.Alpha}
	for _, p := range b.Pairs {
		size := sliced.Sizes{A: len(p.A), B: len(p.B), Public: p.Public, Fixed: p.Points != nil && !p.Public}
		if p.Points != nil {
			size.B = len(p.Points) / d
		}
		q.Pairs = append(q.Pairs, size)
	}
	if b.Alpha > 0 {
		q.Frame = b.Directions.Frame()
	}
	return q
}

// Sensitivity is that of Gradient.Values, of a batch with the sizes of q and directions of
// no larger Frame, when one record is replaced by another, of its sample where samples of
// private records are matched with each other (k-end): sliced.Objective's. Plans are made
// with it; each Gradient has its own.
func (c Clipping) Sensitivity(q Query) (privacy.Sensitivity, error) {
	if err := c.check(); err != nil {
		return privacy.Sensitivity{}, err
	}
	return sliced.Objective{Records: q.Records, Pairs: q.Pairs, Alpha: q.Alpha, Clip: c.Loss,
		Limits: sliced.Limits{Output: c.Output, Source: c.Jacobian, Target: c.Jacobian, Frame: q.Frame, AsPublished: q.AsPublished}}.Sensitivity()
}
