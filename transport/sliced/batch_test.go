package sliced

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/transport"
)

// batch returns problems of sizes that differ, weighted and not.
func batch(count, size, dim int, rng *rand.Rand) []Problem {
	side := func(n int, weighted bool) transport.Measure {
		m := transport.Uniform(transport.NewPoints(n, dim))
		for i := range m.Data {
			m.Data[i] = float32(rng.NormFloat64())
		}
		if weighted {
			m.Weights = make([]float64, n)
			for i := range m.Weights {
				m.Weights[i] = rng.ExpFloat64()
			}
		}
		return m
	}
	problems := make([]Problem, count)
	for i := range problems {
		problems[i] = Problem{side(size+i%3, i%4 == 1), side(size+i%5, i%4 > 1)}
	}
	return problems
}

func TestABatchIsItsProblemsOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 0))
	problems := batch(9, 40, 5, rng)
	u := Orthonormal(5, 8, rng) // 40 directions: more than are projected on together
	for _, p := range []float64{1, 2, 3} {
		batched, err := SWGradients(problems, p, u)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range problems {
			d, byX, byY, err := SWGradient(q.X, q.Y, p, u)
			if err != nil {
				t.Fatal(err)
			}
			if got := batched[i]; got.Distance != d || !slices.Equal(got.ByX, byX) || !slices.Equal(got.ByY, byY) {
				t.Errorf("p = %v, problem %d: batched %v, alone %v", p, i, got.Distance, d)
			}
		}
	}
	if none, err := SWGradients(nil, 2, u); err != nil || len(none) != 0 {
		t.Errorf("no problems: %v, %v; want none", none, err)
	}
}

func TestABatchNamesTheProblemThatIsBad(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 0))
	problems := batch(3, 10, 4, rng)
	problems[1].Y.Data[7] = float32(math.NaN())
	got, err := SWGradients(problems, 2, Orthonormal(4, 2, rng))
	if err == nil || got != nil || !strings.Contains(err.Error(), "problem 1") {
		t.Errorf("got %v, %v; want an error about problem 1", got, err)
	}
}

func BenchmarkSWGradients(b *testing.B) {
	rng := rand.New(rand.NewPCG(43, 0))
	for _, size := range []int{50, 1000} {
		problems := batch(64, size, 8, rng)
		u := Orthonormal(8, 9, rng)
		b.Run(fmt.Sprintf("64 of %d/batched", size), func(b *testing.B) {
			for b.Loop() {
				if _, err := SWGradients(problems, 2, u); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("64 of %d/looped", size), func(b *testing.B) {
			for b.Loop() {
				for _, q := range problems {
					if _, _, _, err := SWGradient(q.X, q.Y, 2, u); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
