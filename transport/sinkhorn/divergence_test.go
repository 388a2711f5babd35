package sinkhorn

import (
	"math"
	"testing"

	"molehill/transport"
)

// finite is the central difference of value by coordinate k of x. The step is
// exact in float32.
func finite(x transport.Points, k int, value func() float64) float64 {
	const step = 0x1p-12
	was := x.Data[k]
	x.Data[k] = was + step
	up, width := value(), float64(x.Data[k])
	x.Data[k] = was - step
	down := value()
	width -= float64(x.Data[k])
	x.Data[k] = was
	return (up - down) / width
}

func TestDivergencesHaveTheGradientOfTheirValue(t *testing.T) {
	x, y := cloud(14, 2, 1, 0), transport.Measure{Points: cloud(9, 2, 2, 1), Weights: weights(9, 1)}
	x2, y2 := transport.Uniform(cloud(8, 2, 3, 0)), transport.Uniform(cloud(12, 2, 4, 1))
	s := Solver{Epsilon: 0.5, Tolerance: 1e-12, MaxIterations: 100_000}
	for _, c := range []Cost{SquaredL2, Mixture{1, 0.5}, L2} {
		for name, loss := range map[string]func() (*Divergence, error){
			"biased":   func() (*Divergence, error) { return s.Biased(transport.Uniform(x), y, c) },
			"debiased": func() (*Divergence, error) { return s.Debiased(transport.Uniform(x), y, x2, y2, c) },
			"p=0":      func() (*Divergence, error) { return s.SemiDebiased(x, y, 0, c) },
			"p=0.4":    func() (*Divergence, error) { return s.SemiDebiased(x, y, 0.4, c) },
			"p=1":      func() (*Divergence, error) { return s.SemiDebiased(x, y, 1, c) },
		} {
			d, err := loss()
			if err != nil || !d.Converged {
				t.Fatalf("%s: %v", name, err)
			}
			for k := range x.Data {
				want := finite(x, k, func() float64 {
					d, err := loss()
					if err != nil {
						t.Fatal(err)
					}
					return d.Value
				})
				near(t, name+": derivative", d.ByX[k], want, 2e-4)
			}
		}
	}
}

