// Package matching trains networks whose loss asks that distributions of their
// outputs match, with a gradient that bounds what any one record does to it (004).
//
// With φ a network, or the first part of one, and g = ψ∘φ the whole, the loss of a
// batch of n records is
//
//	(1−α)·(1/n)·Σ_i ℓ(g(x_i), y_i) + (α/R)·Σ_k SW²₂(φ#A_k, φ#B_k)
//
// over R pairs of samples A_k and B_k: two groups of records that should be treated
// alike (004 Eqs. 8 and 9), or records and points that they should look like, such as
// a prior's (Eq. 6). The second term couples records, so the gradient is clipped
// inside (Eq. 5): outputs of φ to norm M, its Jacobian of each record to L, and the
// loss's gradient of each record to C. Sensitivity says what that bounds.
//
// No Jacobian is written down that is larger than its factors. A backward pass an output
// finds the factors of its rows at each layer (models/ghost); norms come from these, and
// so does the sum of what clipping leaves, in double precision. So nothing that float32
// loses on the way to them comes between what was clipped and what is added up.
package matching

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
	"molehill/privacy"
	"molehill/privacy/clip"
	"molehill/transport/sliced"
)

// Model is what is trained. Each of its layers must treat every record by itself.
type Model struct {
	Input []int          // shape of a record, such as [28, 28, 1] or [16]
	Inner layer.Sequence // φ_θ: [n, Input…] to [n, Outputs]
	// Outputs is d.
	Outputs int
	Outer   layer.Sequence // ψ_θ, on φ's outputs; empty where the loss is of φ itself
	Target  []int          // shape of what belongs to a record beside its input; nil if there is nothing
	// Loss builds ℓ, [n], of what g makes of n records, each from its own row alone,
	// and of their targets, [n, Target…] (nil without). It may be nil if α is 1.
	Loss func(output, target *graph.Node) *graph.Node
}

// Clipping is what one record can do: the constants of 004 (Eq. 5, Corollary C.1).
type Clipping struct {
	Output   float64 // M: of φ's outputs, > 0
	Jacobian float64 // L: of φ's Jacobian by the parameters, in spectral norm, > 0
	Loss     float64 // C: of the gradient of ℓ by all parameters, > 0
	// Exact clips singular values to L. Without it each of the d rows is clipped to
	// L/√d, as the paper does (Remark A.2): it bounds the same, and clips more.
	Exact bool
}

// Pair are two samples that should be distributed alike.
type Pair struct {
	A []int // rows of the batch
	B []int // rows of the batch, none of them in A; nil with Points
	// Points are in place of what φ makes of B, [m, d]. Those beyond M are clipped.
	Points []float32
	Public bool // that Points tell nothing of any record; each of them is one to protect if not
}

// Batch is what one gradient is of. A record may be in one pair only, on one side.
type Batch struct {
	X          []float32 // [n, Input…]
	Target     []float32 // [n, Target…]
	Pairs      []Pair
	Alpha      float64           // α in [0, 1]
	Directions sliced.Directions // of R^d
}

// Gradient is that of a batch's loss by all parameters, clipped. Everything beside
// Values is of the records as they are: for whoever may see them.
type Gradient struct {
	Values []float64 // [parameters]
	// Sensitivity is that of Values, for the sizes and directions that the batch has: what
	// a privacy.Releaser compares with its plan.
	Sensitivity privacy.Sensitivity

	Loss     float64 // mean of ℓ over all records; those with a number that is not finite count as 0
	Distance float64 // mean over pairs of SW²₂ of clipped outputs
	// Clipped are the shares of records whose output, Jacobian or loss was clipped.
	ClippedOutput, ClippedJacobian, ClippedLoss float64
}

func (c Clipping) check() error {
	for _, limit := range []struct {
		name  string
		value float64
	}{{"M, of outputs,", c.Output}, {"L, of Jacobians,", c.Jacobian}, {"C, of the loss,", c.Loss}} {
		if !(limit.value >= clip.Smallest && limit.value <= clip.Largest) {
			return fmt.Errorf("matching: the limit %s is %v; it must be finite and above 0, from %.2g to %.2g", limit.name, limit.value, clip.Smallest, clip.Largest)
		}
	}
	return nil
}
