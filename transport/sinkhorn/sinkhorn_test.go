package sinkhorn

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"molehill/transport"
)

// The laws of transport, known answers and golden values are in
// transport/transporttest, which runs them on every executor. Here is what is
// this solver's own.

func cloud(n, dim int, seed uint64, shift float64) transport.Points {
	rng := rand.New(rand.NewPCG(seed, 7))
	p := transport.NewPoints(n, dim)
	for i := range p.Data {
		p.Data[i] = float32(rng.NormFloat64() + shift)
	}
	return p
}

func weights(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 8))
	w := make([]float64, n)
	for i := range w {
		w[i] = 0.1 + rng.Float64()
	}
	return w
}

func solved(t *testing.T, s Solver, p Problem) *Result {
	t.Helper()
	r, err := s.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// textbook solves by the two log-domain updates as they are printed (001,
// Algorithm 3), and returns the potentials.
func textbook(p Problem, epsilon float64, iterations int) (f, g []float64) {
	a, b := p.X.Shares(), p.Y.Shares()
	f, g = make([]float64, len(a)), make([]float64, len(b))
	update := func(to, from, weights []float64, cost func(i, j int) float64) {
		for i := range to {
			peak, sum := math.Inf(-1), 0.
			for j, w := range weights {
				peak = max(peak, math.Log(w)+(from[j]-cost(i, j))/epsilon)
			}
			for j, w := range weights {
				sum += math.Exp(math.Log(w) + (from[j]-cost(i, j))/epsilon - peak)
			}
			to[i] = -epsilon * (peak + math.Log(sum))
		}
	}
	for range iterations {
		update(f, g, b, func(i, j int) float64 { return p.Cost.At(p.X.Row(i), p.Y.Row(j)) })
		update(g, f, a, func(j, i int) float64 { return p.Cost.At(p.X.Row(i), p.Y.Row(j)) })
	}
	return f, g
}

func TestSolveIsTheTextbooksSolution(t *testing.T) {
	x, y := transport.Measure{Points: cloud(23, 3, 1, 0), Weights: weights(23, 1)}, transport.Measure{Points: cloud(37, 3, 2, 1), Weights: weights(37, 2)}
	own := Func{Value: func(x, y []float32) float64 { return L2.At(x, y) + 0.2*float64(x[0]*y[1]) }}
	for _, c := range []Cost{SquaredL2, L1, L2, Mixture{1, 3}, own} {
		p := Problem{x, y, c}
		f, g := textbook(p, 0.5, 3000)
		for _, online := range []bool{false, true} {
			r := solved(t, Solver{Epsilon: 0.5, Tolerance: 1e-12, Online: online}, p)
			if !r.Converged {
				t.Fatalf("%T: off by %v after %d iterations", c, r.MarginalError, r.Iterations)
			}
			for i := range f { // up to the constant between them
				for j := range g {
					near(t, "F+G", r.F[i]+r.G[j], f[i]+g[j], 1e-9)
				}
			}
		}
	}
}

// Whatever the number of iterations, the optimum is between Dual and Primal.
func TestValuesBracketTheOptimum(t *testing.T) {
	p := Problem{transport.Uniform(cloud(60, 2, 1, 0)), transport.Measure{Points: cloud(40, 2, 2, 1), Weights: weights(40, 3)}, SquaredL2}
	for _, reach := range []float64{0, 2} {
		exact := solved(t, Solver{Epsilon: 0.05, Reach: reach, Tolerance: 1e-12, MaxIterations: 100_000}, p)
		near(t, "gap", exact.Primal, exact.Dual, 1e-10)
		last := math.Inf(1) // gap
		for _, iterations := range []int{1, 2, 5, 10, 30, 60} {
			r := solved(t, Solver{Epsilon: 0.05, Reach: reach, Tolerance: 1e-12, MaxIterations: iterations}, p)
			if r.Iterations > iterations {
				t.Errorf("%d iterations where %d are allowed", r.Iterations, iterations)
			}
			if r.Converged {
				t.Errorf("converged to 1e-12 in %d iterations; the test needs a harder problem", r.Iterations)
			}
			if !(r.Dual <= exact.Dual+1e-12 && r.Primal >= exact.Dual-1e-12) {
				t.Errorf("ρ = %v, %d iterations: dual %v and primal %v; the optimum is %v", reach, iterations, r.Dual, r.Primal, exact.Dual)
			}
			last = r.Primal - r.Dual
		}
		if !(last <= 0.01) {
			t.Errorf("ρ = %v: a gap of %v after 60 iterations tells nothing of the optimum %v", reach, last, exact.Dual)
		}
	}
}

// Sums that leave the range of double precision are taken another way: from
// potentials that make all of the plan vanish, or overflow.
func TestSolveFromFarAway(t *testing.T) {
	x, y := transport.Uniform(cloud(30, 2, 1, 0)), transport.Uniform(cloud(20, 2, 2, 3))
	for _, reach := range []float64{0, 5} {
		want := solved(t, Solver{Epsilon: 0.1, Reach: reach, Tolerance: 1e-10}, Problem{x, y, SquaredL2})
		for _, far := range []float64{-1e4, 1e4} {
			start := &Potentials{make([]float64, 30), make([]float64, 20)}
			for i := range start.F {
				start.F[i] = far * float64(i%3-1)
			}
			for j := range start.G {
				start.G[j] = far * float64(j%5)
			}
			r := solved(t, Solver{Epsilon: 0.1, Reach: reach, Tolerance: 1e-10, Start: start}, Problem{x, y, SquaredL2})
			if !r.Converged {
				t.Errorf("from %v with ρ = %v: off by %v after %d iterations", far, reach, r.MarginalError, r.Iterations)
			}
			near(t, "value", r.Dual, want.Dual, 1e-8)
		}
	}
	// A measure and itself.
	start := &Potentials{make([]float64, 30), make([]float64, 30)}
	for i := range start.F {
		start.F[i] = 1e4 * float64(i%3-1)
	}
	want := solved(t, Solver{Epsilon: 0.1, Tolerance: 1e-10}, Problem{x, x, SquaredL2})
	r := solved(t, Solver{Epsilon: 0.1, Tolerance: 1e-10, Start: start}, Problem{x, x, SquaredL2})
	near(t, "value with itself", r.Dual, want.Dual, 1e-8)
}

// The fast path for a measure and itself is the same solution.
func TestSolveWithItself(t *testing.T) {
	x := transport.Measure{Points: cloud(50, 3, 1, 0), Weights: weights(50, 2)}
	twin := transport.Measure{Points: x.Points.Clone(), Weights: slices.Clone(x.Weights)}
	for _, c := range []Cost{SquaredL2, L1, L2} {
		for _, epsilon := range []float64{1, 0.3} {
			s := Solver{Epsilon: epsilon, Tolerance: 1e-11, MaxIterations: 200_000}
			fast, slow := solved(t, s, Problem{x, x, c}), solved(t, s, Problem{x, twin, c})
			if !fast.Converged || !slow.Converged {
				t.Fatalf("off by %v and %v", fast.MarginalError, slow.MarginalError)
			}
			if fast.Iterations > 100 {
				t.Errorf("ε = %v: %d iterations with itself; it halves the error each time", epsilon, fast.Iterations)
			}
			near(t, "value", fast.Dual, slow.Dual, 1e-9)
			for i := range fast.F {
				near(t, "potential", fast.F[i], slow.F[i], 1e-7)
			}
		}
	}
}

// Results do not depend on the number of cores, to the last bit.
func TestSolveIsTheSameOnAnyNumberOfCores(t *testing.T) {
	p := Problem{transport.Uniform(cloud(300, 4, 1, 0)), transport.Uniform(cloud(200, 4, 2, 1)), SquaredL2}
	var results []*Result
	for _, cores := range []int{1, 2, 5} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		results = append(results, solved(t, Solver{Epsilon: 0.1}, p))
	}
	for _, r := range results[1:] {
		if !slices.Equal(r.F, results[0].F) || !slices.Equal(r.G, results[0].G) || r.Primal != results[0].Primal {
			t.Error("another number of cores gives another result")
		}
	}
	together, err := Solver{Epsilon: 0.1}.SolveAll([]Problem{p, p})
	if err != nil || !slices.Equal(together[1].F, results[0].F) {
		t.Errorf("solved with others, the result is another one (%v)", err)
	}
}

