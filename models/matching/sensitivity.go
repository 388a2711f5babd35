package matching

import (
	"fmt"
	"slices"

	"molehill/privacy"
	"molehill/privacy/clip"
	"molehill/transport/sliced"
)

// Query is what is known of a batch beforehand, all of it public.
type Query struct {
	Records int     // n of a batch
	Pairs   []Sizes // of the samples of its pairs
	Alpha   float64 // α
	// Frame is λ of the directions (sliced.Limits.Frame): sliced.OrthonormalFrame for
	// stacks of orthonormal ones, 0 for any. Gradients know no query: that a batch has
	// its sizes, and directions of no larger Frame, is the caller's to see to.
	Frame float64
	// AsPublished takes the constants of the paper: true bounds too, and larger.
	AsPublished bool
}

// Sizes are how many records, or points, the samples of a pair have in a batch.
type Sizes struct {
	A, B int
	// Public says that B are points which tell nothing of any record.
	Public bool
	// Fixed says that B are private points as they are, not made of records by φ.
	Fixed bool
}

// relation is k-end where there are two private samples: in which one a record is tells
// by their sizes.
func (q Query) relation() privacy.Relation {
	if slices.ContainsFunc(q.Pairs, func(s Sizes) bool { return !s.Public }) {
		return privacy.KEnd
	}
	return privacy.ReplaceOne
}

// Sensitivity is that of Gradient.Values when one record is replaced by another, of its
// sample where samples of private records are matched with each other (k-end): for C and
// the limits M and L,
//
//	(1−α)·2C/n + (α/R)·max over samples of their sliced.Limits' sensitivity
//
// as a record is in the first term and in one sample of one pair (004, Section 6.2 and
// Corollary C.1). With AsPublished that is the paper's: (1−α)2C/n + α·12ML/n for a
// prior, (1−α)2C/n + (α/R)·16ML/min n for groups; else of the second term half, or less of
// many orthonormal directions.
func (c Clipping) Sensitivity(q Query) (privacy.Sensitivity, error) {
	if err := c.check(); err != nil {
		return privacy.Sensitivity{}, err
	}
	if !(q.Alpha >= 0 && q.Alpha <= 1) || q.Records < 1 {
		return privacy.Sensitivity{}, fmt.Errorf("matching: α is %v and a batch has %d records; want α from 0 to 1 and at least one record", q.Alpha, q.Records)
	}
	s := privacy.Sensitivity{Relation: q.relation(), Query: "clipped gradient of a loss and of sliced distances between outputs"}
	if q.Alpha < 1 {
		loss, err := clip.SumSensitivity(c.Loss, s.Relation)
		if err != nil {
			return s, err
		}
		s.Value = (1 - q.Alpha) / float64(q.Records) * loss.Value
		s.Source = fmt.Sprintf("(1−α)·2C/n with n = %d records a batch", q.Records)
	}
	if q.Alpha == 0 {
		return s, nil
	}
	if len(q.Pairs) == 0 {
		return s, fmt.Errorf("matching: α is %v and there are no pairs of samples; give at least one, or α = 0", q.Alpha)
	}
	var most privacy.Sensitivity
	for _, pair := range q.Pairs {
		limits := sliced.Limits{Output: c.Output, Source: c.Jacobian, Target: c.Jacobian, Frame: q.Frame, AsPublished: q.AsPublished}
		if pair.Public || pair.Fixed {
			limits.Target = 0
		}
		of, err := limits.Sensitivity(pair.A)
		if err == nil && !pair.Public {
			of, err = limits.BothSensitivity(pair.A, pair.B)
		}
		if err != nil {
			return s, err
		}
		if of.Value > most.Value {
			most = of
		}
	}
	if s.Source != "" {
		s.Source += ", plus "
	}
	s.Value += q.Alpha / float64(len(q.Pairs)) * most.Value
	s.Source += fmt.Sprintf("α/%d·(%s)", len(q.Pairs), most.Source)
	return s, nil
}
