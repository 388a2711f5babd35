package semidebiased

import (
	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
)

// Solver computes the gradient of a Loss: a Program, or Exact. By itself it takes generated
// and real rows from the host; behind a generator (train.Head) it meets generated rows where
// they are made, beside what Feed puts there.
type Solver interface {
	Gradient(x, real Batch) (Pull, error)
	Feed(on *backend.Backend, labels []int, real Batch) (Fed, error)
	Head(x *graph.Node, more []*graph.Node) []*graph.Node
	// Unpack takes Head's first result, but for the last number, and waits for the second.
	Unpack(packed []float32, rest func() ([]float32, error), in Fed) (Pull, error)
	Close()
}
