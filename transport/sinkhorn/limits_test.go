package sinkhorn

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"molehill/transport"
)

func uniform(dim int, data ...float32) transport.Measure {
	return transport.Uniform(transport.Points{Dim: dim, Data: data})
}

// A point too far out to be worth its cost keeps a mass that no float64 holds,
// and that is where it belongs.
func TestUnbalancedLeavesOutliersAlone(t *testing.T) {
	for _, n := range []int{6, 200} {
		x, y := cloud(n, 2, 1, 0), cloud(n, 2, 2, 0)
		iterations := func(x, y transport.Points) int {
			for _, online := range []bool{false, true} {
				r, err := Solver{Epsilon: 0.1, Reach: 1, Online: online}.Solve(Problem{transport.Uniform(x), transport.Uniform(y), SquaredL2})
				if err != nil || !r.Converged || r.Iterations > 200 {
					t.Fatalf("n = %d: %+v, %v", n, r, err)
				}
				if !(r.Dual <= r.Primal && r.Primal < r.Dual+1e-4) {
					t.Errorf("n = %d: between %v and %v", n, r.Dual, r.Primal)
				}
				if online {
					return r.Iterations
				}
			}
			return 0
		}
		usual := iterations(x, y)
		far := x.Clone()
		far.Data[0] = 100
		if got := iterations(far, y); got > 2*usual+10 {
			t.Errorf("n = %d: %d iterations with an outlier, %d without", n, got, usual)
		}
		if got := iterations(y, far); got > 2*usual+10 {
			t.Errorf("n = %d: %d iterations with an outlier in y, %d without", n, got, usual)
		}
		r, err := Solver{Epsilon: 0.1, Reach: 1}.Solve(Problem{transport.Uniform(far), transport.Uniform(far), SquaredL2})
		if err != nil || !r.Converged || r.Iterations > 200 {
			t.Errorf("n = %d, self term: %+v, %v", n, r, err)
		}
	}
}

