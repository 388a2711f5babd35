package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Two sets of values have one digest if and only if they lie on the same steps of the grid.
func TestADigestIsThatOfTheGrid(t *testing.T) {
	const n, sigma = 1500, 1 // three pieces
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i) - 700
	}
	values[3] = 0
	g, base := Grid(sigma, 0), Digest(values, sigma, 0)
	for _, i := range []int{0, 3, 511, 512, n - 1} {
		moved := slices.Clone(values)
		if moved[i] += g / 4; Digest(moved, sigma, 0) != base {
			t.Errorf("value %d moved within its step, and the digest changed", i)
		}
		if moved[i] += g; Digest(moved, sigma, 0) == base {
			t.Errorf("value %d moved by a step, and the digest is the same", i)
		}
	}
	moved := slices.Clone(values)
	if moved[3] = math.Copysign(0, -1); Digest(moved, sigma, 0) != base {
		t.Error("−0 is told from 0")
	}
	if moved[3] = math.NaN(); Digest(moved, sigma, 0) != base {
		t.Error("NaN is released as 0, and has another digest")
	}
	if Digest(values[:n-1], sigma, 0) == base || Digest(values[1:], sigma, 0) == base {
		t.Error("fewer values have the same digest")
	}
}

func TestReleaseLiesOnTheGrid(t *testing.T) {
	const sigma, step = 0.37, 9
	g := Grid(sigma, 0)
	if g != 0x1p-32 {
		t.Fatalf("Grid(0.37) = %g, want 2^-2 · 2^-30", g)
	}
	values := []float64{0, 1. / 3, -1. / 3, 1e3 * math.Pi, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 5e-324}
	released := make([]float64, len(values))
	noise := make([]float64, len(values))
	s := Seeded(8)
	if err := s.Release(released, values, sigma, 0, "grid", step); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(noise, make([]float64, len(values)), sigma, 0, "grid", step); err != nil {
		t.Fatal(err)
	}
	for i, y := range released {
		if steps := y / g; steps != math.Trunc(steps) || math.IsInf(y, 0) {
			t.Errorf("released %v is not a multiple of the grid", y)
		}
		// The sum was exact: subtracting the noise gives the rounded value back.
		got, want := y-noise[i], onGrid(values[i], 1/g)*g
		if got != want {
			t.Errorf("value %v: released minus noise is %v, want %v", values[i], got, want)
		}
		if v := values[i]; math.Abs(v) < 1e5 && !(math.Abs(want-v) <= g/2) {
			t.Errorf("value %v was rounded to %v", v, want)
		}
	}
	if noise[4] != released[4] {
		t.Error("NaN does not count as 0")
	}
	if want := 3 * g; GridInflation(sigma, 0, 9) != want {
		t.Errorf("GridInflation = %g, want %g", GridInflation(sigma, 0, 9), want)
	}
	// In place.
	if err := s.Release(values, values, sigma, 0, "grid", step); err != nil || !slices.Equal(values, released) {
		t.Errorf("released in place: %v, %v", values, err)
	}
}

