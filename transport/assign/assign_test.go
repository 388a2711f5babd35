package assign

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// certify fails unless a is an assignment whose duals prove that it is optimal,
// up to rounding.
func certify(t *testing.T, name string, cost []float64, n int, a Assignment) {
	t.Helper()
	if len(a.Column) != n || len(a.U) != n || len(a.V) != n {
		t.Fatalf("%s: %d columns, %d and %d duals; want %d", name, len(a.Column), len(a.U), len(a.V), n)
	}
	var scale, total float64
	for _, c := range cost {
		scale = max(scale, math.Abs(c))
	}
	rounding := 1e-14 * float64(n) * scale
	taken := make([]bool, n)
	for i, j := range a.Column {
		if j < 0 || j >= n || taken[j] {
			t.Fatalf("%s: row %d has column %d, which is taken or none", name, i, j)
		}
		taken[j] = true
		total += cost[i*n+j]
		for k := range n {
			if over := a.U[i] + a.V[k] - cost[i*n+k]; !(over <= 1e-15*scale*float64(n)) {
				t.Fatalf("%s: U[%d] + V[%d] is %g above the cost", name, i, k, over)
			}
		}
		if gap := cost[i*n+j] - a.U[i] - a.V[j]; !(math.Abs(gap) <= rounding) {
			t.Fatalf("%s: row %d is matched at a reduced cost of %g", name, i, gap)
		}
	}
	if !(math.Abs(total-a.Total) <= rounding) {
		t.Errorf("%s: Total %v, the matched costs add up to %v", name, a.Total, total)
	}
	if !(math.Abs(a.Total-a.Dual) <= rounding*float64(n)) {
		t.Errorf("%s: Total %v, Dual %v", name, a.Total, a.Dual)
	}
}

// cheapest is the least total over all permutations.
func cheapest(cost []float64, n int) float64 {
	var walk func(row int, taken []bool) float64
	walk = func(row int, taken []bool) float64 {
		if row == n {
			return 0
		}
		best := math.Inf(1)
		for j := range n {
			if !taken[j] {
				taken[j] = true
				best = min(best, cost[row*n+j]+walk(row+1, taken))
				taken[j] = false
			}
		}
		return best
	}
	return walk(0, make([]bool, n))
}

func TestSolveAgreesWithAllPermutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 7; n++ {
		for trial := range 60 {
			cost := make([]float64, n*n)
			for k := range cost {
				switch trial % 3 {
				case 0:
					cost[k] = rng.NormFloat64()
				case 1:
					cost[k] = float64(rng.IntN(3)) // many equally good assignments
				case 2:
					cost[k] = math.Exp(20 * rng.NormFloat64()) // 17 orders of magnitude
				}
			}
			a, err := Solve(cost, n)
			if err != nil {
				t.Fatal(err)
			}
			certify(t, "random", cost, n, a)
			if want := cheapest(cost, n); !(math.Abs(a.Total-want) <= 1e-12*math.Abs(want)) {
				t.Fatalf("n = %d, trial %d: total %v, the best permutation costs %v", n, trial, a.Total, want)
			}
		}
	}
}

// Costs that are whole numbers leave no rounding to excuse a gap.
func TestDegenerateCostsAreSolvedExactly(t *testing.T) {
	const n = 90
	rng := rand.New(rand.NewPCG(2, 1))
	kinds := map[string]func(i, j int) float64{
		"constant":      func(i, j int) float64 { return 3 },
		"zero":          func(i, j int) float64 { return 0 },
		"rank one":      func(i, j int) float64 { return float64(i * j) },
		"equal rows":    func(i, j int) float64 { return float64(j) },
		"equal columns": func(i, j int) float64 { return float64(-i) },
		"two values":    func(i, j int) float64 { return float64(rng.IntN(2)) },
		"sparse":        func(i, j int) float64 { return float64(rng.IntN(50) / 49) },
		"distances":     func(i, j int) float64 { return math.Abs(float64(i/7 - j/5)) },
		"one forced":    func(i, j int) float64 { return 1e6 * math.Abs(float64((i+1)%n-j)) },
	}
	for name, c := range kinds {
		cost := make([]float64, n*n)
		for k := range cost {
			cost[k] = c(k/n, k%n)
		}
		a, err := Solve(cost, n)
		if err != nil {
			t.Fatal(err)
		}
		certify(t, name, cost, n, a)
		if a.Total != a.Dual {
			t.Errorf("%s: total %v, dual %v", name, a.Total, a.Dual)
		}
		again, err := Solve(cost, n)
		if err != nil || !slices.Equal(a.Column, again.Column) {
			t.Errorf("%s: a second run differs: %v", name, err)
		}
	}
}

