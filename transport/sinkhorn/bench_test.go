package sinkhorn

import (
	"testing"

	"molehill/transport"
)

func BenchmarkSolve(b *testing.B) {
	x, y := cloud(2000, 64, 1, 0), cloud(2000, 64, 2, 0.3)
	b.Run("survey", func(b *testing.B) {
		for b.Loop() {
			newRows(x, y, SquaredL2, 0).survey(true)
		}
	})
	r := newRows(x, y, SquaredL2, 0)
	r.survey(true)
	u := transport.Uniform(x).Shares()
	s := newState(r, u, u, 0, false)
	s.epsilon = 6
	b.Run("sweep", func(b *testing.B) {
		for b.Loop() {
			s.sweep(1)
		}
	})
	res, err := Solver{Epsilon: 0.05 * 128}.Solve(Problem{transport.Uniform(x), transport.Uniform(y), SquaredL2})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("finish", func(b *testing.B) {
		for b.Loop() {
			res.finish(1e-6)
		}
	})
	b.Run("gradient", func(b *testing.B) {
		for b.Loop() {
			res.Gradient()
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			Solver{Epsilon: 0.05 * 128}.Solve(Problem{transport.Uniform(x), transport.Uniform(y), SquaredL2})
		}
	})
	var ps []Problem
	for i := range 64 {
		ps = append(ps, Problem{transport.Uniform(cloud(50, 794, uint64(i), 0)), transport.Uniform(cloud(50, 794, uint64(i)+100, 0.1)), SquaredL2})
	}
	b.Run("batch", func(b *testing.B) {
		for b.Loop() {
			Solver{Epsilon: 0.05 * 1600}.SolveAll(ps)
		}
	})
}