// Over-relaxation finds the same solution, sooner.
func TestOverRelaxation(t *testing.T) {
	p := Problem{transport.Uniform(cloud(200, 2, 1, 0)), transport.Uniform(cloud(200, 2, 2, 0.3)), SquaredL2}
	matrix := newRows(p.X.Points, p.Y.Points, p.Cost, 2)
	if _, _, err := matrix.survey(true); err != nil {
		t.Fatal(err)
	}
	plain := newState(matrix, p.X.Shares(), p.Y.Shares(), 0, false)
	plain.epsilon = 0.05
	sweeps := 0
	for off := 1.; off > 1e-9; off = plain.sweep(1) {
		if sweeps++; sweeps > 100_000 {
			t.Fatal("plain sweeps do not converge")
		}
	}
	r := solved(t, Solver{Epsilon: 0.05, Tolerance: 1e-9}, p)
	t.Logf("%d plain sweeps, %d iterations with scaling and over-relaxation", sweeps, r.Iterations)
	if !r.Converged || 3*r.Iterations > sweeps {
		t.Errorf("%d iterations, off by %v; plain sweeps take %d", r.Iterations, r.MarginalError, sweeps)
	}
	for i := range r.F {
		near(t, "F − F₀", r.F[i]-r.F[0], 0.05*(plain.f[i]-plain.f[0]), 1e-4)
	}
}