func TestSolveAgreesWithSciPy(t *testing.T) {
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Kind    string
			Seed, N int
			Total   float64
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil || len(golden.Cases) < 30 {
		t.Fatalf("%d cases, %v", len(golden.Cases), err)
	}
	for _, g := range golden.Cases {
		cost := scipyCosts(g.Kind, uint64(g.Seed), g.N)
		a, err := Solve(cost, g.N)
		if err != nil {
			t.Fatal(err)
		}
		certify(t, g.Kind, cost, g.N, a)
		if !(math.Abs(a.Total-g.Total) <= 1e-12*math.Abs(g.Total)) {
			t.Errorf("%s, n = %d: total %v, SciPy's is %v", g.Kind, g.N, a.Total, g.Total)
		}
	}
}

// scipyCosts are the costs of testdata/golden.py.
func scipyCosts(kind string, seed uint64, n int) []float64 {
	uniforms := func(state uint64, count int) []float64 {
		values := make([]float64, count)
		for i := range values {
			state = state*6364136223846793005 + 1442695040888963407
			values[i] = float64(state>>40) / (1 << 24)
		}
		return values
	}
	cost := uniforms(seed, n*n)
	x, y := uniforms(seed, 2*n), uniforms(seed+1, 2*n)
	for k := range cost {
		i, j := k/n, k%n
		switch kind {
		case "signed":
			cost[k] -= 0.5
		case "ties":
			cost[k] = math.Floor(4 * cost[k])
		case "product":
			cost[k] = float64((i + 1) * (j + 1))
		case "squared distance":
			a, b := x[2*i]-y[2*j]*y[2*j], x[2*i+1]-y[2*j+1]*y[2*j+1]
			cost[k] = a*a + b*b
		}
	}
	return cost
}

func TestSolveIsFastEnough(t *testing.T) {
	const n = 1000
	rng := rand.New(rand.NewPCG(3, 1))
	cost := make([]float64, n*n)
	for k := range cost {
		cost[k] = rng.Float64()
	}
	start := time.Now()
	a, err := Solve(cost, n)
	if err != nil {
		t.Fatal(err)
	}
	// 0.04 s on two cores of 2020; the rest is for a busy machine.
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("%d rows took %v", n, took)
	}
	certify(t, "large", cost, n, a)
	// Aldous (2001): the expected total of uniform costs tends to π²/6, with a
	// variance of about (4ζ(2) − 4ζ(3))/n (Wästlund 2005), here 0.042²: six
	// standard deviations.
	if !(math.Abs(a.Total-math.Pi*math.Pi/6) <= 0.25) {
		t.Errorf("total %v, expected %v", a.Total, math.Pi*math.Pi/6)
	}
}

func TestSolveRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		cost []float64
		n    int
		says string
	}{
		{nil, 0, "need at least 1"},
		{nil, -3, "need at least 1"},
		{[]float64{1, 2, 3, 4, 5, 6}, 2, "square"},
		{[]float64{1, 2, 3}, 2, "square"},
		{nil, 2, "square"},
		{make([]float64, 4), Limit + 1, "subsample"},
		{[]float64{1, 2, nan, 4}, 2, "row 1 and column 0 is NaN"},
		{[]float64{1, inf, 3, 4}, 2, "row 0 and column 1 is +Inf"},
		{[]float64{1, -inf, 3, 4}, 2, "-Inf"},
		{[]float64{1, 2, 3, 1e301}, 2, "1e+301"},
	} {
		if _, err := Solve(c.cost, c.n); err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "assign: ") {
			t.Errorf("n = %d: %v; want an error that says %q", c.n, err, c.says)
		}
	}
	// The largest costs that are taken do not overflow.
	cost := []float64{1e300, -1e300, 1e300, 1e300, 1e300, -1e300, -1e300, 1e300, 1e300}
	a, err := Solve(cost, 3)
	if err != nil || a.Total != -3e300 {
		t.Errorf("%+v, %v", a, err)
	}
}

func FuzzSolve(f *testing.F) {
	f.Add(uint64(1), 3, 4)
	f.Add(uint64(9), 6, 1)
	f.Fuzz(func(t *testing.T, seed uint64, n, values int) {
		n, values = 1+abs(n)%6, 1+abs(values)%9
		rng := rand.New(rand.NewPCG(seed, 7))
		cost := make([]float64, n*n)
		for k := range cost {
			cost[k] = float64(rng.IntN(values)) - 2
		}
		a, err := Solve(cost, n)
		if err != nil {
			t.Fatal(err)
		}
		certify(t, "fuzz", cost, n, a)
		if want := cheapest(cost, n); a.Total != want || a.Dual != want {
			t.Fatalf("total %v, dual %v, the best permutation costs %v", a.Total, a.Dual, want)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }
