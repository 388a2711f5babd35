// Package layer holds the building blocks of Molehill's networks as values: a
// layer states which parameters it needs and builds its graph from nodes that
// hold them. Parameters themselves are plain float32 arrays on the host, drawn
// from an explicit seed, so that a network's weights are the same on every
// backend, whichever one trains or runs it.
//
// Activations are NHWC: [batch, height, width, channels].
//
// A layer's graph is built with GoMLX and so panics on shapes that do not fit;
// whoever runs the graph (graph.Exec) turns that into an error.
package layer

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
)

// Layer maps a batch of activations to the next.
type Layer interface {
	// Params lists the parameters that the layer needs, in Apply's order.
	Params() []Spec
	// Apply builds the layer's graph on x; weights hold its parameters.
	Apply(x *Node, weights []*Node) *Node
}

// Learner is a layer that behaves differently while it is trained.
type Learner interface {
	Layer
	// Train builds the graph of a training step on x. It returns, beside the
	// result, the value after the step of each Tracked parameter, and nil for
	// the others, in Apply's order.
	Train(x *Node, weights []*Node) (y *Node, after []*Node)
}

// Train builds l's graph for a training step on x; see Learner. A layer that is
// none is applied.
func Train(l Layer, x *Node, weights []*Node) (y *Node, after []*Node) {
	if learner, ok := l.(Learner); ok {
		return learner.Train(x, weights)
	}
	return l.Apply(x, weights), make([]*Node, len(weights))
}

// Spec describes a parameter.
type Spec struct {
	Name    string // unique within the network, e.g. "encoder.conv1.weight"
	Shape   []int
	FanIn   int     // number of inputs that each output sums; 0 for a parameter that starts at Start
	Start   float32 // first value, where FanIn is 0
	Tracked bool    // a statistic that a Learner's Train replaces and no optimiser moves
}

// Size is the number of values in the parameter.
func (s Spec) Size() int {
	size := 1
	for _, dim := range s.Shape {
		size *= dim
	}
	return size
}

// Size is the number of values in all parameters of l.
func Size(l Layer) (size int) {
	for _, spec := range l.Params() {
		size += spec.Size()
	}
	return size
}

// Param is a parameter with its value, row-major.
type Param struct {
	Spec
	Value []float32
}

// Params is the parameters of a network, in the order of its layers.
type Params []Param

// Init draws the parameters of l uniformly from ±1/√FanIn, PyTorch's default
// for convolutions and linear layers (He et al. 2015 with a = √5), but for
// those that have a Start. The same seed gives the same values on every machine
// and backend.
func Init(l Layer, seed uint64) Params {
	rng := rand.New(rand.NewPCG(seed, 0x6d6f6c6568696c6c)) // "molehill": a stream of its own
	params := Params{}
	for _, spec := range l.Params() {
		value := make([]float32, spec.Size())
		for i := range value {
			if value[i] = spec.Start; spec.FanIn > 0 {
				value[i] = float32(1 / math.Sqrt(float64(spec.FanIn)) * (2*rng.Float64() - 1))
			}
		}
		params = append(params, Param{spec, value})
	}
	return params
}

// Sequence applies its layers one after the other.
type Sequence []Layer

// Params implements Layer.
func (s Sequence) Params() []Spec {
	var specs []Spec
	for _, l := range s {
		specs = append(specs, l.Params()...)
	}
	return specs
}

// Apply implements Layer.
func (s Sequence) Apply(x *Node, weights []*Node) *Node {
	s.expect(weights)
	for _, l := range s {
		n := len(l.Params())
		x, weights = l.Apply(x, weights[:n]), weights[n:]
	}
	return x
}

// Train implements Learner.
func (s Sequence) Train(x *Node, weights []*Node) (*Node, []*Node) {
	s.expect(weights)
	var after []*Node
	for _, l := range s {
		n := len(l.Params())
		y, moved := Train(l, x, weights[:n])
		x, weights, after = y, weights[n:], append(after, moved...)
	}
	return x, after
}

func (s Sequence) expect(weights []*Node) {
	if need := len(s.Params()); len(weights) != need {
		panic(fmt.Errorf("layer: expected %d parameters for a sequence, found %d; give one for each of its Params", need, len(weights)))
	}
}

// Func is a layer without parameters.
type Func func(x *Node) *Node

// Params implements Layer: there are none.
func (Func) Params() []Spec { return nil }

// Apply implements Layer.
func (f Func) Apply(x *Node, _ []*Node) *Node { return f(x) }