// An update never lowers the dual value, however far the over-relaxation: of
// one row of mass 1 with cost 0, ρ(1−e^(−f/ρ)) − ε·s·(e^(f/ε)−1).
func TestOverRelaxationNeverLosesValue(t *testing.T) {
	for _, reach := range []float64{0, 0.01, 1, 100} {
		s := &state{epsilon: 0.5, reach: reach}
		for _, update := range []float64{-50, -5, -1, -0.1, -1e-6, 0, 1e-6, 0.1, 0.5, 1, 3, 10, 50, 300} {
			best := s.change(0, update) // with potential 0, so that the row's sum is e^−update
			for _, omega := range []float64{1, 1.2, 1.5, 1.9, 1.98} {
				change, exponential := s.relaxed(best, math.Exp(best), omega)
				near(t, "exponential", exponential, math.Exp(change), 1e-12*exponential)
				value := change
				if reach != 0 {
					value = -reach / s.epsilon * math.Expm1(-change*s.epsilon/reach)
				}
				if gain := value - math.Exp(-update)*math.Expm1(change); !(gain >= -1e-10*max(1, math.Exp(-update))) {
					t.Errorf("ρ = %v: an update by %v at ω = %v moves by %v and loses %v", reach, best, omega, change, -gain)
				}
				if best != 0 && !(change/best >= 1-1e-12 && change/best <= omega+1e-12) {
					t.Errorf("ρ = %v: an update by %v at ω = %v moves by %v", reach, best, omega, change)
				}
			}
		}
	}
}

// Online, 20,000 points of either side take far less than their 3.2 GB of costs
// (4,000 and 128 MB, unless thorough).
func TestOnlineNeverHoldsTheCosts(t *testing.T) {
	n, most := 4_000, 40.
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		n, most = 20_000, 200
	}
	costs := 8 * int64(n) * int64(n)
	x, y := transport.Uniform(cloud(n, 2, 1, 0)), transport.Uniform(cloud(n, 2, 2, 1))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := solved(t, Solver{Epsilon: 2, Tolerance: 1e-3, Online: true}, Problem{x, y, SquaredL2})
	byX, _, err := r.Gradient()
	runtime.ReadMemStats(&after)
	if err != nil || !r.Converged {
		t.Fatalf("off by %v, %v", r.MarginalError, err)
	}
	// All allocations, whether freed or not: 32 column sums a sweep's worth,
	// twice, and rows of costs for each core and pass.
	allocated := float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
	t.Logf("%.0f MiB allocated in %d iterations; the costs are %.0f MiB", allocated, r.Iterations, float64(costs)/(1<<20))
	if !(allocated <= most) {
		t.Errorf("%.0f MiB allocated", allocated)
	}
	// And it is right: the marginals' means give the gradient's mean, 2·(x̄−ȳ).
	var sum, want float64
	for i := range n {
		sum += byX[2*i]
		want += 2 * float64(x.Row(i)[0]-y.Row(i)[0]) / float64(n)
	}
	near(t, "mean gradient", sum, want, 1e-2)

	defer func(limit int64) { MemoryLimit = limit }(MemoryLimit)
	MemoryLimit = costs / 2
	if _, err := r.Plan(); err == nil || !strings.Contains(err.Error(), "MemoryLimit") {
		t.Errorf("a plan of twice the limit: %v", err)
	}
	if _, err := (Solver{Epsilon: 2}).Solve(Problem{x, y, SquaredL2}); err == nil || !strings.Contains(err.Error(), "Online") {
		t.Errorf("costs of twice the limit: %v; want the advice to set Online", err)
	}
}