// Weights of vanishing shares count as none.
func TestVanishingShares(t *testing.T) {
	x := transport.Measure{Points: transport.Points{Dim: 1, Data: []float32{0, 5, 1}}, Weights: []float64{1e300, 1e-300, 1e300}}
	y := uniform(1, 0, 1, 3)
	got, err := Solver{Epsilon: 0.5}.Solve(Problem{x, y, SquaredL2})
	if err != nil {
		t.Fatal(err)
	}
	x.Weights = []float64{1, 0, 1}
	want, err := Solver{Epsilon: 0.5}.Solve(Problem{x, y, SquaredL2})
	if err != nil || got.Dual != want.Dual || got.F[1] != want.F[1] || math.IsNaN(got.F[1]) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// Whatever the numbers are, there is an error or a result of numbers.
func TestNoNaNWithoutAnError(t *testing.T) {
	measure := func(weights ...float64) transport.Measure {
		return transport.Measure{Points: transport.Points{Dim: 1, Data: []float32{0, 1, 3}}, Weights: weights}
	}
	costs := func(values ...float64) Cost {
		return Func{Value: func(x, y []float32) float64 { return values[int(x[0]+y[0])%len(values)] }}
	}
	y := measure(1, 1, 1)
	big := &Potentials{F: []float64{1e307, 0, 0}, G: make([]float64, 3)}
	for _, c := range []struct {
		name string
		s    Solver
		p    Problem
		says string // "": a result is expected
	}{
		{"large masses", Solver{Epsilon: 1, Reach: 1}, Problem{measure(1e200, 1e200, 1e200), y, SquaredL2}, "mass of"},
		{"small masses", Solver{Epsilon: 1, Reach: 1}, Problem{measure(1e-200, 1e-200, 1e-200), y, SquaredL2}, "mass of"},
		{"a large start", Solver{Epsilon: 1e-3, Start: big}, Problem{y, y, SquaredL2}, ""},
		{"a large start, unbalanced", Solver{Epsilon: 1e-3, Reach: 1, Start: big}, Problem{y, y, SquaredL2}, "in units of ε"},
		{"a spread that overflows", Solver{Epsilon: 1e299}, Problem{y, y, costs(1.5e308, -1.5e308)}, "difference overflows"},
		{"large costs", Solver{Epsilon: 1e299}, Problem{y, y, costs(1.5e308, 1e307)}, ""},
		{"tiny costs", Solver{Epsilon: 1e-310}, Problem{y, y, costs(1e-308, 2e-308)}, "any"},
	} {
		r, err := c.s.Solve(c.p)
		switch {
		case c.says == "any":
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want an error that says %q", c.name, err, c.says)
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && math.IsNaN(r.Dual+r.Primal+r.Transport+r.MarginalError+r.F[0]+r.G[2]) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// A bad start costs iterations, not the solution.
func TestStartFarOff(t *testing.T) {
	x, y := cloud(20, 2, 3, 0), cloud(20, 2, 4, 0)
	p := Problem{transport.Uniform(x), transport.Uniform(y), SquaredL2}
	want, err := Solver{Epsilon: 0.5}.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for _, size := range []float64{1, 1e3, 1e15, 1e300} {
		start := Potentials{make([]float64, 20), make([]float64, 20)}
		for i := range start.F {
			start.F[i], start.G[i] = size*rng.NormFloat64(), size*rng.NormFloat64()
		}
		r, err := Solver{Epsilon: 0.5, Start: &start}.Solve(p)
		if err != nil || !r.Converged || r.Iterations > 4*want.Iterations+100 || !(math.Abs(r.Dual-want.Dual) <= 1e-6) {
			t.Errorf("size %v: %+v, %v; want %+v", size, r, err, want)
		}
		self := Problem{p.X, p.X, SquaredL2}
		if r, err = (Solver{Epsilon: 0.5, Start: &Potentials{start.F, start.F}}).Solve(self); err != nil || !r.Converged || r.Iterations > 200 {
			t.Errorf("size %v, self term: %+v, %v", size, r, err)
		}
	}
	// A constant moved from one side to the other is no change.
	start := Potentials{make([]float64, 20), make([]float64, 20)}
	for i := range start.F {
		start.F[i], start.G[i] = want.F[i]+1e4, want.G[i]-1e4
	}
	if r, err := (Solver{Epsilon: 0.5, Start: &start}).Solve(p); err != nil || r.Iterations > 2 {
		t.Errorf("from the solution: %+v, %v", r, err)
	}
}

// Near points far from the others have the distance that they have.
func TestDistancesOfNearPairs(t *testing.T) {
	x, y := uniform(1, 0, 1e4), uniform(1, 1e-5, 1e4+1)
	for _, online := range []bool{false, true} {
		r, err := Solver{Epsilon: 1, Online: online}.Solve(Problem{x, y, L2})
		if err != nil {
			t.Fatal(err)
		}
		byX, byY, err := r.Gradient()
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{-0.5, -0.5} {
			if !(math.Abs(byX[i]-want) <= 1e-6 && math.Abs(byY[i]+want) <= 1e-6) {
				t.Errorf("point %d: derivatives %v and %v, want ∓0.5", i, byX[i], byY[i])
			}
		}
		if want := (1e-5 + 1) / 2; !(math.Abs(r.Transport-want) <= 1e-9) {
			t.Errorf("⟨C, P⟩ = %v, want %v", r.Transport, want)
		}
	}
	// Nor does what they have in common matter.
	x, y = uniform(2, 1e4, 0, -1e4, 0), uniform(2, 1e4, 1e-10, -1e4, -1e-10)
	r, err := Solver{Epsilon: 1}.Solve(Problem{x, y, L2})
	if err != nil {
		t.Fatal(err)
	}
	if byX, _, err := r.Gradient(); err != nil || !(math.Abs(byX[1]+0.5) <= 1e-6 && math.Abs(byX[3]-0.5) <= 1e-6 && math.Abs(byX[0])+math.Abs(byX[2]) <= 1e-6) {
		t.Errorf("derivatives %v, %v; want (0, −½) and (0, ½)", byX, err)
	}
}

// Unbalanced transport is homogeneous: weights t·a and t·b at ε/t² of the product
// measure's part … have the plan of mass t where ε·KL(P|a⊗b) is left out, and a
// tolerance that is a part of the mass finds it at every scale.
func TestUnbalancedToleranceIsAPartOfTheMass(t *testing.T) {
	// One point a side: c·m + ε·KL(m|ab) + ρ·KL(m|a) + ρ·KL(m|b) is least at
	// log m = ((ε+ρ)·log ab − c)/(ε+2ρ).
	for _, weight := range []float64{1e-9, 1, 1e9} {
		x := transport.Measure{Points: transport.Points{Dim: 1, Data: []float32{0}}, Weights: []float64{weight}}
		y := transport.Measure{Points: transport.Points{Dim: 1, Data: []float32{1}}, Weights: []float64{weight}}
		const epsilon, rho = 0.1, 1.
		r, err := Solver{Epsilon: epsilon, Reach: rho}.Solve(Problem{x, y, SquaredL2})
		if err != nil || !r.Converged {
			t.Errorf("weight %v: %+v, %v", weight, r, err)
			continue
		}
		want := math.Exp(((epsilon+rho)*2*math.Log(weight) - 1) / (epsilon + 2*rho))
		if !(math.Abs(r.Transport-want) <= 1e-5*max(want, weight)) {
			t.Errorf("weight %v: ⟨C, P⟩ = %v, want %v", weight, r.Transport, want)
		}
	}
	// Many points: as many iterations at every scale, or nearly.
	for _, weight := range []float64{1e-9, 1e-3, 1e3, 1e9} {
		x := transport.Measure{Points: cloud(30, 2, 6, 0), Weights: make([]float64, 30)}
		for i := range x.Weights {
			x.Weights[i] = weight
		}
		y := transport.Measure{Points: cloud(30, 2, 7, 0), Weights: x.Weights}
		r, err := Solver{Epsilon: 0.1, Reach: 1}.Solve(Problem{x, y, SquaredL2})
		if err != nil || !r.Converged || r.Iterations > 300 {
			t.Errorf("weight %v: %+v, %v", weight, r, err)
			continue
		}
		fine, err := Solver{Epsilon: 0.1, Reach: 1, Tolerance: 1e-11}.Solve(Problem{x, y, SquaredL2})
		if err != nil || !(math.Abs(r.Transport-fine.Transport) <= 1e-4*weight) {
			t.Errorf("weight %v: ⟨C, P⟩ = %v, %v at a finer tolerance, %v", weight, r.Transport, fine.Transport, err)
		}
	}
}

// As the reach grows the value tends to the balanced one, and the bounds stay.
func TestLongReach(t *testing.T) {
	p := Problem{transport.Uniform(cloud(20, 2, 8, 0)), transport.Uniform(cloud(20, 2, 9, 0)), SquaredL2}
	want, err := Solver{Epsilon: 0.5, Tolerance: 1e-13}.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, reach := range []float64{1e8, 1e12, 1e15} {
		r, err := Solver{Epsilon: 0.5, Reach: reach, Tolerance: 1e-13}.Solve(p)
		if err != nil || !(math.Abs(r.Dual-want.Dual) <= 1e-6 && math.Abs(r.Primal-want.Dual) <= 1e-6) {
			t.Errorf("ρ = %v: between %v and %v, %v; want %v", reach, r.Dual, r.Primal, err, want.Dual)
		}
	}
}

// At a large ε the plan is a⊗b, and the value tends to its cost.
func TestLargeEpsilon(t *testing.T) {
	p := Problem{transport.Uniform(cloud(20, 2, 10, 0)), transport.Uniform(cloud(15, 2, 11, 0)), SquaredL2}
	var mean float64
	for i := range 20 {
		for j := range 15 {
			mean += SquaredL2.At(p.X.Row(i), p.Y.Row(j)) / 300
		}
	}
	// Potentials tend to mean costs.
	potential := func(i, j int) (cost float64) {
		for k := range 300 {
			if i < 0 || i == k/15 {
				if j < 0 || j == k%15 {
					cost += SquaredL2.At(p.X.Row(k/15), p.Y.Row(k%15))
				}
			}
		}
		if i < 0 {
			return cost / 20
		}
		return cost / 15
	}
	fromX := func(i int) (cost float64) {
		for k := range 20 {
			cost += SquaredL2.At(p.X.Row(i), p.X.Row(k)) / 20
		}
		return cost
	}
	for _, epsilon := range []float64{1e7, 1e12, 1e18, 1e30} {
		r, err := Solver{Epsilon: epsilon}.Solve(p)
		if err != nil || !r.Converged || !(math.Abs(r.Dual-mean) <= 1e-5 && r.Primal >= r.Dual-1e-12 && r.Primal <= mean+1e-9) {
			t.Errorf("ε = %v: from %v to %v after %d iterations, %v; want a value of %v", epsilon, r.Dual, r.Primal, r.Iterations, err, mean)
		}
		near(t, "F + G", r.F[2]+r.G[3], potential(2, -1)+potential(-1, 3)-mean, 1e-5)
		self, err := Solver{Epsilon: epsilon}.Solve(Problem{p.X, p.X, SquaredL2})
		if err != nil || !self.Converged || !(self.Primal >= self.Dual-1e-12) {
			t.Errorf("ε = %v, self term: from %v to %v, %v", epsilon, self.Dual, self.Primal, err)
		}
		if epsilon >= 1e12 { // before, potentials are as good as Tolerance
			near(t, "F − F", self.F[2]-self.F[3], fromX(2)-fromX(3), 1e-5)
			near(t, "F − F", r.F[2]-r.F[3], potential(2, -1)-potential(3, -1), 1e-5)
		}
		r, err = Solver{Epsilon: epsilon, Reach: 1e6}.Solve(p)
		if err != nil || !r.Converged || !(math.Abs(r.Dual-mean) <= 1e-3 && math.Abs(r.Primal-mean) <= 1e-3) {
			t.Errorf("ε = %v, unbalanced: from %v to %v after %d iterations, %v; want a value near %v", epsilon, r.Dual, r.Primal, r.Iterations, err, mean)
		}
	}
}

// A constant added to a cost is added to the value.
func TestCostsWithALargeOffset(t *testing.T) {
	x, y := transport.Uniform(cloud(20, 2, 12, 0)), transport.Uniform(cloud(15, 2, 13, 0))
	y.Weights = make([]float64, 15)
	for j := range y.Weights {
		y.Weights[j] = float64(j % 3) // some points without weight
	}
	round := func(x, y []float32) float64 { return math.Round(1024 * SquaredL2.At(x, y)) }
	for _, offset := range []float64{0x1p40, -0x1p40} {
		for _, online := range []bool{false, true} {
			s := Solver{Epsilon: 100, Tolerance: 1e-9, Online: online}
			want, err := s.Solve(Problem{x, y, Func{Value: round}})
			if err != nil {
				t.Fatal(err)
			}
			moved := Func{Value: func(x, y []float32) float64 { return round(x, y) + offset }, Slopes: func(dx, dy []float64, x, y []float32, weight float64) {}}
			got, err := s.Solve(Problem{x, y, moved})
			if err != nil || !got.Converged {
				t.Fatalf("%+v, %v", got, err)
			}
			for _, c := range [][2]float64{{got.Dual, want.Dual}, {got.Primal, want.Primal}, {got.Transport, want.Transport}, {got.F[3] + got.G[3], want.F[3] + want.G[3]}} {
				near(t, "less the offset", c[0]-offset, c[1], 1e-2)
			}
			s.Start, s.Tolerance = &got.Potentials, 1e-5 // potentials have 1e-16 of the offset
			if again, err := s.Solve(Problem{x, y, moved}); err != nil || again.Iterations > 2 {
				t.Errorf("from the solution: %+v, %v", again, err)
			}
			plan, _ := want.Plan()
			if moved, err := got.Plan(); err != nil || !(math.Abs(moved[7]-plan[7]) <= 1e-6*plan[7]) {
				t.Errorf("P = %v, %v; want %v", moved[7], err, plan[7])
			}
			if _, _, err := got.Gradient(); err != nil {
				t.Error(err)
			}
		}
	}
	// Two far clusters: nothing but the offset changes. Distances, whose gradient
	// needs the costs themselves.
	a, b := uniform(2, 0, 0, 1, 1), uniform(2, 4096, 0, 4096, 3)
	r, err := Solver{Epsilon: 0.1}.Solve(Problem{a, b, L2})
	if err != nil {
		t.Fatal(err)
	}
	if byX, _, err := r.Gradient(); err != nil || !(math.Abs(byX[0]+0.5) <= 1e-5 && math.Abs(byX[2]+0.5) <= 1e-5) {
		t.Errorf("derivatives %v, %v; want −½ along the first axis", byX, err)
	}
}

func TestRefusesCostsAndLabels(t *testing.T) {
	x := uniform(1, 0, 1)
	for _, c := range []Cost{(*Mixture)(nil), &Mixture{-1, 0}, &Func{}, (*Euclidean)(nil)} {
		if _, err := (Solver{Epsilon: 1}).Solve(Problem{x, x, c}); err == nil {
			t.Errorf("cost %#v was taken", c)
		}
	}
	value, err := Solver{Epsilon: 1}.Solve(Problem{x, x, Mixture{Squared: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if pointed, err := (Solver{Epsilon: 1}).Solve(Problem{x, x, &Mixture{Squared: 1}}); err != nil || pointed.Dual != value.Dual {
		t.Errorf("a cost by pointer: %+v, %v; want %v", pointed, err, value.Dual)
	}
	dx := make([]float64, 1)
	if (Func{}).ByX(dx, []float32{1}, []float32{2}, 1); !math.IsNaN(dx[0]) {
		t.Errorf("no slopes add %v", dx)
	}
	ragged := transport.Points{Dim: 2, Data: []float32{1, 2, 3}}
	for _, c := range []struct {
		p       transport.Points
		labels  []int
		classes int
	}{
		{uniform(1, 1).Points, []int{0}, -5}, {uniform(1, 1).Points, []int{0}, 0}, {uniform(1, 1).Points, []int{0}, math.MaxInt},
		{uniform(1, 1).Points, []int{2}, 2}, {uniform(1, 1).Points, nil, 2}, {ragged, []int{0}, 2},
	} {
		if p, err := Labelled(c.p, c.labels, c.classes, 1); err == nil {
			t.Errorf("labels %v of %d classes gave %v", c.labels, c.classes, p)
		}
	}
	for _, p := range []transport.Points{ragged, {Dim: 1, Data: []float32{1, float32(math.NaN()), 3}}} {
		if d, err := (Solver{Epsilon: 1}).SemiDebiased(p, transport.Uniform(transport.NewPoints(2, p.Dim)), 0.5, SquaredL2); err == nil {
			t.Errorf("%v has the loss %+v", p, d)
		}
	}
}

// Run with -race: several goroutines may read one result, and Watch is called by
// one at a time.
func TestConcurrentUse(t *testing.T) {
	p := Problem{transport.Uniform(cloud(20, 2, 14, 0)), transport.Uniform(cloud(20, 2, 15, 0)), SquaredL2}
	calls := 0
	results, err := Solver{Epsilon: 0.5, Watch: func(int, float64) { calls++ }}.SolveAll([]Problem{p, p, p, p})
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, r := range results {
		all += r.Iterations
	}
	if calls != all {
		t.Errorf("Watch was told of %d iterations of %d", calls, all)
	}
	want, _ := results[0].Plan()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			results[0].Map()
			if got, err := results[0].Plan(); err != nil || got[3] != want[3] {
				t.Errorf("P = %v, %v; want %v", got[3], err, want[3])
			}
			if _, _, err := results[0].Gradient(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
