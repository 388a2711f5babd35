package graph_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport/graph"
	"molehill/transport/sinkhorn"
)

var costs = []struct {
	name  string
	graph graph.Cost
	host  sinkhorn.Cost
}{
	{"SquaredL2", graph.SquaredL2, sinkhorn.SquaredL2},
	{"L1", graph.L1, sinkhorn.L1},
	{"L2", graph.L2, sinkhorn.L2},
	{"Mixture", graph.Mixture(1, 3), sinkhorn.Mixture{Squared: 1, Absolute: 3}},
	{"Mixture of squares", graph.Mixture(2, 0), sinkhorn.Mixture{Squared: 2}},
}

// Costs and their derivatives are the host's, at points that coincide too, where
// the derivatives are 0.
func TestCostsAreTheHosts(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, m, d = 4, 3, 5
		rng := rand.New(rand.NewPCG(1, 1))
		x, y, w := normals(rng, 0, n, d), normals(rng, 1, m, d), normals(rng, 0, n, m)
		copy(y.values[d:2*d], x.values[2*d:3*d]) // y_1 = x_2
		out := evaluate(t, b, func(in []*Node) []*Node {
			var out []*Node
			for _, c := range costs {
				value := c.graph(in[0], in[1])
				out = append(out, value)
				out = append(out, Gradient(ReduceAllSum(Mul(value, in[2])), in[0], in[1])...)
			}
			return out
		}, x, y, w)
		px, py := x.points(), y.points()
		for k, c := range costs {
			var value []float64
			byX, byY := make([]float64, n*d), make([]float64, m*d)
			for i := range n {
				for j := range m {
					value = append(value, c.host.At(px.Row(i), py.Row(j)))
					c.host.ByX(byX[i*d:(i+1)*d], px.Row(i), py.Row(j), w.values[i*m+j])
					c.host.ByY(byY[j*d:(j+1)*d], px.Row(i), py.Row(j), w.values[i*m+j])
				}
			}
			near(t, c.name, out[3*k], value, 1e-13)
			near(t, c.name+" by x", out[3*k+1], byX, 1e-13)
			near(t, c.name+" by y", out[3*k+2], byY, 1e-13)
		}
	})
}

// The Go backend gets differences in slices; their edges must not show.
func TestSlicesOfDifferencesAddUp(t *testing.T) {
	const n, d = 180, 70 // 32,400 pairs: slices of 32 coordinates
	b := goBackend(t)
	rng := rand.New(rand.NewPCG(2, 1))
	x, y := normals(rng, 0, n, d), normals(rng, 1, n, d)
	out := evaluate(t, b, func(in []*Node) []*Node {
		sliced, product := graph.Mixture(1, 0)(in[0], in[1]), graph.SquaredL2(in[0], in[1])
		return []*Node{
			sliced, product,
			Gradient(ReduceAllSum(Square(sliced)), in[0])[0], Gradient(ReduceAllSum(Square(product)), in[0])[0],
			Gradient(ReduceAllSum(Square(sliced)), in[1])[0], Gradient(ReduceAllSum(Square(product)), in[1])[0],
		}
	}, x, y)
	for i, what := range []string{"value", "by x", "by y"} {
		near(t, what, out[2*i], out[2*i+1], 1e-12)
	}
}

func goBackend(t *testing.T) *backend.Backend {
	t.Helper()
	found := backend.Found()
	b, err := found[len(found)-1].Open()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// In single precision SquaredL2 of a point and itself is 0, and near its mean no
// worse than differences.
func TestSquaredL2InSinglePrecision(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n, d, far = 40, 30, 1000.
		rng := rand.New(rand.NewPCG(3, 1))
		out := evaluate(t, b, func(in []*Node) []*Node {
			x := ConvertDType(in[0], float32Type)
			self := graph.SquaredL2(x, x)
			exact := graph.Mixture(1, 0)(x, x)
			diagonal := ReduceSum(Mul(self, ConvertDType(Diagonal(x.Graph(), n), float32Type)), 0)
			return []*Node{ConvertDType(self, in[0].DType()), ConvertDType(exact, in[0].DType()), ConvertDType(diagonal, in[0].DType())}
		}, normals(rng, far, n, d))
		// ‖x−ȳ‖² is about 30; 1e-6 of it is 30 times less than what is lost 1000
		// away from the mean.
		near(t, "self costs", out[0], out[1], 1e-6)
		for i, v := range out[2] {
			if v != 0 {
				t.Errorf("c(x_%d, x_%d) = %v", i, i, v)
			}
		}
	})
}