func TestPointsOfNoWeight(t *testing.T) {
	x, y := cloud(20, 2, 1, 0), cloud(15, 2, 2, 1)
	a, b := weights(20, 1), weights(15, 2)
	a[0], a[7], b[14] = 0, 0, 0
	p := Problem{transport.Measure{Points: x, Weights: a}, transport.Measure{Points: y, Weights: b}, SquaredL2}
	for _, reach := range []float64{0, 3} {
		s := Solver{Epsilon: 0.3, Reach: reach, Tolerance: 1e-12}
		r := solved(t, s, p)
		plan, err := r.Plan()
		if err != nil {
			t.Fatal(err)
		}
		byX, _, _ := r.Gradient()
		if len(plan) != 300 || plan[0] != 0 || plan[7*15+3] != 0 || plan[5*15+14] != 0 || byX[0] != 0 || byX[15] != 0 {
			t.Error("points of no weight take part in the plan or have a gradient")
		}
		// Their potentials are the limit of those with very little weight.
		a[0], a[7], b[14] = 1e-9, 1e-9, 1e-9
		little := solved(t, s, p)
		a[0], a[7], b[14] = 0, 0, 0
		for i := range r.F {
			near(t, "F", r.F[i], little.F[i], 1e-6)
		}
		for j := range r.G {
			near(t, "G", r.G[j], little.G[j], 1e-6)
		}
	}
}

func TestBadInput(t *testing.T) {
	x, y := transport.Uniform(cloud(5, 2, 1, 0)), transport.Uniform(cloud(6, 2, 2, 0))
	good := Problem{x, y, SquaredL2}
	hole := Func{Value: func(x, y []float32) float64 { return math.Log(float64(x[0])) }}
	for _, test := range []struct {
		name string
		s    Solver
		p    Problem
		says string
	}{
		{"no ε", Solver{}, good, "ε = 0"},
		{"negative ε", Solver{Epsilon: -1}, good, "ε = -1"},
		{"ε is NaN", Solver{Epsilon: math.NaN()}, good, "ε = NaN"},
		{"ε too small", Solver{Epsilon: 1e-14}, good, "needs at least"},
		{"negative reach", Solver{Epsilon: 1, Reach: -1}, good, "reach"},
		{"negative tolerance", Solver{Epsilon: 1, Tolerance: -1}, good, "tolerance"},
		{"no cost", Solver{Epsilon: 1}, Problem{x, y, nil}, "SquaredL2"},
		{"cost without terms", Solver{Epsilon: 1}, Problem{x, y, Mixture{}}, "not both 0"},
		{"negative cost", Solver{Epsilon: 1}, Problem{x, y, Mixture{1, -1}}, "at least 0"},
		{"cost without value", Solver{Epsilon: 1}, Problem{x, y, Func{}}, "Value"},
		{"NaN cost", Solver{Epsilon: 1}, Problem{x, y, hole}, "is NaN; scale"},
		{"no points", Solver{Epsilon: 1}, Problem{transport.Measure{}, y, SquaredL2}, "x: transport: no points"},
		{"dimensions", Solver{Epsilon: 1}, Problem{transport.Uniform(cloud(5, 3, 1, 0)), y, SquaredL2}, "dimension 3 and 2"},
		{"weights", Solver{Epsilon: 1}, Problem{x, transport.Measure{Points: y.Points, Weights: []float64{1, 2, 3, 4, 5, -1}}, SquaredL2}, "y: transport: weight 5 is -1"},
		{"start", Solver{Epsilon: 1, Start: &Potentials{F: make([]float64, 5)}}, good, "sizes must agree"},
		{"start of NaN", Solver{Epsilon: 1, Start: &Potentials{F: make([]float64, 5), G: []float64{0, 0, math.NaN(), 0, 0, 0}}}, good, "is NaN"},
	} {
		for _, online := range []bool{false, true} {
			test.s.Online = online
			if _, err := test.s.Solve(test.p); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v; want an error that says %q", test.name, err, test.says)
			}
		}
	}
	if _, err := (Solver{Epsilon: 1}).SolveAll([]Problem{good, {x, y, hole}}); err == nil || !strings.Contains(err.Error(), "problem 1") {
		t.Errorf("one bad problem of two: %v", err)
	}
	own := Func{Value: SquaredL2.At}
	if _, _, err := solved(t, Solver{Epsilon: 1}, Problem{x, y, own}).Gradient(); err == nil || !strings.Contains(err.Error(), "Slopes") {
		t.Errorf("gradient of a cost without slopes: %v", err)
	}
	// The largest numbers of float32 are no obstacle.
	huge := transport.Uniform(transport.Points{Dim: 1, Data: []float32{-3e38, 3e38}})
	r := solved(t, Solver{Epsilon: 1e74}, Problem{huge, transport.Uniform(transport.Points{Dim: 1, Data: []float32{-2e38, 3e38}}), SquaredL2})
	if !r.Converged || math.IsNaN(r.Primal+r.Dual+r.F[0]) {
		t.Errorf("points of 3e38: %+v", r)
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Fatalf("%s is %v; want %v ± %v", what, got, want, tolerance)
	}
}
