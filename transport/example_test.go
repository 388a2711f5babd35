package transport_test

import (
	"fmt"

	"molehill/transport"
)

// Three heaps of sand fill two pits.
func ExampleLine() {
	coupling, err := transport.Line{
		X: []float64{0, 1, 4}, A: []float64{1, 2, 2}, // only the ratios of weights matter
		Y: []float64{0.5, 3}, // equal weights
	}.Solve()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pair := range coupling.Plan() {
		fmt.Printf("%.1f from heap %d to pit %d\n", pair.Mass, pair.I, pair.J)
	}
	w1, _ := coupling.Distance(1)
	fmt.Printf("W₁ = %.2f\n", w1)
	// Output:
	// 0.2 from heap 0 to pit 0
	// 0.3 from heap 1 to pit 0
	// 0.1 from heap 1 to pit 1
	// 0.4 from heap 2 to pit 1
	// W₁ = 0.85
}
