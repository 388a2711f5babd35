package harmonic

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.12g; want %.12g ± %.1g", what, got, want, tolerance)
	}
}

// The harmonics of degrees 0 to L are the polynomials of degree L restricted to
// the sphere: C(dim+L−1, L) + C(dim+L−2, L−1) of them.
func TestCount(t *testing.T) {
	for dim := 2; dim < 12; dim++ {
		var sum float64
		for l := range 8 {
			sum += Count(dim, l)
			want := binomial(dim+l-1, l)
			if l > 0 {
				want += binomial(dim+l-2, l-1)
			}
			near(t, "number of polynomials", sum, want, 0)
		}
	}
	for _, c := range []struct {
		dim, l int
		want   float64
	}{{3, 4, 9}, {2, 5, 2}, {8, 2, 35}, {8, 6, 1386}, {48, 2, 1175}} {
		near(t, "Count", Count(c.dim, c.l), c.want, 0)
	}
}

// Chebyshev's polynomials on the circle, Legendre's on the sphere of R³, and in
// every dimension orthogonal polynomials with P_l(1) = 1 and ∫P_l² = 1/Count for
// the projection of the uniform distribution.
func TestZonal(t *testing.T) {
	p := make([]float64, 7)
	for _, x := range []float64{-1, -0.3, 0, 0.8} {
		zonal(p, 2, x)
		for l, v := range p {
			near(t, "Chebyshev", v, math.Cos(float64(l)*math.Acos(x)), 1e-12)
		}
		zonal(p, 3, x)
		near(t, "Legendre 3", p[3], (5*x*x*x-3*x)/2, 1e-12)
		near(t, "Legendre 4", p[4], (35*math.Pow(x, 4)-30*x*x+3)/8, 1e-12)
	}
	for _, dim := range []int{2, 3, 8, 48} {
		product := func(a, b int) float64 {
			return quad.Fixed(func(phi float64) float64 {
				p := make([]float64, 7)
				zonal(p, dim, math.Cos(phi))
				return math.Pow(math.Sin(phi), float64(dim-2)) * p[a] * p[b]
			}, 0, math.Pi, 400, nil, 0)
		}
		one := product(0, 0)
		for a := range 7 {
			for b := range a + 1 {
				want := 0.
				if a == b {
					want = 1 / Count(dim, a)
				}
				near(t, "∫P_a·P_b", product(a, b)/one, want, 1e-12)
			}
		}
	}
}

// The bound on the kernel's minimum is below it, and not far.
func TestLowest(t *testing.T) {
	for _, dim := range []int{2, 3, 8, 48} {
		for degree := 1; degree <= 6; degree++ {
			k := newKernel(dim, Weights(dim, degree))
			lowest, at := k.lowest()
			least := math.Inf(1)
			p := make([]float64, degree+1)
			for i := range 12345 {
				zonal(p, dim, -1+2*float64(i)/12344)
				var value float64
				for l, s := range k.squares {
					value += s * p[l+1]
				}
				least = min(least, value)
			}
			if !(at >= -1 && at <= 0) {
				t.Errorf("dimension %d, degree %d: least at %v", dim, degree, at)
			}
			if !(lowest <= least && lowest > least-2e-3*k.norm()) {
				t.Errorf("dimension %d, degree %d: bound %v, minimum %v, of a kernel with K(1) = %v", dim, degree, lowest, least, k.norm())
			}
		}
	}
}

// More records or less noise never ask for a lower degree; without noise the
// highest that can be had is best, with much noise the mean alone.
func TestDegree(t *testing.T) {
	before := 0
	for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
		degree, err := Degree(8, n, 5)
		if err != nil || degree < before {
			t.Errorf("degree %d for %d records after %d for fewer, %v", degree, n, before, err)
		}
		before = degree
	}
	for _, c := range []struct {
		dim, n int
		noise  float64
		want   int
	}{{8, 30_000, 0, 7}, {8, 10, 1000, 1}, {48, 80_000, 0, 2}, {2, 1000, 0, 12}} {
		if degree, err := Degree(c.dim, c.n, c.noise); degree != c.want || err != nil {
			t.Errorf("%+v: degree %d, %v", c, degree, err)
		}
	}
	for _, c := range []struct {
		dim, n int
		noise  float64
	}{{1, 10, 1}, {3, 0, 1}, {3, 10, -1}, {3, 10, math.NaN()}} {
		if _, err := Degree(c.dim, c.n, c.noise); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// Size is what Count adds up to, and ends for whatever is asked.
func TestSizeIsTheSumOfCounts(t *testing.T) {
	for dim := 2; dim < 60; dim++ {
		sum := 0.
		for degree := 1; degree < 40; degree++ {
			sum += Count(dim, degree)
			near(t, "size", float64(Size(dim, degree)), min(sum, math.MaxInt32), 0)
		}
	}
	for _, c := range []struct{ dim, degree, want int }{
		{2, math.MaxInt, math.MaxInt32}, {math.MaxInt, math.MaxInt, math.MaxInt32}, {math.MaxInt, 1, math.MaxInt32},
		{1, 3, 0}, {-1, math.MaxInt, 0}, {0, 0, 0}, {8, 0, 0}, {8, -3, 0}, {8, math.MinInt, 0},
	} {
		if got := Size(c.dim, c.degree); got != c.want {
			t.Errorf("Size(%d, %d) = %d, want %d", c.dim, c.degree, got, c.want)
		}
	}
}
