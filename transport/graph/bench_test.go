package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/transport/graph"
)

// uniform points in a cube, [dims...], in single precision.
func cube(rng *rand.Rand, dims ...int) *tensors.Tensor {
	size := 1
	for _, d := range dims {
		size *= d
	}
	values := make([]float32, size)
	for i := range values {
		values[i] = rng.Float32()
	}
	return tensors.FromFlatDataAndDimensions(values, dims...)
}

// BenchmarkSinkhorn is OT_ε with its gradient by x, at ε of a hundredth of the
// mean squared distance and a marginal error of 5e-4 or so; testdata/peers.py
// has OTT-JAX do the same.
func BenchmarkSinkhorn(b *testing.B) {
	for _, c := range backend.Found() {
		for _, dims := range [][]int{{64, 50, 794}, {1, 2000, 64}} {
			for _, cost := range []struct {
				name string
				cost graph.Cost
			}{{"squares", graph.SquaredL2}, {"mixture", graph.Mixture(1, 1)}} {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", c.Kind, dims[0], dims[1], dims[2], cost.name), func(b *testing.B) {
					on, err := c.Open()
					if err != nil {
						b.Fatal(err)
					}
					s := graph.Sinkhorn{Epsilon: float64(dims[2]) / 6 / 100, Cost: cost.cost, Iterations: 2000, Tolerance: 6e-4}
					exec := MustNewExec(on.Engine, func(x, y *Node) []*Node {
						r := s.Solve(graph.Uniform(x), graph.Uniform(y))
						return []*Node{Gradient(ReduceAllSum(r.Value), x)[0], r.Iterations, ReduceAllMax(r.MarginalError)}
					})
					defer exec.Finalize()
					rng := rand.New(rand.NewPCG(1, 1))
					x, y := cube(rng, dims...), cube(rng, dims...)
					step := func() []*tensors.Tensor {
						out := exec.MustCall(x, y)
						tensors.ToScalar[float32](out[2]) // waits; the gradient stays on the device, as JAX's does
						return out
					}
					out := step() // compiles
					for b.Loop() {
						step()
					}
					b.ReportMetric(float64(tensors.ToScalar[int32](out[1])), "iterations")
					b.ReportMetric(float64(tensors.ToScalar[float32](out[2])), "marginal-error")
				})
			}
		}
	}
}

// BenchmarkSW is SW₂² with its gradient by x over 200 directions.
func BenchmarkSW(b *testing.B) {
	for _, c := range backend.Found() {
		n := 10_000
		if c.Kind == "go" {
			n = 500 // its sort would take minutes
		}
		for _, m := range []int{n, n * 4 / 5} {
			b.Run(fmt.Sprintf("%s/%dx%d", c.Kind, n, m), func(b *testing.B) {
				on, err := c.Open()
				if err != nil {
					b.Fatal(err)
				}
				exec := MustNewExec(on.Engine, func(x, y, u *Node) *Node {
					return Gradient(graph.SW(x, y, u, 2), x)[0]
				})
				defer exec.Finalize()
				rng := rand.New(rand.NewPCG(1, 1))
				x, y, u := cube(rng, n, 8), cube(rng, m, 8), cube(rng, 200, 8)
				for b.Loop() {
					out := exec.MustCall(x, y, u)
					tensors.MustCopyFlatData[float32](out[0])
				}
			})
		}
	}
}
