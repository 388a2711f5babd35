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
// in batches, and so are those of targets that the host has sorted.
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
			targets := array{make([]float64, k*2*n), []int{k, 2, n}}
			for i := range 2 {
				own, err := graph.Targets(part(x, i, n), part(y, i, m), u)
				if err != nil {
					t.Fatal(err)
				}
				for l := range k {
					for j := range n {
						targets.values[(l*2+i)*n+j] = float64(own[l*n+j])
					}
				}
			}
			out := evaluate(t, b, func(in []*Node) []*Node {
				var out []*Node
				for _, p := range powers {
					value := graph.SW(in[0], in[1], in[2], p)
					matched := graph.Matched(in[0], in[3], in[2], p)
					out = append(append(out, value), Gradient(ReduceAllSum(value), in[0], in[1])...)
					out = append(out, matched, Gradient(ReduceAllSum(matched), in[0])[0])
				}
				return out
			}, x, y, directions, targets)
			for i := range 2 {
				for l, p := range powers {
					want, byX, byY, err := sliced.SWGradient(transport.Uniform(part(x, i, n)), transport.Uniform(part(y, i, m)), p, u)
					if err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%d×%d, p = %v, problem %d: ", n, m, p, i)
					o := out[5*l:]
					// The host's projections are float32.
					near(t, name+"value", o[0][i:i+1], []float64{want.Power}, 1e-5)
					near(t, name+"by x", o[1][i*n*d:(i+1)*n*d], wide(byX), 1e-5)
					near(t, name+"by y", o[2][i*m*d:(i+1)*m*d], wide(byY), 1e-5)
					if n%m == 0 {
						near(t, name+"matched value", o[3][i:i+1], []float64{want.Power}, 1e-5)
					}
					if n%m == 0 || p == 2 {
						near(t, name+"matched by x", o[4][i*n*d:(i+1)*n*d], wide(byX), 1e-5)
					}
				}
			}
		}
	})
}

// Smoothing adds the noise to the projections and nothing else.
func TestSmoothedSW(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, m, d, k, sigma = 5, 4, 2, 3, 0.7
		rng := rand.New(rand.NewPCG(32, 1))
		u := sliced.Uniform(d, k, rng)
		x, y := normals(rng, 0, n, d), normals(rng, 1, m, d)
		noiseX, noiseY := normals(rng, 0, k, n), normals(rng, 0, k, m)
		out := evaluate(t, b, func(in []*Node) []*Node {
			value := graph.SmoothedSW(in[0], in[1], in[2], in[3], in[4], sigma, 2)
			return append([]*Node{value}, Gradient(value, in[0])...)
		}, x, y, array{wide(u.Data), []int{k, d}}, noiseX, noiseY)
		var want float64
		byX := make([]float64, n*d)
		for l := range k {
			at := func(p array, i int, noise array, count int) float64 {
				return dot(p.values[i*d:(i+1)*d], wide(u.Row(l))) + sigma*noise.values[l*count+i]
			}
			line := transport.Line{}
			for i := range n {
				line.X = append(line.X, at(x, i, noiseX, n))
			}
			for j := range m {
				line.Y = append(line.Y, at(y, j, noiseY, m))
			}
			coupling, err := line.Solve()
			if err != nil {
				t.Fatal(err)
			}
			power, err := coupling.Cost(2)
			if err != nil {
				t.Fatal(err)
			}
			by, _, err := coupling.Gradient(2)
			if err != nil {
				t.Fatal(err)
			}
			want += power / k
			for i := range n {
				for c := range d {
					byX[i*d+c] += by[i] * float64(u.Row(l)[c]) / k
				}
			}
		}
		near(t, "value", out[0], []float64{want}, 1e-12)
		near(t, "by x", out[1], byX, 1e-12)
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
