package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
	"molehill/transport/graph"
	"molehill/transport/sliced"
)

// Values and gradients are the host's for equal and unequal sizes and any power,
// in batches.
func TestSWIsTheHosts(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, d, k = 6, 3, 5
		rng := rand.New(rand.NewPCG(31, 1))
		u := sliced.Uniform(d, k, rng)
		directions := array{wide(u.Data), []int{k, d}}
		powers := []float64{1, 2, 3.5}
		for _, m := range []int{6, 4, 3} {
			x, y := normals(rng, 0, 2, n, d), normals(rng, 1, 2, m, d)
			part := func(a array, i, size int) transport.Points {
				return array{a.values[i*size*d : (i+1)*size*d], []int{size, d}}.points()
			}
			out := evaluate(t, b, func(in []*Node) []*Node {
				var out []*Node
				for _, p := range powers {
					value := graph.SW(in[0], in[1], in[2], p)
					out = append(append(out, value), Gradient(ReduceAllSum(value), in[0], in[1])...)
				}
				return out
			}, x, y, directions)
			for i := range 2 {
				for l, p := range powers {
					want, byX, byY, err := sliced.SWGradient(transport.Uniform(part(x, i, n)), transport.Uniform(part(y, i, m)), p, u)
					if err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%d×%d, p = %v, problem %d: ", n, m, p, i)
					o := out[3*l:]
					// The host's projections are float32.
					near(t, name+"value", o[0][i:i+1], []float64{want.Power}, 1e-5)
					near(t, name+"by x", o[1][i*n*d:(i+1)*n*d], wide(byX), 1e-5)
					near(t, name+"by y", o[2][i*m*d:(i+1)*m*d], wide(byY), 1e-5)
				}
			}
		}
	})
}

// NaN is seen, and sorting does not move it away.
func TestSWOfNaN(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(33, 1))
		x, y := normals(rng, 0, 6, 2), normals(rng, 0, 4, 2)
		x.values[5] = math.NaN()
		out := evaluate(t, b, func(in []*Node) []*Node { return []*Node{graph.SW(in[0], in[1], in[2], 2)} }, x, y, normals(rng, 0, 3, 2))
		if !math.IsNaN(out[0][0]) {
			t.Errorf("SW of points with a NaN is %v", out[0][0])
		}
	})
}
