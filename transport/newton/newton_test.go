package newton

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

func clouds(seed uint64, n, m, dim int) (x, y transport.Points, cost []float64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	x, y = transport.NewPoints(n, dim), transport.NewPoints(m, dim)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	for i := range y.Data {
		y.Data[i] = float32(1.5*rng.NormFloat64() + 0.3)
	}
	for i := range n {
		for j := range m {
			cost = append(cost, sinkhorn.SquaredL2.At(x.Row(i), y.Row(j)))
		}
	}
	return x, y, cost
}

func total(weights []float64) (sum float64) {
	for _, w := range weights {
		sum += w
	}
	return sum
}

// At an ε that Sinkhorn's algorithm can do it is Sinkhorn's solution, with weights too, some
// of them 0.
func TestSolutionIsSinkhorns(t *testing.T) {
	for _, epsilon := range []float64{20, 1, 0.1} {
		for seed := range uint64(6) {
			n, m := 9+int(seed), 14-int(seed)
			x, y, cost := clouds(seed, n, m, 3)
			var a, b []float64
			if seed%2 == 1 {
				a, b = make([]float64, n), make([]float64, m)
				for i := range a {
					a[i] = float64(i % 4)
				}
				for j := range b {
					b[j] = math.Exp(float64(j % 5))
				}
				b[2] = 0
			}
			want, err := sinkhorn.Solver{Epsilon: epsilon, Tolerance: 1e-11, MaxIterations: 200_000}.Solve(sinkhorn.Problem{
				X: transport.Measure{Points: x, Weights: a}, Y: transport.Measure{Points: y, Weights: b}, Cost: sinkhorn.SquaredL2})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Problem{Cost: cost, N: n, M: m, A: a, B: b, Epsilon: epsilon}.Solve(1e-11)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(got.Value-want.Dual) <= 1e-9*max(1, want.Dual) && math.Abs(got.Transport-want.Transport) <= 1e-8*max(1, want.Transport) && got.MarginalError <= 1e-11) {
				t.Errorf("ε = %v, seed %d: value %v and transport %v, want %v and %v; marginals off by %v after %d", epsilon, seed, got.Value, got.Transport, want.Dual, want.Transport, got.MarginalError, got.Iterations)
			}
			for j := range m { // the column's equation, whether it has weight or not
				var sum float64
				for i, w := range a {
					sum += w / total(a) * math.Exp((got.F[i]+got.G[j]-cost[i*m+j])/epsilon)
				}
				if a != nil && !(math.Abs(sum-1) <= 1e-6) {
					t.Errorf("ε = %v, seed %d: Σ_i a_i·exp(…) of column %d is %v", epsilon, seed, j, sum)
				}
			}
		}
	}
}

// Beside costs of thousands no ε is too small: marginals are met in few iterations, where
// the plan is a matching or not, and the value tends to that of exact transport.
func TestSmallEpsilons(t *testing.T) {
	for _, shape := range [][2]int{{50, 57}, {50, 50}, {50, 41}, {7, 90}, {1, 5}, {6, 1}} {
		n, m := shape[0], shape[1]
		_, _, cost := clouds(uint64(n*m), n, m, 200)
		for _, epsilon := range []float64{5, 0.05, 1e-3} {
			got, err := Problem{Cost: cost, N: n, M: m, Epsilon: epsilon}.Solve(1e-9)
			if err != nil {
				t.Fatal(err)
			}
			if !(got.MarginalError <= 1e-9) || got.Iterations > 40 {
				t.Errorf("%v, ε = %v: marginals off by %v after %d", shape, epsilon, got.MarginalError, got.Iterations)
			}
			// 0 ≤ OT_ε − OT ≤ ε·log(min n, m), as KL(P | a⊗b) is at most that.
			if over := got.Value - got.Transport; !(over >= -1e-7 && over <= epsilon*math.Log(float64(min(n, m)))+1e-7) {
				t.Errorf("%v, ε = %v: value %v, transport %v", shape, epsilon, got.Value, got.Transport)
			}
			for _, e := range got.Plan {
				if want := math.Exp((got.F[e.I]+got.G[e.J]-cost[e.I*m+e.J])/epsilon) / float64(n*m); !(math.Abs(e.Mass-want) <= 1e-6*want) {
					t.Fatalf("%v, ε = %v: entry %+v, potentials give %v", shape, epsilon, e, want)
				}
			}
		}
	}
}

