package sliced

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"molehill/transport"
)

// weighted returns n points with random weights, some of them 0, or with none.
func weighted(rng *rand.Rand, n, dim int) transport.Measure {
	m := transport.Uniform(gaussian(rng, n, dim))
	if rng.IntN(3) > 0 {
		m.Weights = make([]float64, n)
		for i := range m.Weights {
			m.Weights[i] = rng.Float64() * float64(rng.IntN(3))
		}
		m.Weights[rng.IntN(n)] = 1
	}
	return m
}

// reference returns SW_p^p and its gradients from transport.Line, in double
// precision, one direction after the other.
func reference(t *testing.T, x, y transport.Measure, p float64, u Directions) (power float64, byX, byY []float64) {
	t.Helper()
	byX, byY = make([]float64, len(x.Data)), make([]float64, len(y.Data))
	line := transport.Line{X: make([]float64, x.Len()), Y: make([]float64, y.Len()), A: x.Weights, B: y.Weights}
	for l := range u.Count {
		project(line.X, x.Points, u.Row(l))
		project(line.Y, y.Points, u.Row(l))
		c, err := line.Solve()
		if err != nil {
			t.Fatal(err)
		}
		cost, err := c.Cost(p)
		if err != nil {
			t.Fatal(err)
		}
		onX, onY, err := c.Gradient(p)
		if err != nil {
			t.Fatal(err)
		}
		power += cost / float64(u.Count)
		addAlong(byX, onX, u.Row(l), u.Count)
		addAlong(byY, onY, u.Row(l), u.Count)
	}
	return power, byX, byY
}

// The fast path is the reference, at sizes that do and do not fill tiles and
// blocks of directions, with and without weights, for several p.
func TestSWAndItsGradientEqualTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 2))
	for _, c := range []struct{ n, m, dim, count int }{{1, 1, 1, 1}, {40, 40, 1, 3}, {33, 70, 2, 5}, {7, 5, 3, 40}, {100, 100, 8, 33}, {64, 31, 20, 70}} {
		for range 3 {
			x, y, u := weighted(rng, c.n, c.dim), weighted(rng, c.m, c.dim), Uniform(c.dim, c.count, rng)
			for _, p := range []float64{1, 1.5, 2, 3} {
				want, wantX, wantY := reference(t, x, y, p, u)
				d, byX, byY, err := SWGradient(x, y, p, u)
				if err != nil {
					t.Fatal(err)
				}
				if !(math.Abs(d.Power-want) <= 1e-5*(1+want) && math.Abs(d.Value-math.Pow(want, 1/p)) <= 1e-5*(1+d.Value)) {
					t.Errorf("%+v, p = %v: SW_p^p = %v, want %v", c, p, d.Power, want)
				}
				if value, err := SW(x, y, p, u); err != nil || value != d {
					t.Errorf("%+v, p = %v: SW is %+v, %v; with its gradient %+v", c, p, value, err, d)
				}
				for side, by := range [][]float32{byX, byY} {
					reference := [][]float64{wantX, wantY}[side]
					var off, whole float64
					for i, v := range by {
						off += (float64(v) - reference[i]) * (float64(v) - reference[i])
						whole += reference[i] * reference[i]
					}
					if !(math.Sqrt(off) <= 2e-5*(math.Sqrt(whole)+1e-3)) {
						t.Errorf("%+v, p = %v, side %d: gradient off by %v of %v", c, p, side, math.Sqrt(off), math.Sqrt(whole))
					}
				}
			}
		}
	}
}

// The reference for privacy is the same gradient once more, also along more directions
// than it deals with side by side.
func TestSWGradientEqualsOutputGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 2))
	x, y, u := gaussian(rng, 50, 4), gaussian(rng, 30, 4), Orthonormal(4, 2*linesAtOnce/4+1, rng)
	for _, p := range []transport.Points{x, y} { // ties in every direction
		copy(p.Row(3), p.Row(0))
		copy(p.Row(4), p.Row(0))
	}
	double := func(p transport.Points) []float64 {
		v := make([]float64, len(p.Data))
		for i := range v {
			v[i] = float64(p.Data[i])
		}
		return v
	}
	d, byX, byY, err := SWGradient(transport.Uniform(x), transport.Uniform(y), 2, u)
	if err != nil {
		t.Fatal(err)
	}
	power, wantX, wantY, err := OutputGradients(double(x), double(y), u)
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(d.Power-power) <= 1e-6*power) {
		t.Errorf("SW²₂ is %v, want %v", d.Power, power)
	}
	for side, by := range [][]float32{byX, byY} {
		for i, v := range by {
			if want := [][]float64{wantX, wantY}[side][i]; !(math.Abs(float64(v)-want) <= 1e-6) {
				t.Fatalf("side %d: derivative %d is %v, want %v", side, i, v, want)
			}
		}
	}
}

// Known answer: over whole bases SW₂² of a translation by v is ‖v‖²/d, and every
// point pulls with ∓2v/(d·n).
func TestGradientOfATranslation(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 2))
	x := gaussian(rng, 500, 3)
	y := x.Clone()
	v := []float32{0.5, -1, 2}
	for i := range y.Len() {
		for c := range v {
			y.Row(i)[c] += v[c]
		}
	}
	d, byX, byY, err := SWGradient(transport.Uniform(x), transport.Uniform(y), 2, Orthonormal(3, 4, rng))
	if err != nil {
		t.Fatal(err)
	}
	if want := inner(v, v) / 3; !(math.Abs(d.Power-want) <= 1e-5 && d.StandardError <= 1e-5) {
		t.Errorf("SW₂² = %v, standard error %v; want ‖v‖²/3 = %v and none, for every basis says the same", d.Power, d.StandardError, want)
	}
	for i := range x.Len() {
		for c := range v {
			if want := -2 * float64(v[c]) / 3 / 500; !(math.Abs(float64(byX[3*i+c])-want) <= 1e-7 && math.Abs(float64(byY[3*i+c])+want) <= 1e-7) {
				t.Fatalf("∂/∂x_%d = %v, ∂/∂y_%d = %v; want ∓2v/(3n)", i, byX[3*i:3*i+3], i, byY[3*i:3*i+3])
			}
		}
	}
}

// The standard error is what it says: over 400 draws of the directions, the root
// mean square of (value − limit)/error is 1, for independent directions and for
// stacks. Its own standard deviation is below 0.06 here (0.035 at many degrees of
// freedom), so that 0.75 to 1.3 has no false alarms to speak of. A standard error
// of stacks as if they were independent directions would be far too large.
func TestStandardErrorOfBothKindsOfDirections(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 2))
	x, y := gaussian(rng, 60, 4), gaussian(rng, 50, 4)
	for i := range y.Len() {
		y.Row(i)[0] = 2*y.Row(i)[0] + 1
	}
	limit, err := SW2(x, y, Orthonormal(4, 4000, rng))
	if err != nil {
		t.Fatal(err)
	}
	for name, draw := range map[string]func() Directions{
		"uniform": func() Directions { return Uniform(4, 80, rng) },
		"stacked": func() Directions { return Orthonormal(4, 20, rng) },
	} {
		var squares, naive float64
		const draws = 400
		for range draws {
			u := draw()
			d, err := SW2(x, y, u)
			if err != nil {
				t.Fatal(err)
			}
			z := (d.Value - limit.Value) / d.StandardError
			squares += z * z / draws
			u.Stack = 0
			if d, err = SW2(x, y, u); err != nil {
				t.Fatal(err)
			}
			z = (d.Value - limit.Value) / d.StandardError
			naive += z * z / draws
		}
		ratio := math.Sqrt(squares)
		t.Logf("%s: errors are %.2f standard errors, %.2f if taken for independent", name, ratio, math.Sqrt(naive))
		if !(ratio >= 0.75 && ratio <= 1.3) {
			t.Errorf("%s: errors are %v standard errors", name, ratio)
		}
		if name == "stacked" && !(math.Sqrt(naive) <= 0.6) {
			t.Errorf("stacks lower the error to %v of independent directions' only", math.Sqrt(naive))
		}
	}
}

// More directions take more time, but not more memory than two tables of a block.
func TestMemoryDoesNotGrowWithDirections(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 2))
	const n = 3000
	x, y := transport.Uniform(gaussian(rng, n, 2)), transport.Uniform(gaussian(rng, n, 2))
	allocated := func(count int) uint64 {
		u := Uniform(2, count, rng)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, _, err := SWGradient(x, y, 2, u); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(directionsAtOnce), allocated(20*directionsAtOnce)
	if table := uint64(4 * 2 * n * directionsAtOnce); many > few+2*table {
		t.Errorf("%d bytes for one block of directions, %d for 20; a block's table is %d", few, many, table)
	}
}

func TestGradientDoesNotDependOnCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 2))
	x, y, u := weighted(rng, 3000, 8), weighted(rng, 2000, 8), Orthonormal(8, 9, rng)
	d, byX, byY, err := SWGradient(x, y, 2, u)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(7))
	other, otherX, otherY, err := SWGradient(x, y, 2, u)
	if err != nil || d != other {
		t.Errorf("%+v becomes %+v, %v", d, other, err)
	}
	for side, by := range [][]float32{byX, byY} {
		for i, v := range by {
			if w := [][]float32{otherX, otherY}[side][i]; v != w {
				t.Fatalf("side %d: derivative %d is %v and %v", side, i, v, w)
			}
		}
	}
}

// Distances do not vanish, whatever their power does; derivatives that float32
// cannot hold are an error.
func TestSWAtEveryScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 1))
	x, y, u := gaussian(rng, 20, 2), gaussian(rng, 20, 2), Uniform(2, 6, rng)
	for _, p := range []float64{3, 10, 20, 50} {
		want, err := SW(transport.Uniform(x), transport.Uniform(y), p, u)
		if err != nil {
			t.Fatal(err)
		}
		for _, scale := range []float32{0x1p-24, 0x1p-67} {
			x, y := transport.Uniform(scaled(x, scale)), transport.Uniform(scaled(y, scale))
			got, err := SW(x, y, p, u)
			if err != nil || !(math.Abs(got.Value/float64(scale)/want.Value-1) <= 1e-9 && math.Abs(got.StandardError/float64(scale)/want.StandardError-1) <= 1e-9) {
				t.Errorf("p = %v, scale %v: %+v, %v; want that of %+v", p, scale, got, err, want)
			}
			if exact, err := (Smoothed{Sigma: float64(scale), P: p}).Exact(x, y, u); err != nil || !(exact.Value > 0.1*float64(scale)) {
				t.Errorf("p = %v, scale %v: smoothed %+v, %v", p, scale, exact, err)
			}
			_, byX, byY, err := SWGradient(x, y, p, u)
			switch held := p*math.Pow(got.Value, p-1) >= 0x1p-126; {
			case held && (err != nil || slices.Max(byX) <= 0 || slices.Max(byY) <= 0):
				t.Errorf("p = %v, scale %v: derivatives %v, %v, %v", p, scale, byX, byY, err)
			case !held && (err == nil || !strings.Contains(err.Error(), "below what float32 holds")):
				t.Errorf("p = %v, scale %v: derivatives %v, %v; want an error", p, scale, byX, err)
			}
		}
	}
	half := transport.Points{Dim: 1, Data: []float32{0.5}}
	got, err := SW(transport.Uniform(half), transport.Uniform(transport.NewPoints(1, 1)), 1e5, Directions{Dim: 1, Count: 1, Data: []float32{1}})
	if err != nil || !(math.Abs(got.Value-0.5) <= 1e-9) {
		t.Errorf("W_100,000 of points half apart: %+v, %v", got, err)
	}
}

// Transport does not see where the origin is, and no more do projections in
// float32: the points themselves are exact here.
func TestSWOffTheOrigin(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	x, y, u := gaussian(rng, 200, 3), gaussian(rng, 150, 3), Uniform(3, 20, rng)
	for _, points := range []transport.Points{x, y} {
		for i, v := range points.Data {
			points.Data[i] = float32(math.Round(float64(v)*256) / 256)
		}
	}
	want, wantX, wantY, err := SWGradient(transport.Uniform(x), transport.Uniform(y), 2, u)
	if err != nil {
		t.Fatal(err)
	}
	got, byX, byY, err := SWGradient(transport.Uniform(shifted(x, 10_000)), transport.Uniform(shifted(y, 10_000)), 2, u)
	if err != nil || !(math.Abs(got.Value-want.Value) <= 1e-6*want.Value) {
		t.Errorf("SW off the origin %+v, %v; want %+v", got, err, want)
	}
	for side, by := range [][]float32{byX, byY} {
		var off, whole float64
		for i, v := range [][]float32{wantX, wantY}[side] {
			off += math.Pow(float64(v)-float64(by[i]), 2)
			whole += math.Pow(float64(v), 2)
		}
		if !(off <= 1e-8*whole) {
			t.Errorf("side %d: the gradient off the origin is off by %v of itself", side, math.Sqrt(off/whole))
		}
	}
}