// With p = 0 the semi-debiased loss is the biased one less its term of Y alone,
// with p = 1 the debiased one: 001 below Eq. 6.
func TestSemiDebiasedBetweenItsEnds(t *testing.T) {
	s := Solver{Epsilon: 0.5, Tolerance: 1e-12}
	x, y := cloud(20, 2, 1, 0), transport.Uniform(cloud(9, 2, 2, 1))
	first := transport.Points{Dim: 2, Data: x.Data[:20]}
	second := transport.Points{Dim: 2, Data: x.Data[20:]}
	get := func(d *Divergence, err error) *Divergence {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	mixed, biased := get(s.SemiDebiased(x, y, 0, SquaredL2)), get(s.Biased(transport.Uniform(x), y, SquaredL2))
	near(t, "p = 0", mixed.Value, biased.Value+biased.Terms[2].Dual, 1e-10)
	if !(biased.Value >= 0) {
		t.Errorf("divergence %v", biased.Value)
	}
	mixed, debiased := get(s.SemiDebiased(x, y, 1, SquaredL2)), get(s.Debiased(transport.Uniform(first), y, transport.Uniform(second), y, SquaredL2))
	near(t, "p = 1", mixed.Value, debiased.Value+debiased.Terms[2].Dual, 1e-10)
	for k, v := range debiased.ByX {
		near(t, "gradient by X", mixed.ByX[k], v, 1e-10)
	}
	// Rows n … n+n′−1 carry no derivative of W(X, Y): only of the self term.
	self := solved(t, s, Problem{transport.Uniform(first), transport.Uniform(second), SquaredL2})
	_, bySecond, _ := self.Gradient()
	for k, v := range bySecond {
		near(t, "gradient by X′", mixed.ByX[20+k], -v, 1e-10)
	}
}

func TestMixed(t *testing.T) {
	for _, test := range []struct {
		total    int
		p        float64
		n, extra int
	}{{70, 0.4, 50, 20}, {50, 0, 50, 0}, {100, 1, 50, 50}, {1, 0.9, 1, 0}, {7, 0.5, 5, 2}} {
		n, extra, err := Mixed(test.total, test.p)
		if err != nil || n != test.n || extra != test.extra || extra != int(math.Floor(float64(n)*test.p)) {
			t.Errorf("%d points with p = %v: %d + %d, %v; want %d + %d", test.total, test.p, n, extra, err, test.n, test.extra)
		}
	}
	for _, test := range []struct {
		total int
		p     float64
	}{{7, 1}, {0, 0.5}, {10, -0.1}, {10, math.NaN()}} {
		if _, _, err := Mixed(test.total, test.p); err == nil {
			t.Errorf("%d points with p = %v are no error", test.total, test.p)
		}
	}
}

func TestLabelled(t *testing.T) {
	x := cloud(3, 2, 1, 0)
	l, err := Labelled(x, []int{2, 0, 1}, 3, 15)
	if err != nil {
		t.Fatal(err)
	}
	if got := SquaredL2.At(l.Row(0), l.Row(1)) - SquaredL2.At(x.Row(0), x.Row(1)); !(math.Abs(got-2*15*15) <= 1e-9) {
		t.Errorf("another class costs %v more; want 2·15²", got)
	}
	if _, err := Labelled(x, []int{0, 1, 3}, 3, 15); err == nil {
		t.Error("label 3 of 3 classes is no error")
	}
	if _, err := Labelled(x, []int{0}, 3, 15); err == nil {
		t.Error("one label for three points is no error")
	}
}

// The plan, its map and its marginals.
func TestPlan(t *testing.T) {
	x := transport.Measure{Points: cloud(30, 2, 1, 0), Weights: weights(30, 1)}
	y := transport.Uniform(cloud(20, 2, 2, 1))
	r := solved(t, Solver{Epsilon: 0.3, Tolerance: 1e-12}, Problem{x, y, SquaredL2})
	plan, err := r.Plan()
	if err != nil {
		t.Fatal(err)
	}
	mapped := r.Map()
	var cost float64
	for i, a := range x.Shares() {
		var sum float64
		mean := make([]float64, 2)
		for j := range 20 {
			p := plan[20*i+j]
			sum += p
			cost += p * SquaredL2.At(x.Row(i), y.Row(j))
			near(t, "entry", p, a/20*math.Exp((r.F[i]+r.G[j]-SquaredL2.At(x.Row(i), y.Row(j)))/0.3), 1e-14)
			mean[0] += p / a * float64(y.Row(j)[0])
			mean[1] += p / a * float64(y.Row(j)[1])
		}
		near(t, "row", sum, a, 1e-12)
		near(t, "map", mapped[2*i], mean[0], 1e-10)
		near(t, "map", mapped[2*i+1], mean[1], 1e-10)
	}
	near(t, "transport", r.Transport, cost, 1e-10)
}

// Points of no weight stay where they are.
func TestMapOfPointsOfNoWeight(t *testing.T) {
	x := transport.Measure{Points: cloud(4, 3, 1, 0), Weights: []float64{1, 0, 2, 0}}
	r := solved(t, Solver{Epsilon: 0.5}, Problem{x, transport.Uniform(cloud(5, 3, 2, 1)), SquaredL2})
	mapped := r.Map()
	for i, w := range x.Weights {
		for k, v := range x.Row(i) {
			if stays := mapped[3*i+k] == float64(v); stays != (w == 0) {
				t.Errorf("point %d of weight %v: coordinate %d goes from %v to %v", i, w, k, v, mapped[3*i+k])
			}
		}
	}
}

// A problem whose rows are met before any iteration, and whose columns are not, is solved.
func TestRowsThatAreMetAtFirstAreNoSolution(t *testing.T) {
	line := func(x ...float32) transport.Measure { return transport.Uniform(transport.Points{Dim: 1, Data: x}) }
	kernel := [2][2]float64{{1.5, 0.5}, {1, 1}}
	bridge := Func{Value: func(x, y []float32) float64 { return -math.Log(kernel[int(x[0])][int(y[0])]) }}
	r, err := Solver{Epsilon: 1}.Solve(Problem{line(0, 1), line(0, 1), bridge})
	if err != nil || !r.Converged || r.Iterations < 2 || !(r.MarginalError <= 1e-4) {
		t.Errorf("%d iterations leave marginals %v off: %v", r.Iterations, r.MarginalError, err)
	}
}

// Of unbalanced transport the divergence is at least 0 where masses differ, too. Between
// masses a and b at one point the plan has the mass m = (ab)^κ, κ = (ε+ρ)/(ε+2ρ), and
// costs ε·ab + ρ·(a+b) − (ε+2ρ)·m, so that all of it is (ε+2ρ)·(a^κ − b^κ)².
func TestUnbalancedDivergencesAreNotNegative(t *testing.T) {
	x := cloud(20, 2, 1, 0)
	heavy := transport.Measure{Points: x, Weights: make([]float64, 20)}
	for i := range heavy.Weights {
		heavy.Weights[i] = 0.1
	}
	for _, c := range [][2]float64{{1, 0.1}, {10, 1}, {0.1, 5}} {
		s := Solver{Epsilon: c[0], Reach: c[1], Tolerance: 1e-10, MaxIterations: 100_000}
		d, err := s.Biased(transport.Uniform(x), heavy, SquaredL2)
		if err != nil || !d.Converged || !(d.Value > 0) {
			t.Errorf("ε = %v, ρ = %v: %v, %v", c[0], c[1], d.Value, err)
		}
		same, err := s.Biased(heavy, heavy, SquaredL2)
		if err != nil || !(math.Abs(same.Value) <= 1e-8) {
			t.Errorf("of a measure from itself: %v, %v", same.Value, err)
		}
		at := func(mass float64) transport.Measure {
			return transport.Measure{Points: transport.Points{Dim: 1, Data: []float32{3}}, Weights: []float64{mass}}
		}
		κ := (c[0] + c[1]) / (c[0] + 2*c[1])
		for _, masses := range [][2]float64{{1, 2}, {0.5, 0.25}, {3, 1}} {
			want := (c[0] + 2*c[1]) * math.Pow(math.Pow(masses[0], κ)-math.Pow(masses[1], κ), 2)
			d, err := s.Biased(at(masses[0]), at(masses[1]), SquaredL2)
			if err != nil || !d.Converged || !(math.Abs(d.Value-want) <= 1e-8*(1+want)) {
				t.Errorf("ε = %v, ρ = %v: %v between masses %v, %v; want %v", c[0], c[1], d.Value, masses, err, want)
			}
		}
	}
}