// Labels that cost much more than all else leave parts of the plan that hardly touch: there
// Newton's step is long, and must not be taken where the dual falls.
func TestPartsThatHardlyTouch(t *testing.T) {
	const trials = 400
	rng := rand.New(rand.NewPCG(6, 5))
	slow := 0
	for trial := range trials {
		dim, absolute, epsilon := 1+trial%2, float64(trial/2%2), []float64{5, 0.05, 1}[trial%3]
		n, m := 1+rng.IntN(57), 1+rng.IntN(57)
		points := func(n int) transport.Points {
			p := transport.NewPoints(n, dim+10)
			for i := range n {
				for c := range dim {
					p.Row(i)[c] = float32(math.Tanh(rng.NormFloat64()))
				}
				p.Row(i)[dim+rng.IntN(10)] = 15
			}
			return p
		}
		cost, err := sinkhorn.Costs(points(n), points(m), sinkhorn.Mixture{Squared: 1, Absolute: absolute})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Problem{Cost: cost, N: n, M: m, Epsilon: epsilon}.Solve(1e-3)
		if err != nil {
			t.Fatal(err)
		}
		if !(got.MarginalError <= 1e-3) {
			t.Errorf("%d×%d, dim %d, m = %v, ε = %v: marginals off by %v after %d, value %v of at most %v", n, m, dim, absolute, epsilon, got.MarginalError, got.Iterations, got.Value, got.Transport+epsilon*math.Log(float64(n*m)))
		}
		if got.Iterations > 30 {
			slow++
		}
	}
	if slow > trials/20 {
		t.Errorf("%d of %d problems took more than 30 iterations", slow, trials)
	}
}

// Equal points and equal costs, where whole faces are optimal.
func TestTies(t *testing.T) {
	const n = 12
	cost := make([]float64, n*n)
	for i := range n {
		for j := range n {
			if i%3 != j%3 {
				cost[i*n+j] = 480
			}
		}
	}
	got, err := Problem{Cost: cost, N: n, M: n, Epsilon: 0.05}.Solve(1e-10)
	if err != nil {
		t.Fatal(err)
	}
	if !(got.MarginalError <= 1e-10) || len(got.Plan) != n*n/3 || !(math.Abs(got.Plan[0].Mass-1./(n*n/3)) <= 1e-10) {
		t.Errorf("%d entries, the first %+v, marginals off by %v", len(got.Plan), got.Plan[0], got.MarginalError)
	}
}

// Weights that differ by orders of magnitude, some next to nothing, between few points and
// more on either side: the dual hardly tells of a column that is all but empty, nor of parts
// of the plan that hardly touch. 60 in 3,600 did not get there.
func TestUnequalWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		n, m := 2+rng.IntN(14), 2+rng.IntN(14)
		spread := []float64{3, 9, 20}[rng.IntN(3)]
		p := Problem{N: n, M: m, Epsilon: []float64{0.05, 0.006, 0.0005}[rng.IntN(3)]}
		for range n * m {
			p.Cost = append(p.Cost, rng.Float64())
		}
		for range n {
			p.A = append(p.A, math.Exp(-spread*rng.Float64()))
		}
		for range m {
			p.B = append(p.B, math.Exp(-spread*rng.Float64()))
		}
		s, err := p.Solve(1e-6)
		if err != nil {
			t.Fatal(err)
		}
		rows, columns := make([]float64, n), make([]float64, m)
		last := -1
		for _, e := range s.Plan {
			if at := e.I*m + e.J; at <= last {
				t.Fatalf("%d×%d: entries are not row by row", n, m)
			} else {
				last = at
			}
			want := p.A[e.I] / total(p.A) * p.B[e.J] / total(p.B) * math.Exp((s.F[e.I]+s.G[e.J]-p.Cost[e.I*m+e.J])/p.Epsilon)
			if !(math.Abs(e.Mass-want) <= 1e-9) {
				t.Fatalf("%d×%d: an entry of %v is not that of the potentials, %v", n, m, e.Mass, want)
			}
			rows[e.I], columns[e.J] = rows[e.I]+e.Mass, columns[e.J]+e.Mass
		}
		off := 0.
		for i, w := range p.A {
			off += math.Abs(rows[i] - w/total(p.A))
		}
		for j, w := range p.B {
			off += math.Abs(columns[j] - w/total(p.B))
		}
		if !(off <= 1.01e-6) || s.Iterations > 60 {
			t.Errorf("%d×%d, ε = %v: marginals off by %.2g after %d iterations", n, m, p.Epsilon, off, s.Iterations)
		}
	}
}

