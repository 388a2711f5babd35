package sliced

import (
	"fmt"
	"slices"

	"molehill/privacy"
	"molehill/privacy/clip"
)

// Objective is what is known beforehand, all of it public, of a mean loss over a batch
// with sliced Wasserstein penalties between pairs of samples, as 004 trains:
//
//	(1−α)·(1/n)Σ_i ℓ(x_i) + (α/R)·Σ_k SW²₂(A_k, B_k)
//
// The autoencoder has one pair, the codes and the prior (Eq. 6); statistical
// parity one, the two groups (Eq. 8); equality of odds R, the two groups of each
// class 0 … R−1 (Eq. 9, which writes the sum from 1 to R, and Corollary C.1's
// proof K for R: R is the number of classes).
//
// A record is replaced by one of its own group and class (004, Remark C.2).
type Objective struct {
	Records int     // n of a batch
	Pairs   []Sizes // of the samples of its pairs
	Alpha   float64 // α, in [0, 1]
	Clip    float64 // C: each ‖∇ℓ(x_i)‖ is clipped to it
	// Limits are those of outputs and Jacobians of A, the source, and of B, the target,
	// whose own limit L₂ counts only where B is made of records by a network.
	Limits Limits
}

// Sizes are how many records, or points, the samples of a pair have in a batch.
type Sizes struct {
	A, B int
	// Public says that B are points which tell nothing of any record.
	Public bool
	// Fixed says that B are private points as they are, not made of records by a network.
	Fixed bool
}

// relation is k-end where there are two private samples: in which one a record is tells
// by their sizes.
func (o Objective) relation() privacy.Relation {
	if slices.ContainsFunc(o.Pairs, func(s Sizes) bool { return !s.Public }) {
		return privacy.KEnd
	}
	return privacy.ReplaceOne
}

// Sensitivity is that of the objective's clipped gradient when one record is replaced by
// another, of its sample where samples of private records are matched with each other
// (k-end):
//
//	(1−α)·2C/n + (α/R)·max over samples of what Limits bound
//
// as a record is in the first term and in one sample of one pair (004, Section 6.2 and
// Corollary C.1). With Limits.AsPublished that is the paper's: (1−α)2C/n + α·12ML/n for a
// prior, (1−α)2C/n + (α/R)·16ML/min n for groups (Eqs. 10 and 11); else of the second term
// half, or less of many orthonormal directions.
func (o Objective) Sensitivity() (privacy.Sensitivity, error) {
	if !(o.Alpha >= 0 && o.Alpha <= 1) || o.Records < 1 {
		return privacy.Sensitivity{}, fmt.Errorf("sliced: α is %v and a batch has %d records; want α from 0 to 1 and at least one record", o.Alpha, o.Records)
	}
	s := privacy.Sensitivity{Relation: o.relation(), Query: "clipped gradient of a loss and of sliced distances between outputs"}
	if o.Alpha < 1 {
		loss, err := clip.SumSensitivity(o.Clip, s.Relation)
		if err != nil {
			return privacy.Sensitivity{}, fmt.Errorf("sliced: clipping of losses: %w", err)
		}
		s.Value = (1 - o.Alpha) / float64(o.Records) * loss.Value
		s.Source = fmt.Sprintf("(1−α)·2C/n with n = %d records a batch", o.Records)
	}
	if o.Alpha == 0 {
		return s, nil
	}
	most, err := o.penalty()
	if err != nil {
		return privacy.Sensitivity{}, err
	}
	if s.Source != "" {
		s.Source += ", plus "
	}
	s.Value += o.Alpha / float64(len(o.Pairs)) * most.Value
	s.Source += fmt.Sprintf("α/%d·(%s)", len(o.Pairs), most.Source)
	return s, nil
}

// penalty is the largest sensitivity of a pair's gradient.
func (o Objective) penalty() (most privacy.Sensitivity, err error) {
	if len(o.Pairs) == 0 {
		return most, fmt.Errorf("sliced: α is %v and there are no pairs of samples; give at least one, or α = 0", o.Alpha)
	}
	for _, pair := range o.Pairs {
		limits := o.Limits
		if pair.Public || pair.Fixed {
			limits.Target = 0
		}
		var of privacy.Sensitivity
		if pair.Public {
			of, err = limits.Sensitivity(pair.A)
		} else {
			of, err = limits.BothSensitivity(pair.A, pair.B)
		}
		if err != nil {
			return most, err
		}
		if of.Value > most.Value {
			most = of
		}
	}
	return most, nil
}
