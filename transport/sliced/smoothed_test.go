package sliced

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"molehill/transport"
)

// Known answer: smoothing both sides leaves a translation as it is, so that over
// whole bases SW₂ = ‖v‖/√d, whatever σ.
func TestSmoothedTranslation(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 2))
	x := weighted(rng, 80, 3)
	y := transport.Measure{Points: x.Clone(), Weights: x.Weights}
	v := []float32{0.5, -1, 0.25}
	for i := range y.Len() {
		for c := range v {
			y.Row(i)[c] += v[c]
		}
	}
	want := math.Sqrt(inner(v, v) / 3)
	for _, sigma := range []float64{0, 0.05, 1, 20} {
		d, err := Smoothed{sigma, 2}.Exact(x, y, Orthonormal(3, 3, rng))
		if err != nil || !(math.Abs(d.Value-want) <= d.Quadrature+1e-6 && d.Quadrature <= 1e-5) || (d.Quadrature > 0) != (sigma > 0) {
			t.Errorf("σ = %v: %+v, %v; want %v", sigma, d, err, want)
		}
	}
}

// Sampling tends to the exact distance as weighted points are repeated: the noise
// of n copies is a better draw. At 60,000 points a side its bias and spread are
// some 10⁻³ (√(1/n) of σ, twice), and 0.01 is a wide margin. Without smoothing the
// distance is another.
func TestSampledTendsToExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 2))
	x, y, u := gaussian(rng, 20, 2), gaussian(rng, 30, 2), Orthonormal(2, 5, rng)
	for i := range y.Data {
		y.Data[i] *= 3
	}
	repeat := func(p transport.Points, times int) transport.Measure {
		r := transport.Points{Dim: p.Dim}
		for range times {
			r.Data = append(r.Data, p.Data...)
		}
		return transport.Uniform(r)
	}
	s := Smoothed{1.5, 2}
	exact, err := s.Exact(transport.Uniform(x), transport.Uniform(y), u)
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := s.Sampled(repeat(x, 3000), repeat(y, 2000), u, rng)
	if err != nil {
		t.Fatal(err)
	}
	if plain, _ := SW2(x, y, u); !(math.Abs(sampled.Value-exact.Value) <= 0.01 && plain.Value >= exact.Value+0.1) {
		t.Errorf("sampled %v, exact %v, without smoothing %v", sampled.Value, exact.Value, plain.Value)
	}
	// Few draws are far from their own measure.
	same, err := s.Sampled(transport.Uniform(x), transport.Uniform(x), u, rng)
	if err != nil || !(same.Value >= 0.2) {
		t.Errorf("equal measures by 20 draws each: %+v, %v", same, err)
	}
}

func TestSampledDoesNotDependOnCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 2))
	x, y, u := weighted(rng, 100, 2), weighted(rng, 70, 2), Uniform(2, 50, rng)
	draw := func() Distance {
		d, err := Smoothed{1, 2}.Sampled(x, y, u, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	many := draw()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(7))
	if other := draw(); other != many {
		t.Errorf("%+v on seven cores, %+v", other, many)
	}
}