// The larger side takes no memory but for its costs.
func TestOneBesideMany(t *testing.T) {
	const many = 300_000
	for _, p := range []Problem{{N: 1, M: many}, {N: many, M: 1}} {
		p.Cost, p.Epsilon = make([]float64, many), 1
		s, err := p.Solve(1e-6)
		if err != nil || len(s.Plan) != many || !(s.MarginalError <= 1e-6 && math.Abs(s.Value) <= 1e-12) {
			t.Errorf("%d×%d: %v", p.N, p.M, err)
		}
	}
}

func TestBadProblems(t *testing.T) {
	for want, p := range map[string]Problem{
		"ε = 0":              {Cost: []float64{1}, N: 1, M: 1},
		"costs are finite":   {Cost: []float64{math.NaN()}, N: 1, M: 1, Epsilon: 1},
		"2 costs for 1 rows": {Cost: []float64{1, 2}, N: 1, M: 1, Epsilon: 1},
		"between 0 and 9223372036854775807 points":                    {N: 0, M: math.MaxInt, Epsilon: 1},
		"2 costs between 1 and 3 points":                              {Cost: []float64{1, 2}, N: 1, M: 3, Epsilon: 1},
		"4 costs between 4611686018427387905 and 9223372036854775807": {Cost: make([]float64, 4), N: math.MaxInt/2 + 2, M: math.MaxInt, Epsilon: 1},
		"weights are finite ":                                         {Cost: []float64{1}, N: 1, M: 1, A: []float64{-1}, Epsilon: 1},
	} {
		if _, err := p.Solve(1e-6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	if _, err := (Problem{Cost: []float64{1}, N: 1, M: 1, Epsilon: 1}).Solve(0); err == nil || !strings.Contains(err.Error(), "tolerance") {
		t.Errorf("%v, want it to ask for a tolerance", err)
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, m := range []int{50, 57} {
		_, _, cost := clouds(3, 50, m, 794)
		b.Run(map[int]string{50: "square", 57: "oblong"}[m], func(b *testing.B) {
			for b.Loop() {
				s, err := Problem{Cost: cost, N: 50, M: m, Epsilon: 0.05}.Solve(1e-3)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(s.Iterations), "iterations")
			}
		})
	}
}

// The equations of a step are solved, with zeros in front of rows; a part that is singular
// gets 0, and what is left is solved with it.
func TestEquationsAreSolved(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	const m = 6
	for range 100 {
		h, want, y := make([]float64, m*m), make([]float64, m), make([]float64, m)
		for row := range m + 2 { // a sum of squares of sparse rows
			v := make([]float64, m)
			for range 2 {
				v[rng.IntN(m)] = rng.NormFloat64()
			}
			if row < m {
				v[row] += 2
			}
			for i := range m {
				for j := range m {
					h[i*m+j] += v[i] * v[j]
				}
			}
		}
		for i := range want {
			want[i] = rng.NormFloat64()
		}
		for i := range y {
			y[i] = floats.Dot(h[i*m:(i+1)*m], want)
		}
		solve(slices.Clone(h), y, m)
		for i := range y {
			if !(math.Abs(y[i]-want[i]) <= 1e-6*(1+math.Abs(want[i]))) {
				t.Fatalf("%v, want %v", y, want)
			}
		}
	}
	// Two potentials of which only the difference counts, and one that counts for nothing.
	h, y := []float64{4, 0, 0, -4, 4, 0, 0, 0, 0}, []float64{8, -7, 3}
	if solve(h, y, 3); !slices.Equal(y, []float64{2, 0, 0}) {
		t.Errorf("singular: %v", y)
	}
}
