package assign

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// certifyPlan fails unless p has the marginals and duals that prove that it is optimal, up to
// rounding.
func certifyPlan(t *testing.T, name string, cost []float64, n, m int, a, b []float64, p Plan) {
	t.Helper()
	a, b = normal(a, n), normal(b, m)
	var size, total, dual float64
	for _, c := range cost {
		size = max(size, math.Abs(c))
	}
	gap := 1e-12 * (size + 1e-300) * float64(n+m)
	rows, columns := make([]float64, n), make([]float64, m)
	for k, move := range p.Moves {
		if !(move.Mass > 0) || k > 0 && p.Moves[k-1].From*m+p.Moves[k-1].To >= move.From*m+move.To {
			t.Fatalf("%s: move %d is %+v after %+v", name, k, move, p.Moves[max(0, k-1)])
		}
		rows[move.From] += move.Mass
		columns[move.To] += move.Mass
		total += move.Mass * cost[move.From*m+move.To]
		if off := cost[move.From*m+move.To] - p.F[move.From] - p.G[move.To]; !(math.Abs(off) <= gap) {
			t.Fatalf("%s: %+v at a reduced cost of %g", name, move, off)
		}
	}
	if len(p.Moves) > n+m-1 {
		t.Fatalf("%s: %d moves of %d and %d points", name, len(p.Moves), n, m)
	}
	for _, side := range []struct{ got, want, potentials []float64 }{{rows, a, p.F}, {columns, b, p.G}} {
		for i, w := range side.want {
			if !(math.Abs(side.got[i]-w) <= 1e-13) {
				t.Fatalf("%s: a marginal of %v, want %v", name, side.got[i], w)
			}
			dual += w * side.potentials[i]
		}
	}
	for i := range n {
		for j := range m {
			if over := p.F[i] + p.G[j] - cost[i*m+j]; !(over <= 4e-16*size*float64(n+m)) {
				t.Fatalf("%s: F[%d] + G[%d] is %g above the cost", name, i, j, over)
			}
		}
	}
	if !(math.Abs(total-p.Cost) <= gap && math.Abs(dual-p.Dual) <= gap && math.Abs(total-dual) <= gap) {
		t.Errorf("%s: cost %v (moves cost %v), dual %v (potentials give %v)", name, p.Cost, total, p.Dual, dual)
	}
}

func normal(weights []float64, n int) []float64 {
	if weights == nil {
		return slices.Repeat([]float64{1 / float64(n)}, n)
	}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	shares := make([]float64, n)
	for i, w := range weights {
		shares[i] = w / sum
	}
	return shares
}

func transported(t *testing.T, name string, cost []float64, n, m int, a, b []float64) Plan {
	t.Helper()
	p, err := Transport(cost, n, m, a, b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	certifyPlan(t, name, cost, n, m, a, b, p)
	return p
}

// The duals prove each plan: for weights of all kinds, with ties, among many equal costs,
// and at scales far from 1.
func TestTransportProvesItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for trial := range 1500 {
		n, m := 1+rng.IntN(12), 1+rng.IntN(12)
		if trial%50 == 0 {
			n, m = 30+rng.IntN(40), 30+rng.IntN(40)
		}
		scale := math.Pow(10, float64(rng.IntN(61)-30))
		if trial%97 == 0 {
			scale = []float64{1e290, 1e-290}[trial%2]
		}
		cost := make([]float64, n*m)
		for k := range cost {
			switch trial % 4 {
			case 0:
				cost[k] = rng.NormFloat64() * scale
			case 1:
				cost[k] = float64(rng.IntN(3)) * scale
			case 2:
				cost[k] = math.Abs(float64(k/m)/float64(n)-float64(k%m)/float64(m)) * scale
			} // and all 0
		}
		weights := func(n int) []float64 {
			switch rng.IntN(4) {
			case 0:
				return nil
			case 1:
				w := make([]float64, n) // whole numbers, some 0
				for i := range w {
					w[i] = float64(rng.IntN(4))
				}
				w[rng.IntN(n)] = 2
				return w
			case 2:
				w := make([]float64, n)
				for i := range w {
					w[i] = math.Exp(5 * rng.NormFloat64())
				}
				return w
			}
			return slices.Repeat([]float64{0.1}, n)
		}
		transported(t, "random", cost, n, m, weights(n), weights(m))
	}
}

