package transport

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func distance(t *testing.T, l Line, p float64) float64 {
	t.Helper()
	d, err := solve(t, l).Distance(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Against difference quotients in double precision, without ties, for both sides;
// and 004's Proposition 3.2 as it is printed, with R_ij from interval lengths.
func TestLineGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	for range 30 {
		n, m := 1+rng.IntN(6), 1+rng.IntN(6)
		l := randomLine(rng, n, m)
		for i := range l.X {
			l.X[i] = rng.NormFloat64()
		}
		for j := range l.Y {
			l.Y[j] = rng.NormFloat64()
		}
		for _, p := range []float64{1, 1.7, 2, 3} {
			byX, byY, err := solve(t, l).Gradient(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range []struct{ points, by []float64 }{{l.X, byX}, {l.Y, byY}} {
				for i, v := range side.points {
					const step = 1e-6 // less than the gaps between so few points, as a rule
					side.points[i] = v + step
					up, _ := solve(t, l).Cost(p)
					side.points[i] = v - step
					down, _ := solve(t, l).Cost(p)
					side.points[i] = v
					if want := (up - down) / (2 * step); !(math.Abs(side.by[i]-want) <= 1e-7) {
						t.Errorf("p = %v: derivative %v, want %v", p, side.by[i], want)
					}
				}
			}
		}
		l.A, l.B = nil, nil
		byX, _, _ := solve(t, l).Gradient(2)
		rank := func(v []float64, at float64) (r float64) {
			for _, other := range v {
				if other < at {
					r++
				}
			}
			return r
		}
		for i, x := range l.X {
			var want float64
			for _, y := range l.Y {
				si, tj := rank(l.X, x), rank(l.Y, y)
				overlap := min((si+1)/float64(n), (tj+1)/float64(m)) - max(si/float64(n), tj/float64(m))
				want += 2 * max(0, overlap) * (x - y)
			}
			if !(math.Abs(byX[i]-want) <= 1e-12) {
				t.Errorf("∂/∂x_%d = %v, Proposition 3.2 has %v", i, byX[i], want)
			}
		}
	}
}

func TestLineLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	for range 50 {
		l := randomLine(rng, 1+rng.IntN(30), 1+rng.IntN(30))
		z, c := randomLine(rng, 1, 1+rng.IntN(30)).Y, 2.5
		shifted, scaled := slices.Clone(l.X), [2][]float64{slices.Clone(l.X), slices.Clone(l.Y)}
		for i := range shifted {
			shifted[i] += c
		}
		for _, v := range scaled {
			for i := range v {
				v[i] *= -c
			}
		}
		for _, p := range []float64{1, 1.5, 2, 4} {
			if d := distance(t, Line{X: l.X, Y: shifted, A: l.A, B: l.A}, p); !(math.Abs(d-c) <= 1e-12) {
				t.Errorf("p = %v: a translation by %v is at distance %v", p, c, d)
			}
			if d := distance(t, Line{X: l.X, Y: l.X, A: l.A, B: l.A}, p); d != 0 {
				t.Errorf("p = %v: distance to itself is %v", p, d)
			}
			xy := distance(t, l, p)
			if yx := distance(t, Line{X: l.Y, Y: l.X, A: l.B, B: l.A}, p); !(math.Abs(xy-yx) <= 1e-12) {
				t.Errorf("p = %v: not symmetric: %v and %v", p, xy, yx)
			}
			if d := distance(t, Line{X: scaled[0], Y: scaled[1], A: l.A, B: l.B}, p); !(math.Abs(d-c*xy) <= 1e-12*(1+d)) {
				t.Errorf("p = %v: scaled by −%v: %v, want %v", p, c, d, c*xy)
			}
			xz, zy := distance(t, Line{X: l.X, Y: z, A: l.A}, p), distance(t, Line{X: z, Y: l.Y, B: l.B}, p)
			if !(xy <= xz+zy+1e-12) {
				t.Errorf("p = %v: triangle inequality fails: %v > %v + %v", p, xy, xz, zy)
			}
			if more := distance(t, l, p+0.5); !(more >= xy-1e-12) {
				t.Errorf("W_p falls with p: %v at %v, %v at %v", xy, p, more, p+0.5)
			}
		}
	}
}

func TestDistanceReachesFurtherThanCost(t *testing.T) {
	far := Line{X: []float64{0, 1e200}, Y: []float64{3e200}}
	if _, err := solve(t, far).Cost(2); err == nil || !strings.Contains(err.Error(), "overflow") {
		t.Errorf("W₂² of 10²⁰⁰: error %v", err)
	}
	if d := distance(t, far, 2); !(math.Abs(d/1e200-math.Sqrt(6.5)) <= 1e-12) {
		t.Errorf("W₂ = %v", d)
	}
	if _, _, err := solve(t, far).Gradient(3); err == nil {
		t.Error("an overflowing gradient is no error")
	}
	if d := distance(t, Line{X: []float64{0}, Y: []float64{1e-200}}, 3); !(math.Abs(d/1e-200-1) <= 1e-12) {
		t.Errorf("W₃ of 10⁻²⁰⁰ = %v", d)
	}
	end := math.MaxFloat64
	if d, err := solve(t, Line{X: []float64{-end}, Y: []float64{end}}).Distance(1); err == nil {
		t.Errorf("a distance beyond all numbers is %v", d)
	}
	if got := solve(t, Line{X: []float64{0}, Y: []float64{end, end}}).Map(); got[0] != end {
		t.Errorf("T = %v, want the largest number", got)
	}
}

func TestLineRefusesBadInput(t *testing.T) {
	ok, nan, inf := []float64{0, 1}, math.NaN(), math.Inf(1)
	for want, l := range map[string]Line{
		"sample x has no points":  {Y: ok},
		"sample y has no points":  {X: ok},
		"point 1 of sample x":     {X: []float64{0, nan}, Y: ok},
		"point 0 of sample y":     {X: ok, Y: []float64{inf}},
		"3 weights for 2 points":  {X: ok, Y: ok, A: []float64{1, 1, 1}},
		"sample y: transport: we": {X: ok, Y: ok, B: []float64{1, -1}},
		"weight 0 is NaN":         {X: ok, Y: ok, A: []float64{nan, 1}},
		"all 2 weights are 0":     {X: ok, Y: ok, A: []float64{0, 0}},
		"the sum of 2 weights":    {X: ok, Y: ok, A: []float64{1e308, 1e308}},
	} {
		if _, err := l.Solve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want it to say %q", l, err, want)
		}
	}
	c := solve(t, Line{X: ok, Y: ok})
	for _, p := range []float64{0.99, 0, -1, nan, inf} {
		_, cost := c.Cost(p)
		_, distance := c.Distance(p)
		_, _, gradient := c.Gradient(p)
		if cost == nil || distance == nil || gradient == nil {
			t.Errorf("p = %v: errors %v, %v, %v", p, cost, distance, gradient)
		}
	}
}

