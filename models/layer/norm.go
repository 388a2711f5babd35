package layer

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// BatchNorm is batch normalisation (Ioffe & Szegedy 2015) of each channel of [batch, …, Channels]:
//
//	y = γ·(x − μ)/√(σ² + 10⁻⁵) + β
//
// In training, μ and σ² are the batch's mean and (biased) variance over all axes
// but the last. Elsewhere they are the running ones, stored with the weights: a
// step of training moves those a tenth of the way to the batch's, with the
// unbiased variance, as PyTorch does.
//
// Batch statistics couple rows, so one record moves what is computed of all
// others, and the stored ones keep what they saw: train it on public or on
// generated rows only. Applied, it treats every row by itself.
type BatchNorm struct {
	Name     string
	Channels int
}

// Constants of BatchNorm, PyTorch's.
const (
	normEpsilon  = 1e-5
	normMomentum = 0.1
)

// Params implements Layer: scale γ, offset β, and the tracked mean and
// variance, each [Channels].
func (b BatchNorm) Params() []Spec {
	shape := []int{b.Channels}
	return []Spec{
		{Name: b.Name + ".scale", Shape: shape, Start: 1},
		{Name: b.Name + ".offset", Shape: shape},
		{Name: b.Name + ".mean", Shape: shape, Tracked: true},
		{Name: b.Name + ".variance", Shape: shape, Start: 1, Tracked: true},
	}
}

// Apply implements Layer, with the stored statistics.
func (b BatchNorm) Apply(x *Node, weights []*Node) *Node {
	return b.normalise(x, weights, weights[2], weights[3])
}

// Train implements Learner, with the statistics of x.
func (b BatchNorm) Train(x *Node, weights []*Node) (*Node, []*Node) {
	mean := b.mean(x)
	variance := b.mean(Square(Sub(x, ExpandLeftToRank(mean, x.Rank()))))
	n := x.Shape().Size() / b.Channels
	unbiased := MulScalar(variance, float64(n)/float64(max(n-1, 1)))
	track := func(stored, seen *Node) *Node {
		return StopGradient(Add(MulScalar(stored, 1-normMomentum), MulScalar(seen, normMomentum)))
	}
	after := []*Node{nil, nil, track(weights[2], mean), track(weights[3], unbiased)}
	return b.normalise(x, weights, mean, variance), after
}

func (b BatchNorm) normalise(x *Node, weights []*Node, mean, variance *Node) *Node {
	slope := Div(weights[0], Sqrt(AddScalar(variance, normEpsilon)))
	wide := func(perChannel *Node) *Node { return ExpandLeftToRank(perChannel, x.Rank()) }
	return Add(Mul(Sub(x, wide(mean)), wide(slope)), wide(weights[1]))
}

// mean averages each channel, by row first: the Go backend adds up one by one,
// and float32 loses digits over a whole batch of pixels.
func (b BatchNorm) mean(x *Node) *Node {
	x = Reshape(x, x.Shape().Dimensions[0], -1, b.Channels)
	return ReduceMean(ReduceMean(x, 1), 0)
}
