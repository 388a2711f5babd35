package transport

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// smoothed returns W_p of the smoothed line and checks its bound's shape.
func smoothed(t *testing.T, l Line, sigma, p float64) (distance, bound float64) {
	t.Helper()
	cost, bound, err := SmoothedLine{l, sigma}.Cost(p)
	if err != nil || !(cost >= 0 && bound >= 0) {
		t.Fatalf("W_%v^%[1]v = %v ± %v, %v", p, cost, bound, err)
	}
	return math.Pow(cost, 1/p), math.Pow(cost+bound, 1/p) - math.Pow(max(0, cost-bound), 1/p)
}

// Known answers: a translation by v is at distance |v| however much both sides
// are smoothed; and one smoothed measure, tabulated twice from different starts
// (a point without mass moves them), is at distance 0. What is found must be
// within the bound, and the bound small.
func TestSmoothedTranslations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for _, p := range []float64{1, 1.5, 2, 3} {
		var apart, farthest float64
		for range 30 {
			n := 1 + rng.IntN(20)
			spread := []float64{0.03, 0.3, 3, 100}[rng.IntN(4)]
			x, w := make([]float64, n+1), make([]float64, n+1)
			for i := range x {
				x[i], w[i] = spread*rng.NormFloat64(), rng.Float64()
			}
			w[n] = 0
			y := append([]float64(nil), x...)
			y[n] = -3*spread - rng.Float64()
			got, bound := smoothed(t, Line{X: x, Y: y, A: w, B: w}, 1, p)
			if !(got <= bound) {
				t.Errorf("p = %v, spread %v: equal measures are %v ± %v apart", p, spread, got, bound)
			}
			farthest = max(farthest, got)
			for i := range y {
				y[i] += 0.731
			}
			got, bound = smoothed(t, Line{X: x, Y: y, A: w, B: w}, 1, p)
			if !(math.Abs(got-0.731) <= bound && bound <= 1e-6*math.Pow(1+spread, 2)) {
				t.Errorf("p = %v, spread %v: a translation by 0.731 is %v ± %v apart", p, spread, got, bound)
			}
			apart = max(apart, math.Abs(got-0.731))
		}
		t.Logf("p = %v: translations off by %.1e at most, equal measures by %.1e", p, apart, farthest)
	}
}

// N(0, s²) smoothed by σ is N(0, s²+σ²), and W₂ of two centred Gaussians is the
// difference of their standard deviations. Of N(0, s²) there are n points, the
// means of n equal parts, whose own distance to it is the tolerance: the smoothing
// of both is no larger.
func TestSmoothedGaussians(t *testing.T) {
	const n, s = 4000, 1.5
	x := make([]float64, n)
	density := func(u float64) float64 {
		if u <= 0 || u >= 1 {
			return 0
		}
		z := math.Sqrt2 * math.Erfinv(2*u-1)
		return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	}
	variance := 0.
	for i := range x {
		x[i] = s * n * (density(float64(i)/n) - density(float64(i+1)/n))
		variance += x[i] * x[i] / n
	}
	tolerance := math.Sqrt(s*s - variance) // W₂(points, N(0, s²)), for the points are means
	for _, sigma := range []float64{0.05, 1, 7} {
		for _, shift := range []float64{0, 2} {
			got, _ := smoothed(t, Line{X: x, Y: []float64{shift}}, sigma, 2)
			if want := math.Hypot(shift, math.Hypot(s, sigma)-sigma); !(math.Abs(got-want) <= tolerance) {
				t.Errorf("σ = %v, shift %v: W₂ = %v, want %v within %v", sigma, shift, got, want, tolerance)
			}
		}
	}
	if !(tolerance <= 0.03) {
		t.Errorf("a tolerance of %v shows nothing", tolerance)
	}
}

