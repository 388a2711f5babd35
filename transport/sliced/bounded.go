package sliced

import (
	"fmt"

	"molehill/privacy"
)

// Bounded is a sliced Wasserstein gradient that knows how far a record can move
// it. Only Limits.Gradient makes one, of outputs that it has clipped.
type Bounded struct {
	Gradient []float64 // ∇_θ SW²₂, [r]

	limits Limits
	n, m   int
}

// Gradient clips the outputs x of n and z of m records to the limits and returns
// ∇_θ SW²₂(g_θ#P_X, h_θ#P_Z) over directions u (004, Theorem A.1; for d = 1 and one
// direction its Theorem 4.1), with its sensitivities. They are those of these
// directions: Limits.Frame is taken from u, whatever it is.
//
// A limit of 0 on a side's Jacobians says that it has none.
func (l Limits) Gradient(x, z Outputs, u Directions) (*Bounded, error) {
	x, err := l.side(x, l.Source)
	if err != nil {
		return nil, err
	}
	if z, err = l.side(z, l.Target); err != nil {
		return nil, err
	}
	sum, err := gradient(x, z, u)
	if err != nil {
		return nil, err
	}
	l.Frame = u.Frame()
	return &Bounded{sum, l, x.Len(), z.Len()}, nil
}

// side clips one side of a pair.
func (l Limits) side(outputs Outputs, steepness float64) (Outputs, error) {
	if steepness == 0 {
		outputs.Jacobians, steepness = nil, 1
	}
	if l.Exact {
		return outputs.ClipExact(l.Output, steepness)
	}
	return outputs.Clip(l.Output, steepness)
}

// Sensitivity is that of Gradient if the n source records are private and the
// targets are public.
//
// Under replace-one, and so under k-end, it is Limits.Sensitivity. Under zero-out the null record is
// what clipping makes of a record that is no number: output 0 and Jacobian 0. It
// stays one of n, and the sensitivity is never larger:
//
//	2M·max{3L₁, 2L₁ + L₂}/n
//
// For of the terms of Limits.Sensitivity there remain L₁(|u−t| + |t−t′|) + L₂|u|,
// with t ≥ t′ if u ≥ 0, and the corners of that have u = 0 or |u| = M.
//
// The paper has no zero-out: with AsPublished it is the published replace-one,
// which is larger.
//
// Under add-remove there is none: a record more or less changes the divisor n
// itself, so whatever bounds the change would depend on n, which that relation
// keeps private.
func (b *Bounded) Sensitivity(relation privacy.Relation) (privacy.Sensitivity, error) {
	s, err := b.limits.Sensitivity(b.n)
	if err != nil {
		return s, err
	}
	return b.under(relation, s, b.limits.zeroOut(b.limits.Source, b.limits.Target, b.n))
}

// BothSensitivity is that of Gradient if the records of both sides are private
// and one of either is replaced (k-end), or zeroed out: Limits.BothSensitivity, or the
// larger of what zeroing out does on either side.
func (b *Bounded) BothSensitivity(relation privacy.Relation) (privacy.Sensitivity, error) {
	s, err := b.limits.BothSensitivity(b.n, b.m)
	if err != nil {
		return s, err
	}
	return b.under(relation, s, max(
		b.limits.zeroOut(b.limits.Source, b.limits.Target, b.n),
		b.limits.zeroOut(b.limits.Target, b.limits.Source, b.m)))
}

// zeroOut bounds what a record on the side with Jacobians up to own does.
func (l Limits) zeroOut(own, other float64, n int) float64 {
	return 2 * l.Output * max(3*own, 2*own+other) / float64(n) * normSlack
}

func (b *Bounded) under(relation privacy.Relation, replaced privacy.Sensitivity, zeroOut float64) (privacy.Sensitivity, error) {
	s := replaced
	s.Relation = relation
	switch {
	case relation.Within(replaced.Relation):
		return s, nil
	case relation == privacy.ZeroOut:
		if !b.limits.AsPublished && zeroOut < s.Value {
			s.Value, s.Source = zeroOut, "2M·max{3L₁, 2L₁+L₂}/n, from the proof of 004 Theorem A.1 with one record's output and Jacobian 0"
		}
		return s, nil
	case relation == privacy.AddRemove:
		return privacy.Sensitivity{}, fmt.Errorf("sliced: under add-remove a record changes the number that a mean is divided by, which is private there; use replace-one or zero-out")
	}
	return privacy.Sensitivity{}, fmt.Errorf("sliced: want the relation %v or zero-out; found %v", replaced.Relation, relation)
}
