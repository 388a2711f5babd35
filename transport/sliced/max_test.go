package sliced

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/transport"
)

// The largest W_p of a translation by v is ‖v‖, along v; of a cloud and its
// likeness stretched along e by s it is along e.
func TestMaxSWFindsKnownDirections(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 2))
	const n, dim = 400, 6
	x := gaussian(rng, n, dim)
	axis := gaussian(rng, 1, dim)
	axis.OnSphere()
	moved, stretched := x.Clone(), x.Clone()
	for i := range n {
		along := inner(x.Row(i), axis.Row(0))
		for c, e := range axis.Row(0) {
			moved.Row(i)[c] += 1.5 * e
			stretched.Row(i)[c] += 2 * float32(along) * e
		}
	}
	for _, p := range []float64{1, 2, 3} {
		for name, y := range map[string]transport.Points{"translation": moved, "stretching": stretched} {
			got, err := MaxSW(transport.Uniform(x), transport.Uniform(y), p, Uniform(dim, 10, rng))
			if err != nil {
				t.Fatal(err)
			}
			if cosine := math.Abs(inner(got.Direction, axis.Row(0))); !(cosine >= 0.98 && math.Abs(inner(got.Direction, got.Direction)-1) <= 1e-5) {
				t.Errorf("%s, p = %v: direction %v, %v along the axis", name, p, got.Direction, cosine)
			}
			if name == "translation" && !(math.Abs(got.Value-1.5) <= 1e-4) {
				t.Errorf("p = %v: max-SW of a translation by 1.5 is %v", p, got.Value)
			}
		}
	}
}

// In the plane all directions can be tried. The search comes within 10⁻³ of the
// best of 4,000 for nearly all pairs of weighted samples, is never above it by
// more than their spacing allows, and never below its best start.
func TestMaxSWAgainstAllDirections(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 2))
	const count = 4000
	all := Directions{Dim: 2, Count: count}
	for j := range count {
		sin, cos := math.Sincos(math.Pi * float64(j) / count)
		all.Data = append(all.Data, float32(cos), float32(sin))
	}
	missed := 0
	for range 20 {
		x, y, p := weighted(rng, 1+rng.IntN(20), 2), weighted(rng, 1+rng.IntN(20), 2), float64(1+rng.IntN(3))
		starts := Uniform(2, 5, rng)
		s, err := newPairing(x, y, p, all, 1)
		if err != nil {
			t.Fatal(err)
		}
		best, start := slices.Max(s.run(all, false)), slices.Max(s.run(starts, false))
		got, err := MaxSW(x, y, p, starts)
		if err != nil {
			t.Fatal(err)
		}
		if !(got.Value <= best*(1+2e-3) && got.Value >= start*(1-1e-6)) {
			t.Errorf("max-SW = %v; best of all directions %v, of the starts %v", got.Value, best, start)
		}
		if got.Value < 0.999*best {
			missed++
		}
	}
	if missed > 2 {
		t.Errorf("%d of 20 searches end in a lower maximum", missed)
	}
}

func TestMaxSWOfEqualMeasuresIsZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 2))
	x := weighted(rng, 50, 3)
	if got, err := MaxSW(x, x, 2, Uniform(3, 4, rng)); err != nil || got.Value != 0 || len(got.Direction) != 3 {
		t.Errorf("%+v, %v; want 0", got, err)
	}
	one, other := weighted(rng, 5, 1), weighted(rng, 9, 1) // a line has one direction
	sw, _ := SW(one, other, 2, Orthonormal(1, 1, rng))
	if got, err := MaxSW(one, other, 2, Orthonormal(1, 1, rng)); err != nil || !(math.Abs(got.Value-sw.Value) <= 1e-6) {
		t.Errorf("on the line %+v, %v; want W₂ = %v", got, err, sw.Value)
	}
}

// A maximum does not depend on the unit of the points, nor on where they are.
func TestMaxSWClimbsAtEveryScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	x, y, starts := gaussian(rng, 30, 3), gaussian(rng, 30, 3), Uniform(3, 2, rng)
	for _, points := range []transport.Points{x, y} { // so that a shift is exact
		for i, v := range points.Data {
			points.Data[i] = float32(math.Round(float64(v)*256) / 256)
		}
	}
	for _, p := range []float64{1, 2, 5, 9} {
		want, err := MaxSW(transport.Uniform(x), transport.Uniform(y), p, starts)
		if err != nil || want.Rounds == 0 {
			t.Fatalf("%+v, %v", want, err) // the start is no maximum
		}
		for _, scale := range []float32{0x1p50, 0x1p-50} {
			got, err := MaxSW(transport.Uniform(scaled(x, scale)), transport.Uniform(scaled(y, scale)), p, starts)
			if err != nil || !(math.Abs(got.Value/float64(scale)/want.Value-1) <= 1e-4) {
				t.Errorf("p = %v, scale %v: %+v, %v; want %v times that", p, scale, got, err, want.Value)
			}
		}
		got, err := MaxSW(transport.Uniform(shifted(x, 4096)), transport.Uniform(shifted(y, 4096)), p, starts)
		if err != nil || !(math.Abs(got.Value/want.Value-1) <= 1e-4) {
			t.Errorf("p = %v, shifted: %+v, %v; want %v", p, got, err, want.Value)
		}
	}
}

func scaled(p transport.Points, factor float32) transport.Points {
	q := p.Clone()
	for i := range q.Data {
		q.Data[i] *= factor
	}
	return q
}

func shifted(p transport.Points, by float32) transport.Points {
	q := p.Clone()
	for i := range q.Data {
		q.Data[i] += by
	}
	return q
}
