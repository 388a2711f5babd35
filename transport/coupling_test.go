package transport

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func solve(t *testing.T, l Line) *Coupling {
	t.Helper()
	c, err := l.Solve()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// randomLine has unsorted points, ties within and between the samples, and
// weights of all sizes, some of them 0.
func randomLine(rng *rand.Rand, n, m int) Line {
	sample := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
			if rng.IntN(3) == 0 {
				v[i] = float64(rng.IntN(3))
			}
		}
		return v
	}
	weigh := func(n int) []float64 {
		if rng.IntN(3) == 0 {
			return nil
		}
		w := make([]float64, n)
		for i := range w {
			w[i] = rng.Float64() * float64(rng.IntN(3))
		}
		w[rng.IntN(n)] = 1
		return w
	}
	return Line{X: sample(n), Y: sample(m), A: weigh(n), B: weigh(m)}
}

func TestPlanHasBothMarginalsAndIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for _, size := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {4, 6}, {5, 5}, {250, 1000}, {3000, 32}, {999, 1000}} {
		for range 20 {
			n, m := size[0], size[1]
			l := randomLine(rng, n, m)
			plan := solve(t, l).Plan()
			if len(plan) > n+m-1 {
				t.Errorf("%v: %d pairs, want at most n+m−1", size, len(plan))
			}
			left, right := make([]float64, n), make([]float64, m)
			for k, pair := range plan {
				left[pair.I] += pair.Mass
				right[pair.J] += pair.Mass
				if !(pair.Mass > 0) || k > 0 && (!(l.X[pair.I] >= l.X[plan[k-1].I] && l.Y[pair.J] >= l.Y[plan[k-1].J])) {
					t.Fatalf("%v: pair %v after %v is not monotone", size, pair, plan[k-1])
				}
			}
			for _, side := range []struct{ got, want []float64 }{{left, Shares(l.A, n)}, {right, Shares(l.B, m)}} {
				for i, want := range side.want {
					if !(math.Abs(side.got[i]-want) <= 1e-15) {
						t.Fatalf("%v: a marginal is %v, want %v", size, side.got[i], want)
					}
				}
			}
		}
	}
	// Equal weights of equal numbers couple rank with rank, and nothing else.
	for _, n := range []int{1, 3, 49, 10_000} {
		if plan := Couple(nil, Levels(nil, n), Levels(slices.Repeat([]float64{0.1}, n), n)); len(plan) != n {
			t.Errorf("n = %d: %d pairs", n, len(plan))
		}
	}
}

// No transport costs less: equal weights have permutations for extreme plans, and
// of a few points all can be tried.
func TestCostIsTheLeastOverPermutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for range 40 {
		n := 1 + rng.IntN(5)
		l := randomLine(rng, n, n)
		l.A, l.B = nil, nil
		for _, p := range []float64{1, 1.3, 2, 5} {
			least := math.Inf(1)
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			var visit func(k int)
			visit = func(k int) {
				if k == n {
					var cost float64
					for i, j := range order {
						cost += math.Pow(math.Abs(l.X[i]-l.Y[j]), p) / float64(n)
					}
					least = min(least, cost)
				}
				for i := k; i < n; i++ {
					order[k], order[i] = order[i], order[k]
					visit(k + 1)
					order[k], order[i] = order[i], order[k]
				}
			}
			visit(0)
			if got, err := solve(t, l).Cost(p); err != nil || !(math.Abs(got-least) <= 1e-12) {
				t.Errorf("p = %v: cost %v, %v; the best permutation has %v", p, got, err, least)
			}
		}
	}
}

// Known answer: whole-number weights are repetitions, and repeating every point
// changes no measure, so that any two samples become two of equal size.
func TestWeightsAreRepetitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	for range 60 {
		n, m := 1+rng.IntN(6), 1+rng.IntN(6)
		l, repeated := randomLine(rng, n, m), Line{}
		l.A, l.B = make([]float64, n), make([]float64, m)
		whole := func(w []float64) (sum int) {
			for i := range w {
				w[i] = float64(rng.IntN(4))
			}
			w[0]++
			for _, v := range w {
				sum += int(v)
			}
			return sum
		}
		sumA, sumB := whole(l.A), whole(l.B)
		for i, v := range l.X {
			repeated.X = append(repeated.X, slices.Repeat([]float64{v}, int(l.A[i])*sumB)...)
		}
		for j, v := range l.Y {
			repeated.Y = append(repeated.Y, slices.Repeat([]float64{v}, int(l.B[j])*sumA)...)
		}
		for _, p := range []float64{1, 1.5, 2, 3} {
			if got, want := distance(t, l, p), distance(t, repeated, p); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("p = %v: W = %v, repeated %v", p, got, want)
			}
		}
		// The gradient and the map of a point are those of its repetitions, summed
		// and shared.
		byX, byY, err := solve(t, l).Gradient(2)
		if err != nil {
			t.Fatal(err)
		}
		longX, longY, _ := solve(t, repeated).Gradient(2)
		mapped, longMapped := solve(t, l).Map(), solve(t, repeated).Map()
		at := 0
		for i, w := range l.A {
			var sum float64
			for range int(w) * sumB {
				sum += longX[at]
				if !(math.Abs(longMapped[at]-mapped[i]) <= 1e-12) {
					t.Errorf("T(x_%d) = %v, repeated %v", i, mapped[i], longMapped[at])
				}
				at++
			}
			if !(math.Abs(byX[i]-sum) <= 1e-12) {
				t.Errorf("∂/∂x_%d = %v, repeated %v", i, byX[i], sum)
			}
		}
		at = 0
		for j, w := range l.B {
			var sum float64
			for range int(w) * sumA {
				sum += longY[at]
				at++
			}
			if !(math.Abs(byY[j]-sum) <= 1e-12) {
				t.Errorf("∂/∂y_%d = %v, repeated %v", j, byY[j], sum)
			}
		}
	}
}

