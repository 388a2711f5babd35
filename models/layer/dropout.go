package layer

import (
	"fmt"
	"hash/fnv"

	. "github.com/gomlx/gomlx/core/graph"
)

// Dropout puts each value of its input to zero with probability Rate while the
// network is trained and divides the others by 1 − Rate; applied, it does
// nothing (Srivastava et al. 2014, in the scaling of PyTorch).
//
// The only state is a tracked count of the masks drawn: the mask of a step
// follows from Seed, Name and count alone, so that a training that is saved and
// restored goes on with the masks it would have had. Backends have generators of
// their own and so draw other masks. The count is exact up to 2²⁴ steps, after
// which the mask stays the same.
type Dropout struct {
	Name string
	Rate float64 // in [0, 1)
	Seed uint64
}

// Params implements Layer: the count of masks drawn, [1].
func (d Dropout) Params() []Spec {
	return []Spec{{Name: d.Name + ".drawn", Shape: []int{1}, Tracked: true}}
}

// Apply implements Layer.
func (d Dropout) Apply(x *Node, _ []*Node) *Node { return x }

// Train implements Learner.
func (d Dropout) Train(x *Node, weights []*Node) (*Node, []*Node) {
	if !(d.Rate >= 0 && d.Rate < 1) {
		panic(fmt.Errorf("layer: %s drops a share %v of its input; take a number from 0 to below 1", d.Name, d.Rate))
	}
	name := fnv.New64a()
	name.Write([]byte(d.Name))
	// An odd stride keeps counts apart and makes neighbours differ in many bits.
	start := Const(x.Graph(), []uint64{d.Seed ^ name.Sum64(), 0, d.Seed})
	stride := Const(x.Graph(), []uint64{0, 0x9e3779b97f4a7c15, 0})
	count := BroadcastToShape(ConvertDType(weights[0], RNGStateShape.DType), RNGStateShape)
	state := Add(start, Mul(stride, count))
	_, uniform := RandomUniform(state, x.Shape())
	kept := ConvertDType(GreaterOrEqual(uniform, Scalar(x.Graph(), x.DType(), d.Rate)), x.DType())
	return Mul(x, MulScalar(kept, 1/(1-d.Rate))), []*Node{StopGradient(AddScalar(weights[0], 1))}
}
