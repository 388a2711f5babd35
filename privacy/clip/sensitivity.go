package clip

import (
	"fmt"
	"math"

	"molehill/privacy"
)

// SumSensitivity is that of Σ_i clip_C(v_i), where v_i is computed from record i
// alone: C when a record is added, removed or zeroed out, since ‖clip_C(v)‖ ≤ C,
// and 2C when it is replaced, since ‖clip_C(v) − clip_C(v′)‖ ≤ 2C with equality
// for opposite vectors. It holds for Sum, and for the sums of models/ghost with weights of
// Factor by norms that count their rounding.
func SumSensitivity(bound float64, relation privacy.Relation) (privacy.Sensitivity, error) {
	apart := bound
	if relation.Replaces() {
		apart = 2 * bound
	}
	s, err := sensitivity(bound, apart, relation, "sum of per-example vectors, each clipped",
		"triangle inequality: C for a record more or less (Abadi et al. 2016), 2C for one replaced")
	s.PerRecord = err == nil
	return s, err
}

// JointSensitivity is that of one whole gradient clipped to norm C by Joint,
// however the records are coupled in it. Any two vectors of norm at most C are
// at most 2C apart, and a single record can turn a coupled gradient round: 2C
// under every relation. It is what the public code of DP-Sinkhorn (001) does;
// the shape of the gradient must not depend on the records.
func JointSensitivity(bound float64, relation privacy.Relation) (privacy.Sensitivity, error) {
	return sensitivity(bound, 2*bound, relation, "whole gradient, clipped jointly", "any two vectors of norm at most C, since every record may move every entry")
}

// PerImageSensitivity is that of a coupled gradient of which each of images rows
// is clipped to norm C by itself, as the text of DP-Sinkhorn does (001,
// Algorithm 1): 2C·√images under every relation. The plan couples all records,
// so one of them can turn every row round. The 2C of 001, Section 4.3 is the
// sensitivity of a single row; its Theorem 4.1 composes over the n rows to
// (α, 2αn/σ²)-RDP for noise Cσ, which is this value: noise that is planned for
// 2C is too small by √images.
func PerImageSensitivity(bound float64, images int, relation privacy.Relation) (privacy.Sensitivity, error) {
	if images < 1 {
		return privacy.Sensitivity{}, fmt.Errorf("clip: a gradient of %d images; it must have at least one, and a public number of them", images)
	}
	return sensitivity(bound, 2*bound*math.Sqrt(float64(images)), relation, fmt.Sprintf("gradient of %d images, each clipped by itself", images),
		"2C in each row at once, since every record may move every row (the n-fold composition of 001, Theorem 4.1)")
}

func sensitivity(bound, value float64, relation privacy.Relation, query, source string) (privacy.Sensitivity, error) {
	if err := checkBound(bound); err != nil {
		return privacy.Sensitivity{}, err
	}
	if _, err := relation.MarshalText(); err != nil {
		return privacy.Sensitivity{}, fmt.Errorf("clip: %w", err)
	}
	return privacy.Sensitivity{Value: value, Relation: relation, Query: query, Source: source}, nil
}
