package circle_test

import (
	"context"
	"fmt"
	"math"

	"molehill/pkg/experiment/circle"
	"molehill/privacy"
	"molehill/transport"
)

// Two data sets that differ in one record, and the gradient that a training would
// follow. By noisy projections it is exactly 0 for one of them and never for the other,
// whatever ε the noise is for. By a noisy gradient an attacker gains next to nothing.
func ExampleDistinguish() {
	told, err := circle.Distinguish(context.Background(), 1000, 2000, privacy.Budget{Epsilon: 1, Delta: 1e-5}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("gradients by noisy projections that are 0: %.0f %% of X, %.0f %% of its neighbour\n", 100*told.Zero[0], 100*told.Zero[1])
	fmt.Printf("advantage of an attacker: %.0f, and of any who faces ε = 1 at most %.2f\n", told.Baseline, told.Allowed)
	fmt.Println("below that with a noisy gradient:", told.Gradients < told.Allowed)
	// Output:
	// gradients by noisy projections that are 0: 100 % of X, 0 % of its neighbour
	// advantage of an attacker: 1, and of any who faces ε = 1 at most 0.46
	// below that with a noisy gradient: true
}

// 004, Appendix F: why the distance is squared. X has n numbers i/n and its neighbour
// has 0 where X has 1; both are shifted by θ and compared with the points between
// them. At θ = 0 the derivative of W₂ flips from one to the other whatever n is; that
// of W₂² moves by 2/n.
func Example_rootOfTheDistance() {
	for _, n := range []int{10, 100, 1000} {
		derivatives := func(first float64) (root, square float64) {
			line := transport.Line{X: make([]float64, n), Y: make([]float64, n)}
			for i := range n {
				line.X[i] = (first + float64(i)) / float64(n)
				line.Y[i] = (float64(i) + 0.5) / float64(n)
			}
			coupling, err := line.Solve()
			if err != nil {
				fmt.Println(err)
				return 0, 0
			}
			byX, _, _ := coupling.Gradient(2)
			cost, _ := coupling.Cost(2)
			for _, g := range byX { // all move with θ
				square += g
			}
			return square / (2 * math.Sqrt(cost)), square
		}
		root, square := derivatives(1)
		rootAfter, squareAfter := derivatives(0)
		fmt.Printf("n = %4d: W₂ from %+.0f to %+.0f, W₂² by %.3f\n", n, root, rootAfter, square-squareAfter)
	}
	// Output:
	// n =   10: W₂ from +1 to -1, W₂² by 0.200
	// n =  100: W₂ from +1 to -1, W₂² by 0.020
	// n = 1000: W₂ from +1 to -1, W₂² by 0.002
}
