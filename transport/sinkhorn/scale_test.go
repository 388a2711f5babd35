package sinkhorn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

// table is a problem with its costs.
func table(n, m, dim int, seed uint64) (p sinkhorn.Problem, costs []float64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	cloud := func(n int) transport.Points {
		x := transport.NewPoints(n, dim)
		for i := range x.Data {
			x.Data[i] = rng.Float32()
		}
		return x
	}
	p = sinkhorn.Problem{X: transport.Uniform(cloud(n)), Y: transport.Uniform(cloud(m)), Cost: sinkhorn.Mixture{Squared: 1, Absolute: 1}}
	for i := range n {
		for j := range m {
			costs = append(costs, p.Cost.At(p.X.Row(i), p.Y.Row(j)))
		}
	}
	return p, costs
}

// Scale and Solve find the same potentials, but for their constant, at any ε, and with
// points that weigh nothing, whose potentials are finite.
func TestScaleIsSolve(t *testing.T) {
	for _, c := range []struct {
		n, m, empty int
		epsilon     float64
	}{{7, 5, 0, 10}, {7, 5, 2, 0.5}, {50, 90, 30, 0.05}, {50, 50, 0, 0.01}, {1, 1, 0, 1}, {3, 40, 39, 0.1}} {
		p, costs := table(c.n, c.m, 20, uint64(c.n))
		a, b := make([]float64, c.n), make([]float64, c.m)
		for i := range a {
			a[i] = 1
		}
		for j := range b {
			if j >= c.empty {
				b[j] = 2 + float64(j%3)
			}
		}
		p.Y.Weights = b
		s := sinkhorn.Solver{Epsilon: c.epsilon, Tolerance: 1e-9, MaxIterations: 200_000}
		want, err := s.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Scale(costs, a, b)
		if err != nil {
			t.Fatal(err)
		}
		apart := got.F[0] - want.F[0]
		for i := range got.F {
			if off := math.Abs(got.F[i] - want.F[i] - apart); !(off < 1e-6) {
				t.Fatalf("%+v: f of point %d is off by %v", c, i, off)
			}
		}
		for j := range got.G {
			off := math.Abs(got.G[j] - want.G[j] + apart)
			if b[j] == 0 {
				off = 0 * got.G[j]
			}
			if !(off < 1e-6) {
				t.Fatalf("%+v: g of point %d is %v, off by %v", c, j, got.G[j], off)
			}
		}
	}
}

// Cut short, the plan's rows still have their masses, whatever ε was reached.
func TestScaleCutShort(t *testing.T) {
	_, costs := table(20, 30, 50, 3)
	a, b := make([]float64, 20), make([]float64, 30)
	for i := range a {
		a[i] = 1
	}
	for j := range b {
		b[j] = 1
	}
	for _, limit := range []int{1, 10, 30} {
		p, err := sinkhorn.Solver{Epsilon: 1e-3, MaxIterations: limit}.Scale(costs, a, b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			var sum float64
			for j := range b {
				sum += math.Exp((p.F[i]+p.G[j]-costs[i*30+j])/1e-3) / 30
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%d iterations: row %d of the plan has %v of its mass", limit, i, sum)
			}
		}
	}
}

func TestScaleRefuses(t *testing.T) {
	one, nan := []float64{1}, []float64{math.NaN()}
	s := sinkhorn.Solver{Epsilon: 1}
	for want, bad := range map[string]func() (sinkhorn.Potentials, error){
		"ε = 0":         func() (sinkhorn.Potentials, error) { return sinkhorn.Solver{}.Scale(one, one, one) },
		"masses a":      func() (sinkhorn.Potentials, error) { return s.Scale(one, []float64{0}, one) },
		"masses b":      func() (sinkhorn.Potentials, error) { return s.Scale(one, one, []float64{-1}) },
		"of sum NaN":    func() (sinkhorn.Potentials, error) { return s.Scale(one, nan, one) },
		"masses a of":   func() (sinkhorn.Potentials, error) { return s.Scale(nil, nil, one) },
		"2 costs":       func() (sinkhorn.Potentials, error) { return s.Scale([]float64{1, 2}, one, one) },
		"not finite":    func() (sinkhorn.Potentials, error) { return s.Scale(nan, one, one) },
		"leave out Rea": func() (sinkhorn.Potentials, error) { return sinkhorn.Solver{Epsilon: 1, Reach: 1}.Scale(one, one, one) },
	} {
		if _, err := bad(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want it to say %q", err, want)
		}
	}
}

// BenchmarkScale is beside Solve, for costs that either gets as they are.
func BenchmarkScale(b *testing.B) {
	const n, m = 50, 90
	_, costs := table(n, m, 784, 1)
	known := sinkhorn.Func{Value: func(x, y []float32) float64 { return costs[int(x[0])*m+int(y[0])] }}
	numbered := func(n int) transport.Measure {
		p := transport.NewPoints(n, 1)
		for i := range p.Data {
			p.Data[i] = float32(i)
		}
		return transport.Uniform(p)
	}
	x, y := numbered(n), numbered(m)
	s := sinkhorn.Solver{Epsilon: 0.05, Tolerance: 1e-3, MaxIterations: 150}
	b.Run(fmt.Sprintf("scale/%dx%d", n, m), func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Scale(costs, x.Shares(), y.Shares()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("solve/%dx%d", n, m), func(b *testing.B) {
		for b.Loop() {
			if _, err := s.SolveAll([]sinkhorn.Problem{{X: x, Y: y, Cost: known}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