// 004, Appendix F: W_p has no gradient whose sensitivity falls with n. X = i/n and
// X̃ = (i−1)/n are neighbours, for X̃ has 0 where X has 1; Z = (2i−1)/2n and
// g_θ(x) = x+θ. At θ = 0 the derivative of W_p by θ flips from 1 to −1 for every n
// and p. That of W₂² moves by 2/n.
func TestGradientOfTheRootDoesNotDecay(t *testing.T) {
	for _, p := range []float64{1, 1.5, 2, 3} {
		for _, n := range []int{1, 5, 40, 200, 2000} {
			z := make([]float64, n)
			for i := range z {
				z[i] = (2*float64(i) + 1) / (2 * float64(n))
			}
			derivative := func(shift float64) (root, power float64) {
				x := make([]float64, n)
				for i := range x {
					x[i] = (float64(i) + shift) / float64(n)
				}
				c := solve(t, Line{X: x, Y: z})
				byX, _, err := c.Gradient(p)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range byX {
					power += v
				}
				d, err := c.Distance(p)
				if err != nil {
					t.Fatal(err)
				}
				return power / (p * math.Pow(d, p-1)), power
			}
			root, power := derivative(1)
			rootAfter, powerAfter := derivative(0)
			if !(math.Abs(root-1) <= 1e-9 && math.Abs(rootAfter+1) <= 1e-9) {
				t.Errorf("p = %v, n = %d: derivatives of W_p are %v and %v, want 1 and −1", p, n, root, rootAfter)
			}
			// |t|^p at t = 1/2n has the slope p·(1/2n)^(p−1): 1/n at p = 2.
			if want := 2 * p * math.Pow(1/(2*float64(n)), p-1); !(math.Abs(power-powerAfter-want) <= 1e-9) {
				t.Errorf("p = %v, n = %d: the derivative of W_p^p moves by %v, want %v", p, n, power-powerAfter, want)
			}
		}
	}
}