// Between as many equal weights the optimum is that of the assignment problem.
func TestTransportIsAssignment(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	for n := 1; n <= 120; n += 7 {
		cost := make([]float64, n*n)
		for k := range cost {
			cost[k] = rng.ExpFloat64()
		}
		want, err := Solve(cost, n)
		if err != nil {
			t.Fatal(err)
		}
		p := transported(t, "square", cost, n, n, nil, nil)
		if !(math.Abs(p.Cost-want.Total/float64(n)) <= 1e-12) {
			t.Errorf("n = %d: %v, as an assignment %v", n, p.Cost, want.Total/float64(n))
		}
	}
}

// On the line the optimum is that of quantiles, whatever the weights.
func TestTransportOnTheLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	const n, m = 40, 57
	x, y := make([]float64, n), make([]float64, m)
	a, b := make([]float64, n), make([]float64, m)
	for i := range x {
		x[i], a[i] = rng.NormFloat64(), rng.ExpFloat64()
	}
	for j := range y {
		y[j], b[j] = rng.NormFloat64(), rng.ExpFloat64()
	}
	cost := make([]float64, 0, n*m)
	for _, v := range x {
		for _, w := range y {
			cost = append(cost, math.Abs(v-w))
		}
	}
	var want float64 // ∫ |F − G|
	a, b = normal(a, n), normal(b, m)
	all := slices.Concat(x, y)
	slices.Sort(all)
	for k := range all[1:] {
		var at float64
		for i, v := range x {
			if v <= all[k] {
				at += a[i]
			}
		}
		for j, w := range y {
			if w <= all[k] {
				at -= b[j]
			}
		}
		want += math.Abs(at) * (all[k+1] - all[k])
	}
	if p := transported(t, "line", cost, n, m, a, b); !(math.Abs(p.Cost-want) <= 1e-12) {
		t.Errorf("W₁ on the line is %v, want %v", p.Cost, want)
	}
}

func TestTransportRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, bad := range map[string]func() (Plan, error){
		"at least 1 of each":      func() (Plan, error) { return Transport(nil, 0, 3, nil, nil) },
		"3 costs for 2 rows":      func() (Plan, error) { return Transport([]float64{1, 2, 3}, 2, 2, nil, nil) },
		"row 0 and column 1":      func() (Plan, error) { return Transport([]float64{1, nan}, 1, 2, nil, nil) },
		"draw subsamples":         func() (Plan, error) { return Transport(nil, 1<<40, 1<<40, nil, nil) },
		"one each":                func() (Plan, error) { return Transport([]float64{1, 2}, 1, 2, nil, []float64{1}) },
		"weight of column 1 is":   func() (Plan, error) { return Transport([]float64{1, 2}, 1, 2, nil, []float64{1, -1}) },
		"weight of row 0 is +Inf": func() (Plan, error) { return Transport([]float64{1, 2}, 1, 2, []float64{inf}, nil) },
		"add up to 0":             func() (Plan, error) { return Transport([]float64{1, 2}, 1, 2, []float64{0}, nil) },
		"column 0 is 1e+301":      func() (Plan, error) { return Transport([]float64{1e301, 2}, 1, 2, nil, nil) },
		"of column 0 is NaN":      func() (Plan, error) { return Transport([]float64{1, 2}, 1, 2, nil, []float64{nan, 1}) },
		"add up to +Inf":          func() (Plan, error) { return Transport([]float64{1, 2}, 1, 2, nil, []float64{1e308, 1e308}) },
	} {
		if _, err := bad(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
}

func BenchmarkTransport(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 7))
	for _, size := range [][2]int{{50, 57}, {500, 500}, {2000, 2000}} {
		n, m := size[0], size[1]
		x, y := make([]float64, 8*n), make([]float64, 8*m)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		cost := make([]float64, n*m)
		for i := range n {
			for j := range m {
				for c := range 8 {
					d := x[8*i+c] - y[8*j+c]
					cost[i*m+j] += d * d
				}
			}
		}
		b.Run(map[bool]string{true: "small", false: "large"}[n < 100], func(b *testing.B) {
			for b.Loop() {
				if _, err := Transport(cost, n, m, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