func TestLabelledAddsDistanceBetweenClasses(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(4, 1))
		out := evaluate(t, b, func(in []*Node) []*Node {
			labels := Const(in[0].Graph(), [][]int32{{0, 2, 1}, {1, 1, 0}})
			augmented := graph.Labelled(in[0], labels, 3, 15)
			return []*Node{augmented, graph.Mixture(1, 0)(augmented, augmented), graph.Mixture(1, 0)(in[0], in[0])}
		}, normals(rng, 0, 2, 3, 2))
		if row, want := out[0][5:10], []float64{0, 0, 15}; fmt.Sprint(row[2:]) != fmt.Sprint(want) {
			t.Errorf("row 1 of problem 0 ends with %v, want %v", row[2:], want)
		}
		labels := []int{0, 2, 1, 1, 1, 0}
		for k := range out[1] {
			problem, i, j := k/9, k/3%3, k%3
			want := out[2][k]
			if labels[problem*3+i] != labels[problem*3+j] {
				want += 2 * 15 * 15
			}
			near(t, fmt.Sprintf("pair %d", k), out[1][k:k+1], []float64{want}, 1e-12)
		}
	})
}

func TestShapesThatDoNotFitAreErrors(t *testing.T) {
	b := goBackend(t)
	rng := rand.New(rand.NewPCG(5, 1))
	good := graph.Sinkhorn{Epsilon: 1, Iterations: 10}
	change := func(f func(s *graph.Sinkhorn)) graph.Sinkhorn { s := good; f(&s); return s }
	x, y, u := normals(rng, 0, 3, 2), normals(rng, 0, 4, 2), normals(rng, 0, 5, 2)
	for name, c := range map[string]struct {
		build func(x, y, u *Node) *Node
		says  string
	}{
		"dimensions": {func(x, y, u *Node) *Node { return graph.SquaredL2(x, Concatenate([]*Node{y, y}, 1)) }, "[batch..., m, d]"},
		"batches":    {func(x, y, u *Node) *Node { return graph.L1(InsertAxes(x, 0), y) }, "[batch..., m, d]"},
		"types":      {func(x, y, u *Node) *Node { return graph.L2(x, ConvertDType(y, float32Type)) }, "one type"},
		"mixture":    {func(x, y, u *Node) *Node { return graph.Mixture(0, 0)(x, y) }, "at least 0"},
		"labels":     {func(x, y, u *Node) *Node { return graph.Labelled(x, Const(x.Graph(), []int32{1}), 2, 1) }, "labels"},
		"cost": {func(x, y, u *Node) *Node {
			return change(func(s *graph.Sinkhorn) { s.Cost = func(x, y *Node) *Node { return x } }).Solve(graph.Uniform(x), graph.Uniform(y)).Value
		}, "the cost of points"},
		"epsilon":    {solveWith(change(func(s *graph.Sinkhorn) { s.Epsilon = 0 })), "Epsilon"},
		"iterations": {solveWith(change(func(s *graph.Sinkhorn) { s.Iterations = 0 })), "Iterations"},
		"tolerance":  {solveWith(change(func(s *graph.Sinkhorn) { s.Tolerance = -1 })), "Tolerance"},
		"reach":      {solveWith(change(func(s *graph.Sinkhorn) { s.Reach = -1 })), "Reach"},
		"scaling":    {solveWith(change(func(s *graph.Sinkhorn) { s.Scaling = 0.1 })), "Scaling"},
		"weights": {func(x, y, u *Node) *Node {
			return good.Solve(graph.Measure{Points: x, Weights: ReduceSum(y, 1)}, graph.Uniform(y)).Value
		}, "weights of shape"},
		"potentials": {func(x, y, u *Node) *Node {
			return good.Resume(graph.Uniform(x), graph.Uniform(y), ReduceSum(y, 1), nil).Value
		}, "potentials of shape"},
		"mixture fraction": {func(x, y, u *Node) *Node { return good.SemiDebiased(x, graph.Uniform(y), 1).Value }, "3 points"},
		"directions":       {func(x, y, u *Node) *Node { return graph.SW(x, y, Transpose(u, 0, 1), 2) }, "[k, d]"},
		"power":            {func(x, y, u *Node) *Node { return graph.SW(x, y, u, 0.5) }, "at least 1"},
	} {
		_, err := CallOnce(b.Engine, c.build, tensorOf(x), tensorOf(y), tensorOf(u))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want it to say %q", name, err, c.says)
		}
	}
}

func solveWith(s graph.Sinkhorn) func(x, y, u *Node) *Node {
	return func(x, y, u *Node) *Node { return s.Solve(graph.Uniform(x), graph.Uniform(y)).Value }
}
