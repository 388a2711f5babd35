package sliced

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

func normalPoints(rng *rand.Rand, n, dim int, mean float64) transport.Points {
	x := transport.NewPoints(n, dim)
	for i := range x.Data {
		x.Data[i] = float32(mean + rng.NormFloat64())
	}
	return x
}

// Distances to a reference are those between the points, near the origin and far from it.
func TestReferenceIsSW2(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		n, m, dim, count int
		mean             float64
	}{{1, 1, 1, 1, 0}, {50, 50, 3, 40, 0}, {7, 900, 8, 65, 0}, {900, 7, 8, 33, 100}, {2000, 3000, 48, 96, -1000}} {
		y := normalPoints(rng, c.m, c.dim, c.mean)
		u := Uniform(c.dim, c.count, rng)
		r, err := NewReference(y, u)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the reference stays as it is
			x := normalPoints(rng, c.n, c.dim, c.mean+0.3)
			got, err := r.SW2(x)
			if err != nil {
				t.Fatal(err)
			}
			want, err := SW2(x, y, u)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(got.Value-want.Value) <= 1e-6*(want.Value+math.Abs(c.mean)) && math.Abs(got.StandardError-want.StandardError) <= 1e-4*want.Value) || got.Directions != want.Directions {
				t.Errorf("%+v: %+v, and %+v between the points", c, got, want)
			}
		}
		if far, err := r.SW2(normalPoints(rng, 5, c.dim, c.mean+50)); err != nil || !(far.Value >= 1) {
			t.Errorf("%+v: points far away are at %+v, %v", c, far, err)
		}
	}
}

func TestReferenceRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	y, u := normalPoints(rng, 9, 3, 0), Uniform(3, 5, rng)
	for name, c := range map[string]struct {
		y transport.Points
		u Directions
	}{
		"no points":         {transport.Points{Dim: 3}, u},
		"another dimension": {normalPoints(rng, 9, 2, 0), u},
		"not a number":      {transport.Points{Dim: 3, Data: []float32{0, float32(math.NaN()), 1}}, u},
	} {
		if _, err := NewReference(c.y, c.u); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Log(err)
		}
	}
	r, err := NewReference(y, u)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]transport.Points{"no points": {Dim: 3}, "another dimension": normalPoints(rng, 9, 2, 0)} {
		if _, err := r.SW2(x); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	defer func(limit int64) { MemoryLimit = limit }(MemoryLimit)
	MemoryLimit = 100
	if _, err := NewReference(y, u); err == nil {
		t.Error("a table beyond the limit is made")
	}
}

// What a look at a flow's progress costs: 5,000 particles, 10,000 held-out latents.
func BenchmarkReference(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 4))
	x, y := normalPoints(rng, 5000, 8, 0), normalPoints(rng, 10_000, 8, 0)
	u := Orthonormal(8, 64, rng)
	b.Run("points", func(b *testing.B) {
		for b.Loop() {
			if _, err := SW2(x, y, u); err != nil {
				b.Fatal(err)
			}
		}
	})
	r, err := NewReference(y, u)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("reference", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.SW2(x); err != nil {
				b.Fatal(err)
			}
		}
	})
}