// A span that the noise's own grid does not reach gets the finest grid that does, and
// nothing within it is cut.
func TestTheGridReachesItsSpan(t *testing.T) {
	for _, span := range []float64{0, 1, 0x1p20, 0x1p21, 0x1p21 + 1, 3e6, 0x1p40, 0x1.8p60} {
		const sigma = 1.4
		own, g := Grid(sigma, 0), Grid(sigma, span)
		if !(g >= own && g*reach >= span) || g > own && !(g/2*reach < span) {
			t.Errorf("span %v: grid %g beside %g of the noise alone, which reaches %g", span, g, own, g*reach)
		}
		released, noise := []float64{span, -span, span / 3}, make([]float64, 3)
		for _, values := range [][]float64{released, noise} {
			if err := Seeded(4).Release(values, values, sigma, span, "span", 0); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range []float64{span, -span, span / 3} {
			if got := released[i] - noise[i]; !(math.Abs(got-v) <= g/2) {
				t.Errorf("span %v: %v was released as %v before noise", span, v, got)
			}
		}
		ahead, err := Seeded(4).Ahead(1, sigma, span, "span", 0)
		if err != nil {
			t.Fatal(err)
		}
		if dst := []float64{span}; ahead.Release(dst, dst) != nil || dst[0] != released[0] {
			t.Errorf("span %v: %v drawn ahead, %v at once", span, dst[0], released[0])
		}
	}
	if g := Grid(1.4, math.Inf(1)); g != Grid(1.4, 0) {
		t.Errorf("no span is endless, and its grid is %g", g)
	}
}

// Noise drawn ahead is that of the release, to the last bit, over chunks and their ends.
func TestAheadIsTheRelease(t *testing.T) {
	for _, n := range []int{1, chunkLength, chunkLength + 3, 5*chunkLength - 1} {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Sin(float64(i)) * 1e3
		}
		values[0] = math.NaN()
		want, got := make([]float64, n), slices.Clone(values)
		if err := Seeded(5).Release(want, values, 0.7, 0, "a", 3); err != nil {
			t.Fatal(err)
		}
		ahead, err := Seeded(5).Ahead(n, 0.7, 0, "a", 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := ahead.Release(got, got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d values: another release", n)
		}
		if err := ahead.Release(make([]float64, n+1), make([]float64, n+1)); err == nil || !strings.Contains(err.Error(), "found") {
			t.Errorf("one value too many: %v", err)
		}
	}
	if _, err := Seeded(5).Ahead(3, math.NaN(), 0, "a", 3); err == nil {
		t.Error("noise without a scale was drawn")
	}
}

// A value on the grid is the nearest one, the even one of two, and what lies out of reach is
// cut there.
func TestOnGridIsTheNearest(t *testing.T) {
	for _, g := range []float64{1, 0x1p-40, 0x1p-931, 0x1p972} {
		for steps, want := range map[float64]float64{
			0: 0, 0.5: 0, 1.5: 2, 2.5: 2, -0.5: 0, -1.5: -2, 0.49999999999999994: 0, 0.5000000000000001: 1, 7: 7, -7.25: -7,
			reach - 1: reach - 1, reach - 0.5: reach, reach: reach, -reach: -reach, 2 * reach: reach, -3 * reach: -reach,
			1<<50 + 0.5: 1 << 50, 1<<50 + 1.5: 1<<50 + 2,
		} {
			if got := onGrid(steps*g, 1/g); got != want {
				t.Errorf("%v steps of %v: %v, want %v", steps, g, got, want)
			}
		}
		if got := []float64{onGrid(math.NaN(), 1/g), onGrid(math.Inf(1), 1/g), onGrid(math.Inf(-1), 1/g)}; !slices.Equal(got, []float64{0, reach, -reach}) {
			t.Errorf("NaN and infinities: %v", got)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		v := rng.NormFloat64() * math.Exp2(float64(rng.IntN(60)-10))
		if got, want := onGrid(v, 8), math.RoundToEven(max(-reach, min(reach, 8*v))); got != want {
			t.Fatalf("%v: %v, want %v", v, got, want)
		}
	}
}

// The farthest noise is four times the farthest tail over two.
func TestNothingIsFartherThanFarthest(t *testing.T) {
	end := tail + math.Sqrt(2*106*math.Ln2) // uniform numbers end at 2⁻¹⁰⁶
	if most := 4 * end / 2; !(Farthest(1) >= most && Farthest(1) <= 1.05*most && Farthest(0.25) == Farthest(1)/4) {
		t.Errorf("Farthest(1) = %v, the sum of four ends over two is %v", Farthest(1), most)
	}
}

func BenchmarkRelease(b *testing.B) {
	dst := make([]float64, 1<<18)
	for i := 0; b.Loop(); i++ {
		if err := Seeded(1).Release(dst, dst, 1, 0, "bench", i); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(dst))/b.Elapsed().Seconds()/1e6, "Mreleases/s")
}