// A permutation of the points permutes map and gradient, ties included. With ties
// broken by position it would not: the test has them on every line.
func TestLineDoesNotDependOnTheOrderOfPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	for range 200 {
		n, m := 2+rng.IntN(8), 1+rng.IntN(8)
		l := randomLine(rng, n, m)
		l.X[1] = l.X[0]
		order := rng.Perm(n)
		q := Line{X: make([]float64, n), Y: l.Y, B: l.B}
		if l.A != nil {
			q.A = make([]float64, n)
		}
		for to, from := range order {
			q.X[to] = l.X[from]
			if l.A != nil {
				q.A[to] = l.A[from]
			}
		}
		for _, p := range []float64{1, 2, 2.5} {
			before, beforeY, _ := solve(t, l).Gradient(p)
			after, afterY, _ := solve(t, q).Gradient(p)
			mapped, mappedAfter := solve(t, l).Map(), solve(t, q).Map()
			for to, from := range order {
				if !(math.Abs(after[to]-before[from]) <= 1e-14 && math.Abs(mapped[from]-mappedAfter[to]) <= 1e-14) {
					t.Fatalf("p = %v, %+v: derivative %v and target %v become %v and %v", p, l, before[from], mapped[from], after[to], mappedAfter[to])
				}
			}
			for j := range beforeY {
				if !(math.Abs(beforeY[j]-afterY[j]) <= 1e-14) {
					t.Fatalf("p = %v: derivatives of Y change from %v to %v", p, beforeY, afterY)
				}
			}
		}
	}
}

func TestMapIsTheMeanOfThePlan(t *testing.T) {
	// By hand: ½ of 1 and ½ of 2 go to 10 (⅓), 20 (⅓) and 30 (⅓); 1.5 has no mass,
	// and at level ½ there is 20.
	l := Line{X: []float64{2, 1.5, 1}, A: []float64{3, 0, 3}, Y: []float64{30, 10, 20}}
	want := []float64{80. / 3, 20, 40. / 3}
	for i, got := range solve(t, l).Map() {
		if !(math.Abs(got-want[i]) <= 1e-14) {
			t.Errorf("T(%v) = %v, want %v", l.X[i], got, want[i])
		}
	}
	// Outer points without mass go to the outer points with mass.
	l = Line{X: []float64{-1, 0, 1}, A: []float64{0, 1, 0}, Y: []float64{4, 5, 6, 7}, B: []float64{0, 1, 1, 0}}
	for i, want := range []float64{5, 5.5, 6} {
		if got := solve(t, l).Map()[i]; got != want {
			t.Errorf("T(%v) = %v, want %v", l.X[i], got, want)
		}
	}
}

// Weights that add up to the same in another order leave no dust behind: a
// distance that is 0 is 0, not the root of a rounding error.
func TestRoundedWeightsLeaveNoDust(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	for range 200 {
		n := 2 + rng.IntN(50)
		var l Line
		for range n {
			at, whole := rng.NormFloat64()*1e3, rng.Float64()
			part := whole * rng.Float64()
			l.X, l.A = append(l.X, at), append(l.A, whole)
			l.Y, l.B = append(l.Y, at, at), append(l.B, part, whole-part)
		}
		if d := distance(t, l, 2); !(d <= 1e-12) {
			t.Errorf("n = %d: a sample cut in two is %v away from itself", n, d)
		}
	}
}

// Derivatives by either sample alone are those that come with the other's.
func TestPowerOfOneSideAlone(t *testing.T) {
	x, y := []float64{-1, 0.5, 2}, []float64{0, 0.5, 1, 3}
	plan := Couple(nil, Levels(nil, len(x)), Levels(nil, len(y)))
	for _, unit := range []float64{1, 2} {
		for _, p := range []float64{1, 2, 3} {
			byX, byY := make([]float64, len(x)), make([]float64, len(y))
			cost := PowerIn(unit, plan, x, y, p, byX, byY)
			aloneX, aloneY := make([]float64, len(x)), make([]float64, len(y))
			costs := []float64{PowerIn(unit, plan, x, y, p, aloneX, nil), PowerIn(unit, plan, x, y, p, nil, aloneY), PowerIn(unit, plan, x, y, p, nil, nil)}
			for _, alone := range costs {
				if !(math.Abs(alone-cost) <= 1e-14*cost) {
					t.Errorf("p = %v in units of %v: W_p^p is %v, alone %v", p, unit, cost, alone)
				}
			}
			for _, sides := range [][2][]float64{{byX, aloneX}, {byY, aloneY}} {
				for i, v := range sides[0] {
					if alone := sides[1][i]; !(math.Abs(alone-v) <= 1e-14*math.Abs(v)) {
						t.Errorf("p = %v in units of %v: derivatives %v, alone %v", p, unit, sides[0], sides[1])
					}
				}
			}
		}
	}
}