// Whatever the numbers are, there is an error or a plan with finite results.
func FuzzLine(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef"), uint8(2), 2.0)
	f.Add(make([]byte, 64), uint8(1), 1.0)
	f.Fuzz(func(t *testing.T, data []byte, split uint8, p float64) {
		var v []float64
		for ; len(data) >= 8; data = data[8:] {
			v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		n := min(int(split), len(v)/2)
		l := Line{X: v[:n], A: v[n : 2*n], Y: v[2*n:]}
		c, err := l.Solve()
		if err != nil {
			return
		}
		var mass float64
		for _, pair := range c.Plan() {
			mass += pair.Mass
		}
		if !(math.Abs(mass-1) <= 1e-12) {
			t.Errorf("%+v: a plan of mass %v", l, mass)
		}
		for i, target := range c.Map() {
			low, high := slices.Min(l.Y), slices.Max(l.Y)
			if slack := 1e-12 * max(-low, high, 0); !(target >= low-slack && target <= high+slack) || math.IsInf(target, 0) {
				t.Errorf("%+v: T(x_%d) = %v", l, i, target)
			}
		}
		if cost, err := c.Cost(p); err == nil && !(cost >= 0 && cost <= math.MaxFloat64) {
			t.Errorf("%+v, p = %v: cost %v", l, p, cost)
		}
		if d, err := c.Distance(p); err == nil && !(d >= 0 && d <= math.MaxFloat64) {
			t.Errorf("%+v, p = %v: distance %v", l, p, d)
		}
		byX, byY, err := c.Gradient(p)
		for _, v := range append(byX, byY...) {
			if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Errorf("%+v, p = %v: derivative %v", l, p, v)
			}
		}
	})
}

// A translation costs its length at every power, samples of different sizes are
// what their weighted Line is, and what Line refuses is refused.
func TestWasserstein(t *testing.T) {
	x := []float32{3, -1, 0.5}
	for _, p := range []float64{1, 2, 3.5} {
		if d, err := Wasserstein(x, []float32{-1 + 2, 0.5 + 2, 3 + 2}, p); err != nil || !(math.Abs(d-2) <= 1e-12) {
			t.Errorf("W_%v of a translation by 2 is %v, %v", p, d, err)
		}
	}
	if d, err := Wasserstein([]float64{0}, []float64{1, 2}, 2); err != nil || !(math.Abs(d-math.Sqrt(2.5)) <= 1e-12) {
		t.Errorf("W_2(0, {1, 2}) = %v, %v; want √2.5", d, err)
	}
	if _, err := Wasserstein(x, nil, 2); err == nil {
		t.Error("an empty sample was taken")
	}
	if _, err := Wasserstein(x, x, 0.5); err == nil {
		t.Error("p = 0.5 was taken")
	}
}
