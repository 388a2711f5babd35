package graph_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
	"molehill/transport/graph"
	"molehill/transport/sinkhorn"
)

// What the host solves at the limits, a graph does in single precision: a point
// too far out to keep any mass, on either side; a reach so long that the constant
// between the potentials would take forever; an ε beside which costs vanish; and
// masses far from 1.
func TestSolutionsAtTheLimits(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		ask(t, b)
		rng := rand.New(rand.NewPCG(51, 1))
		x, y := normals(rng, 0, 6, 2).points(), normals(rng, 0.5, 5, 2).points()
		far, farther := x.Clone(), y.Clone()
		far.Data[0], farther.Data[0] = 100, 100
		weighed := func(p transport.Points, weight float64) transport.Measure {
			m := transport.Measure{Points: p, Weights: make([]float64, p.Len())}
			for i := range m.Weights {
				m.Weights[i] = weight * float64(1+i%3)
			}
			return m
		}
		// Of one shape, so that problems of a kind share a program.
		single := graph.Executor{Engine: b.Engine, Gradients: true}
		double := graph.Executor{Engine: b.Engine, Gradients: true, Double: true}
		defer single.Close()
		defer double.Close()
		for name, c := range map[string]struct {
			x, y   transport.Measure
			solver sinkhorn.Solver
		}{
			"outlier in x":  {transport.Uniform(far), transport.Uniform(y), sinkhorn.Solver{Epsilon: 0.1, Reach: 1}},
			"outlier in y":  {transport.Uniform(x), transport.Uniform(farther), sinkhorn.Solver{Epsilon: 0.1, Reach: 1}},
			"outlier, self": {transport.Uniform(far), transport.Uniform(far), sinkhorn.Solver{Epsilon: 0.1, Reach: 1}},
			"long reach":    {transport.Uniform(x), transport.Uniform(y), sinkhorn.Solver{Epsilon: 0.1, Reach: 1000, MaxIterations: 500}},
			"large ε":       {transport.Uniform(x), transport.Uniform(y), sinkhorn.Solver{Epsilon: 1e6}},
			"small masses":  {weighed(x, 1e-6), weighed(y, 1e-6), sinkhorn.Solver{Epsilon: 0.5, Reach: 1}},
			"large masses":  {weighed(x, 1e4), weighed(y, 1e4), sinkhorn.Solver{Epsilon: 0.5, Reach: 1, MaxIterations: 2000}},
		} {
			for _, e := range []*graph.Executor{&single, &double} {
				p := sinkhorn.Problem{X: c.x, Y: c.y, Cost: sinkhorn.Mixture{Squared: 1, Absolute: 0.5}}
				got, err := e.Solve(p, c.solver)
				if err != nil {
					t.Errorf("%s, double %v: %v", name, e.Double, err)
					continue
				}
				exact := c.solver
				exact.Tolerance, exact.MaxIterations = 1e-10, 0
				want, err := exact.Solve(p)
				if err != nil || !want.Converged {
					t.Fatalf("%s: host: %+v, %v", name, want, err)
				}
				byX, _, err := want.Gradient()
				if err != nil {
					t.Fatal(err)
				}
				if !got.Converged {
					t.Errorf("%s, double %v: marginal error %v after %d iterations", name, e.Double, got.MarginalError, got.Iterations)
				}
				near(t, name+": value", []float64{got.Dual}, []float64{want.Dual}, 1e-4)
				near(t, name+": by x", got.ByX, byX, 2e-3)
			}
		}
	})
}

// 64 problems of 50×50 in 794 dimensions in one graph, with gradients: what a
// training step of labelled images does. Some are compared with the host.
func TestBatchOfImagesIsTheHosts(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		if b.Name == backend.Go && os.Getenv("MOLEHILL_THOROUGH") == "" {
			t.Skip("MOLEHILL_THOROUGH is not set")
		}
		const problems, n, dim = 64, 50, 794
		rng := rand.New(rand.NewPCG(52, 1))
		all := make([]sinkhorn.Problem, problems)
		for i := range all {
			x, y := transport.NewPoints(n, dim), transport.NewPoints(n, dim)
			for k := range x.Data {
				x.Data[k], y.Data[k] = rng.Float32(), rng.Float32()+float32(i)/problems // the later, the farther apart
			}
			all[i] = sinkhorn.Problem{X: transport.Uniform(x), Y: transport.Uniform(y), Cost: sinkhorn.SquaredL2}
		}
		s := sinkhorn.Solver{Epsilon: dim / 6. / 50, Tolerance: 1e-3}
		e := graph.Executor{Engine: b.Engine, Gradients: true}
		defer e.Close()
		got, err := e.SolveAll(all, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 1, 31, 63} {
			exact := s
			exact.Tolerance = 1e-6
			want, err := exact.Solve(all[i])
			if err != nil {
				t.Fatal(err)
			}
			byX, byY, err := want.Gradient()
			if err != nil {
				t.Fatal(err)
			}
			if !got[i].Converged {
				t.Errorf("problem %d: marginal error %v after %d iterations", i, got[i].MarginalError, got[i].Iterations)
			}
			near(t, "value", []float64{got[i].Dual}, []float64{want.Dual}, 1e-4*want.Dual)
			for _, side := range [][2][]float64{{got[i].ByX, byX}, {got[i].ByY, byY}} {
				var off, whole float64
				for k, v := range side[1] {
					off += (side[0][k] - v) * (side[0][k] - v)
					whole += v * v
				}
				if !(off <= 1e-6*whole) {
					t.Errorf("problem %d: a gradient is off by %v of itself", i, math.Sqrt(off/whole))
				}
			}
		}
	})
}