// W₁ = ∫|F − G|, by the midpoint rule on a fine grid, for the distribution functions
// written out; gaps between clusters and crossings included.
func TestSmoothedOrderOneIsTheAreaBetween(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for range 20 {
		l := Line{X: []float64{-20, 0, rng.NormFloat64(), 5}, A: []float64{0.2, 0.3, 1, 0.1},
			Y: []float64{rng.NormFloat64(), 30 * rng.NormFloat64()}, B: []float64{2, rng.Float64()}}
		const sigma, steps = 0.7, 60_000
		cdf := func(at, weights []float64, z float64) (level float64) {
			for i, share := range Shares(weights, len(at)) {
				level += share * math.Erfc((at[i]-z)/sigma/math.Sqrt2) / 2
			}
			return level
		}
		low, high := -110., 110.
		var want float64
		for k := range steps {
			z := low + (high-low)*(float64(k)+0.5)/steps
			want += math.Abs(cdf(l.X, l.A, z)-cdf(l.Y, l.B, z)) * (high - low) / steps
		}
		if got, bound := smoothed(t, l, sigma, 1); !(math.Abs(got-want) <= 1e-5 && bound <= 1e-5) {
			t.Errorf("%+v: W₁ = %v ± %v, want %v", l, got, bound, want)
		}
	}
}

// Smoothing brings measures together, the more the larger σ is, and in the end to
// the distance of their means; as σ falls, to the distance without.
func TestSmoothedDistancesFallWithSigma(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for range 10 {
		l := Line{X: make([]float64, 30), Y: make([]float64, 20)}
		var difference float64
		for i := range l.X {
			l.X[i] = rng.NormFloat64()
			difference += l.X[i] / 30
		}
		for j := range l.Y {
			l.Y[j] = 3*rng.NormFloat64() + 1
			difference -= l.Y[j] / 20
		}
		plain, err := l.Solve()
		if err != nil {
			t.Fatal(err)
		}
		last, err := plain.Distance(2)
		if err != nil {
			t.Fatal(err)
		}
		for i, sigma := range []float64{0.001, 0.1, 0.5, 1, 4, 1000} {
			got, bound := smoothed(t, l, sigma, 2)
			if !(got <= last+bound) {
				t.Errorf("σ = %v: W₂ rises from %v to %v", sigma, last, got)
			}
			if i == 0 && !(math.Abs(got-last) <= 4*sigma) {
				t.Errorf("σ = %v: W₂ = %v, without smoothing %v", sigma, got, last)
			}
			last = got
		}
		if !(math.Abs(last-math.Abs(difference)) <= 1e-2) {
			t.Errorf("W₂ tends to %v, the means are %v apart", last, difference)
		}
	}
}

func TestSmoothedRefusesBadInput(t *testing.T) {
	good := Line{X: []float64{0, 1}, Y: []float64{2}}
	for _, c := range []struct {
		line     Line
		sigma, p float64
		want     string
	}{
		{good, 0, 2, "σ = 0"},
		{good, math.NaN(), 2, "σ = NaN"},
		{good, 1, 0.5, "p = 0.5"},
		{good, 1e-6, 2, "at least 1e-05"},
		{Line{X: []float64{1e9}, Y: []float64{0}}, 1e5, 60, "overflow"},
		{Line{Y: good.Y}, 1, 2, "no points"},
		{Line{X: []float64{math.NaN()}, Y: good.Y}, 1, 2, "is NaN"},
		{Line{X: good.X, Y: good.Y, B: []float64{-1}}, 1, 2, "weight 0 is -1"},
	} {
		if cost, _, err := (SmoothedLine{c.line, c.sigma}).Cost(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, error %v, want it to say %q", c, cost, err, c.want)
		}
	}
}

// A point without weight is not there, however far away.
func TestSmoothingPassesOverPointsWithoutWeight(t *testing.T) {
	with := SmoothedLine{Line: Line{X: []float64{0, 1, 1e9}, A: []float64{1, 1, 0}, Y: []float64{0.5}}, Sigma: 0.1}
	without := SmoothedLine{Line: Line{X: []float64{0, 1}, A: []float64{1, 1}, Y: []float64{0.5}}, Sigma: 0.1}
	got, _, err := with.Cost(2)
	want, _, other := without.Cost(2)
	if err != nil || other != nil || got != want {
		t.Errorf("%v and %v; %v, %v", got, want, err, other)
	}
}
