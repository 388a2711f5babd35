package sliced

import (
	"fmt"
	"math"

	"molehill/privacy"
)

// Limits are the constants of 004's Theorems 4.1 and A.1 that bound a sliced
// Wasserstein gradient: what its inner clipping enforces (Outputs.Clip, or ClipExact).
type Limits struct {
	Output float64 // M: ‖g_θ(x)‖ ≤ M and ‖h_θ(z)‖ ≤ M, > 0
	Source float64 // L₁: spectral norm of the Jacobian of g_θ(x), ≥ 0
	Target float64 // L₂: that of h_θ(z); 0 for targets that do not depend on θ
	// Frame is λ = σ_max(U)²/k of the k directions (Directions.Frame), in
	// [1/d, 1]; 0 stands for 1, which holds for all unit directions.
	Frame float64
	// Exact clips the singular values of Jacobians to L₁ and L₂ in place of their rows to
	// L/√d (Remark A.2). What is bounded is the same.
	Exact bool
	// AsPublished takes the constants of the paper in place of ours. They are
	// true bounds too, and larger.
	AsPublished bool
}

// Frame returns λ = σ_max(U)²/k: how much more than the least, 1/d, the
// directions agree with one another. For Orthonormal directions it is 1/d but for the last
// digits: plan with OrthonormalFrame.
func (u Directions) Frame() float64 {
	norm := u.SpectralNorm()
	return min(1, norm*norm/float64(u.Count)*slack(u.Dim))
}

// OrthonormalFrame is a λ that the Frame of Orthonormal directions does not pass: 1/d,
// and what float32 may miss of it, twice, but a part in 10⁵ at least.
func OrthonormalFrame(dim int) float64 {
	return min(1, (1+max(1e-5, 2*(slack(dim)-1)))/float64(dim))
}

// Sensitivity of Gradient under replace-one among the n source records, when
// only they are private; the Target records are public.
//
// As published it is 4M(3L₁+L₂)/n (004, Theorem A.1; Theorem 4.1 for d = 1).
// The proof bounds four terms one by one. Together they are, in one dimension
// and up to 2/n,
//
//	L₁(|u−t| + |u′−t′|) + L₁|t−t′| + L₂|u−u′|
//
// where the record has output u and target t before, u′ and t′ after: its own
// pull, the targets that the others hand on to each other (all move the same
// way, by t−t′ in total), and the pull on the other side. All four lie in
// [−M, M], and u ≥ u′ exactly when t ≥ t′. A convex function is largest at a
// corner, and over the corners that is 2M·max{2L₁, L₁+L₂}. So the sensitivity is
//
//	4M·max{2L₁, L₁+L₂}/n
//
// and that is attained, with u = u′ = M, t = t′ = −M and opposite Jacobians, or
// with u = t = M, u′ = t′ = −M and parallel ones. A mean over directions keeps
// it.
//
// Several directions cannot all be parallel to one error. Over k directions
// ‖(1/k)Σ θ_l·a_l‖ ≤ √λ·(mean of a²)^½ and ‖(1/k)Σ θ_l·⟨θ_l, v⟩‖ ≤ λ‖v‖, so of
// the terms above only |t−t′| counts in full. With p and q the unit vectors that
// the two pulls of the record are measured along, p+q = 2a·p̂ and p−q = 2b·q̂,
// a²+b² = 1, and c = ‖u−u′‖/2M, the sum is at most
//
//	2M·(L₁(1 + √λ·b + λ·a·√(1−c²)) + L₂·√λ·c)
//
// whose maximum over a, b and c is taken below. At λ = 1/8 and L₁ = L₂ it is
// 1.71·L against the published 4·L.
func (l Limits) Sensitivity(n int) (privacy.Sensitivity, error) {
	return l.sensitivity(fmt.Sprintf("sliced Wasserstein gradient, %d private records", n), l.constant(l.Source, l.Target), n)
}

// BothSensitivity is that of Gradient when the n source and m target records are
// private, under k-end, as one of either is replaced (004's 2-end relation): the larger of
// what a record of either moves. As published it is
// 4M·max{(3L₁+L₂)/n, (L₁+3L₂)/m} (Theorem A.1, Eq. 3).
func (l Limits) BothSensitivity(n, m int) (privacy.Sensitivity, error) {
	if n < 1 || m < 1 {
		return privacy.Sensitivity{}, sizeError(min(n, m))
	}
	constant, count := l.constant(l.Source, l.Target), n
	if other := l.constant(l.Target, l.Source); other/float64(m) > constant/float64(n) {
		constant, count = other, m
	}
	s, err := l.sensitivity(fmt.Sprintf("sliced Wasserstein gradient, %d and %d private records", n, m), constant, count)
	s.Relation = privacy.KEnd
	return s, err
}

// constant returns Δ·n/4M for a record on the side with Jacobians up to own.
func (l Limits) constant(own, other float64) float64 {
	if l.AsPublished { // which at own = 0 leaves no room for normSlack
		return max(3*own+other, normSlack*max(2*own, own+other))
	}
	frame := l.Frame
	if frame == 0 {
		frame = 1
	}
	spread := own + math.Sqrt(frame)*(own+other) // c = 1
	if other <= frame*own {
		spread = own + math.Sqrt((1+frame)*(frame*own*own+other*other))
	}
	return normSlack * min(spread, max(2*own, own+other))
}

func (l Limits) sensitivity(query string, constant float64, n int) (privacy.Sensitivity, error) {
	switch {
	case !(l.Output > 0 && l.Source >= 0 && l.Target >= 0 && l.Source+l.Target > 0) || math.IsInf(l.Output+l.Source+l.Target, 0):
		return privacy.Sensitivity{}, fmt.Errorf("sliced: limits M = %v, L₁ = %v, L₂ = %v; want M above 0, L₁ and L₂ at least 0, not both 0, all finite", l.Output, l.Source, l.Target)
	case !(l.Frame >= 0 && l.Frame <= 1):
		return privacy.Sensitivity{}, fmt.Errorf("sliced: λ = σ_max²/k = %v; it lies between 1/d and 1 (Directions.Frame)", l.Frame)
	case n < 1:
		return privacy.Sensitivity{}, sizeError(n)
	}
	s := privacy.Sensitivity{
		Value:    4 * l.Output * constant / float64(n),
		Relation: privacy.ReplaceOne,
		Query:    query,
		Source:   "4M(3L₁+L₂)/n, 004 Theorem A.1",
	}
	if !l.AsPublished {
		s.Source = "4M·max{2L₁, L₁+L₂}/n, or less by how the directions spread, which sharpens 004 Theorem A.1"
	}
	return s, nil
}

// normSlack is what directions that are unit vectors up to unitError, and
// rounding, add to a bound for unit vectors. A pull on direction θ is along θ and
// in proportion to outputs along θ: each term grows by ‖θ‖² at most.
const normSlack = 1 + unitError + 0x1p-22

func sizeError(n int) error {
	return fmt.Errorf("sliced: a side of %d records; the (public) sizes must be at least 1", n)
}
