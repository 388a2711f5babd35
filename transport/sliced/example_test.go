package sliced_test

import (
	"fmt"
	"math/rand/v2"

	"molehill/transport"
	"molehill/transport/sliced"
)

// A step against the gradient of SW₂², times n·d/2, of a cloud and its translate:
// every point goes all the way, since each of d slices sees its part of it.
func ExampleSWGradient() {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := transport.NewPoints(100, 3), transport.NewPoints(100, 3)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
		y.Data[i] = x.Data[i] + 2
	}
	d, byX, _, err := sliced.SWGradient(transport.Uniform(x), transport.Uniform(y), 2, sliced.Orthonormal(3, 50, rng))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range x.Data {
		x.Data[i] -= 100 * 3. / 2 * byX[i]
	}
	fmt.Printf("SW₂ = %.3f\n", d.Value)
	fmt.Printf("from %.3f to %.3f\n", x.Data[0], y.Data[0])
	// Output:
	// SW₂ = 2.000
	// from 2.906 to 2.906
}
