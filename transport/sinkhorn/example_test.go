package sinkhorn_test

import (
	"fmt"
	"math"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

var (
	left  = transport.Uniform(transport.Points{Dim: 1, Data: []float32{0, 1, 2}})
	right = transport.Uniform(transport.Points{Dim: 1, Data: []float32{2, 3, 4}})
)

func ExampleSolver_Solve() {
	r, err := sinkhorn.Solver{Epsilon: 0.1}.Solve(sinkhorn.Problem{X: left, Y: right, Cost: sinkhorn.SquaredL2})
	if err != nil {
		fmt.Println(err)
		return
	}
	if !r.Converged {
		fmt.Println("allow more iterations: the marginals are off by", r.MarginalError)
	}
	byX, _, err := r.Gradient()
	fmt.Printf("OT_ε = %.2f, without the entropy %.2f\n", r.Dual, r.Transport)
	fmt.Printf("its gradient by the points: %.2f %v\n", byX, err)
	// Output:
	// OT_ε = 4.11, without the entropy 4.00
	// its gradient by the points: [-1.33 -1.33 -1.33] <nil>
}

// A cost of one's own: the shorter way around a circle of length 5.
func ExampleFunc() {
	around := sinkhorn.Func{Value: func(x, y []float32) float64 {
		d := math.Abs(float64(x[0] - y[0]))
		return min(d, 5-d)
	}}
	r, err := sinkhorn.Solver{Epsilon: 0.01}.Solve(sinkhorn.Problem{X: left, Y: right, Cost: around})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", r.Transport)
	// Output: 1.00
}
