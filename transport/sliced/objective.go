package sliced

import (
	"fmt"

	"molehill/privacy"
	"molehill/privacy/clip"
)

// Objective is a mean loss with sliced Wasserstein penalties between pairs of
// samples, as 004 trains:
//
//	(1−α)·(1/n)Σ_i ℓ(x_i) + (α/R)·Σ_k SW²₂(X_k, Z_k)
//
// The autoencoder has one pair, the codes and the prior (Eq. 6); statistical
// parity one, the two groups (Eq. 8); equality of odds R, the two groups of each
// class 0 … R−1 (Eq. 9, which writes the sum from 1 to R, and Corollary C.1's
// proof K for R: R is the number of classes).
//
// Sizes of groups and classes are public, and a record is replaced by one of its
// own group and class (004, Remark C.2); with subsampling they are those of the
// batch.
type Objective struct {
	Alpha  float64 // α, in [0, 1]
	Clip   float64 // C: each ‖∇ℓ(x_i)‖ is clipped to it
	Limits Limits  // of the penalties, enforced by clipping
}

// Pair is the two sides of a penalty.
type Pair struct{ X, Z Outputs }

// Gradient returns the gradient of the objective, [r], of the per-example
// gradients ∇ℓ(x_i), [n, r], and the pairs, all clipped as the objective says.
// It is the functional whose sensitivities are below.
func (o Objective) Gradient(losses []float64, pairs []Pair, u Directions) ([]float64, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("sliced: an objective of no pairs; give at least one")
	}
	if err := o.Limits.checkFrame(u); err != nil {
		return nil, err
	}
	parameters := max(pairs[0].X.Parameters, pairs[0].Z.Parameters)
	sum, err := clip.Sum(losses, parameters, o.Clip)
	if err != nil {
		return nil, err
	}
	if len(losses) == 0 {
		return nil, fmt.Errorf("sliced: an objective of no losses; give [n, %d] numbers", parameters)
	}
	for p := range sum {
		sum[p] *= (1 - o.Alpha) * float64(parameters) / float64(len(losses))
	}
	for _, pair := range pairs {
		x, err := o.Limits.side(pair.X, o.Limits.Source)
		if err != nil {
			return nil, err
		}
		z, err := o.Limits.side(pair.Z, o.Limits.Target)
		if err != nil {
			return nil, err
		}
		penalty, err := gradient(x, z, u)
		if err != nil {
			return nil, err
		}
		if len(penalty) != parameters {
			return nil, fmt.Errorf("sliced: penalties by %d and %d parameters; give all by the same", parameters, len(penalty))
		}
		for p, v := range penalty {
			sum[p] += o.Alpha / float64(len(pairs)) * v
		}
	}
	return sum, nil
}

// Autoencoder returns the sensitivity of Gradient under replace-one of n records
// whose codes are the source of the one penalty:
//
//	(1−α)·2C/n + α·Δ, as published with Δ = 12ML/n (004, Section 6.2)
//
// where Δ is Limits.Sensitivity; the prior's sample does not depend on θ, so
// Limits.Target is 0.
func (o Objective) Autoencoder(n int) (privacy.Sensitivity, error) {
	penalty, err := o.Limits.Sensitivity(n)
	return o.sensitivity("sliced Wasserstein autoencoder", n, 1, penalty, err)
}

// StatisticalParity returns the sensitivity of Gradient under k-end, as a record is
// replaced within a group, of n₀ and n₁ records:
//
//	(1−α)·2C/n + α·Δ, as published with Δ = 16ML/min{n₀, n₁} (004, Eq. 10)
//
// where n = n₀+n₁ and Δ is Limits.BothSensitivity. The groups pass through one
// network, so L₁ = L₂ = L.
func (o Objective) StatisticalParity(n0, n1 int) (privacy.Sensitivity, error) {
	penalty, err := o.Limits.BothSensitivity(n0, n1)
	return o.sensitivity("statistical parity", n0+n1, 1, penalty, err)
}

// EqualityOfOdds returns the sensitivity of Gradient under k-end, as a record is
// replaced within a group of a class; sizes are [R][2], n_{0,k} and n_{1,k} of class k:
//
//	(1−α)·2C/n + (α/R)·max_k Δ_k, as published with Δ = 16ML/min n_{j,k} (004, Eq. 11)
func (o Objective) EqualityOfOdds(sizes [][2]int) (privacy.Sensitivity, error) {
	var n int
	var worst privacy.Sensitivity
	if len(sizes) == 0 {
		return worst, fmt.Errorf("sliced: equality of odds of no classes; give the sizes of at least one")
	}
	for _, size := range sizes {
		penalty, err := o.Limits.BothSensitivity(size[0], size[1])
		if err != nil {
			return worst, err
		}
		if n += size[0] + size[1]; penalty.Value > worst.Value {
			worst = penalty
		}
	}
	return o.sensitivity("equality of odds", n, len(sizes), worst, nil)
}

func (o Objective) sensitivity(name string, n, pairs int, penalty privacy.Sensitivity, err error) (privacy.Sensitivity, error) {
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return privacy.Sensitivity{}, err
	}
	penalty.Value = (1-o.Alpha)*2*o.Clip/float64(n) + o.Alpha/float64(pairs)*penalty.Value
	penalty.Query = fmt.Sprintf("gradient of %s, %d records", name, n)
	penalty.Source = fmt.Sprintf("(1−α)·2C/n + (α/%d)·Δ (004 Section 6.2, Corollary C.1), Δ = %s", pairs, penalty.Source)
	return penalty, nil
}

func (o Objective) check() error {
	if !(o.Alpha >= 0 && o.Alpha <= 1) {
		return fmt.Errorf("sliced: α = %v; it weighs the penalty from 0 to 1", o.Alpha)
	}
	if _, err := clip.SumSensitivity(o.Clip, privacy.ReplaceOne); err != nil {
		return fmt.Errorf("sliced: clipping of losses: %w", err)
	}
	return nil
}
