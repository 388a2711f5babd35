package semidebiased_test

import (
	"fmt"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/transport"
)

// A generated row is pulled towards a real one of its class, through a loss that takes
// classes for further apart than any rows are.
func ExampleLoss() {
	on, err := backend.Open() // XLA, or plain Go
	if err != nil {
		fmt.Println(err)
		return
	}
	loss := semidebiased.Loss{LabelScale: 10, Classes: 2, Entropy: 0.1, Iterations: 200}
	program, err := loss.Compile(on, 2, 2, 1) // two generated rows, room for two real ones, on the line
	if err != nil {
		fmt.Println(err)
		return
	}
	defer program.Close()
	generated := semidebiased.Batch{Points: transport.Points{Dim: 1, Data: []float32{0, 1}}, Labels: []int{0, 1}}
	real := semidebiased.Batch{Points: transport.Points{Dim: 1, Data: []float32{3, -1}}, Labels: []int{1, 0}}
	pull, err := program.Gradient(generated, real)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Squares of 1 and 4, a half of each, twice; and λ·ln 2 for a plan that is a pairing.
	fmt.Printf("loss %.2f, gradient %.2f\n", pull.Loss, pull.ByX)
	// Output:
	// loss 5.07, gradient [2.00 -4.00]
}
