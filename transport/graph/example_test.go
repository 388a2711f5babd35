package graph_test

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/transport/graph"
)

// Points that follow the gradient of a Sinkhorn divergence, all on the backend.
// Inside a training step of GoMLX the loss goes to an optimizer in the same way.
func ExampleSinkhorn() {
	on, err := backend.Open() // XLA, or plain Go
	if err != nil {
		fmt.Println(err)
		return
	}
	s := graph.Sinkhorn{Epsilon: 0.1, Iterations: 200}
	step, err := NewExec(on.Engine, func(x, y *Node) []*Node {
		loss := s.Biased(graph.Uniform(x), graph.Uniform(y))
		return []*Node{Sub(x, Gradient(loss.Value, x)[0]), loss.Value, loss.MarginalError}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer step.Finalize()
	x := tensors.FromValue([][]float32{{0, 0}, {0, 1}, {1, 0}})
	y := tensors.FromValue([][]float32{{4, 4}, {4, 6}, {6, 4}})
	for k := range 21 {
		out, err := step.Call(x, y)
		if err != nil {
			fmt.Println(err)
			return
		}
		x = out[0]
		if k%10 == 0 {
			fmt.Printf("step %2d: loss %.2f\n", k, max(0, out[1].Value().(float32))) // rounding may leave -0.00
		}
	}
	// Output:
	// step  0: loss 76.00
	// step 10: loss 0.00
	// step 20: loss 0.00
}
