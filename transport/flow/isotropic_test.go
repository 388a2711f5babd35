package flow

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

func at(t *testing.T, g Isotropic, from Law, time float64) Law {
	t.Helper()
	law, err := g.At(from, time)
	if err != nil {
		t.Fatal(err)
	}
	return law
}

func euler(t *testing.T, g Isotropic, from Law, h float64, steps int) Law {
	t.Helper()
	law, err := g.Euler(from, h, steps)
	if err != nil {
		t.Fatal(err)
	}
	return law
}

// The special cases of 000 Section 4.1 that have closed forms.
func TestIsotropicInClosedForm(t *testing.T) {
	start := Law{Offset: 2, Std: 3}
	for _, d := range []int{1, 2, 8} {
		for _, time := range []float64{0, 0.3, 1, 7, 40} {
			df := float64(d)
			// Pure: s − s_ν falls like e^(−t/d), and so does the offset.
			pure := at(t, Isotropic{Dim: d, TargetStd: 0.5}, start, time)
			if want := 0.5 + 2.5*math.Exp(-time/df); !(math.Abs(pure.Std/want-1) <= 1e-9) {
				t.Errorf("pure flow, d = %d, t = %v: standard deviation %v, want %v", d, time, pure.Std, want)
			}
			if want := 2 * math.Exp(-time/df); !(math.Abs(pure.Offset-want) <= 1e-12) {
				t.Errorf("pure flow, d = %d, t = %v: offset %v, want %v", d, time, pure.Offset, want)
			}
			// Heat: the variance grows as 2λt. So it is for smoothing without end, but
			// the mean still goes to the target's.
			heat := at(t, Isotropic{Dim: d, TargetStd: 0.5, Diffusion: 0.7, Smoothing: math.Inf(1)}, start, time)
			if want := math.Sqrt(9 + 1.4*time); !(math.Abs(heat.Std/want-1) <= 1e-12) || heat.Offset != pure.Offset {
				t.Errorf("heat flow, d = %d, t = %v: %+v, want standard deviation %v, offset %v", d, time, heat, want, pure.Offset)
			}
			// Much smoothing is near the limit: r − 1 is of the order of 1/σ².
			near := at(t, Isotropic{Dim: d, TargetStd: 0.5, Diffusion: 0.7, Smoothing: 1e6}, start, time)
			if !(math.Abs(near.Std/heat.Std-1) <= 1e-9) {
				t.Errorf("smoothing by 10⁶, d = %d, t = %v: standard deviation %v, heat has %v", d, time, near.Std, heat.Std)
			}
			// Entropic, implicitly: with s_± = (s_ν ± √(s_ν²+4λd))/2 and ds/dt =
			// −(s−s₊)(s−s₋)/(sd), partial fractions give
			// (s₊·log|s−s₊| − s₋·log|s−s₋|)/(s₊−s₋) = constant − t/d.
			entropic := Isotropic{Dim: d, TargetStd: 0.5, Diffusion: 0.2}
			root := math.Sqrt(0.25 + 0.8*df)
			up, down := (0.5+root)/2, (0.5-root)/2
			first := func(s float64) float64 { return (up*math.Log(math.Abs(s-up)) - down*math.Log(math.Abs(s-down))) / root }
			law := at(t, entropic, start, time)
			if got := first(3) - first(law.Std); time < 10 && !(math.Abs(got-time/df) <= 1e-7*(1+time)) {
				t.Errorf("entropic flow, d = %d, t = %v: standard deviation %v belongs to time %v", d, time, law.Std, got*df)
			}
		}
	}
}

func TestIsotropicComesToRest(t *testing.T) {
	for _, g := range []Isotropic{{1, 0.5, 0, 0}, {2, 1, 0.3, 0}, {8, 0.35, 0.001, 0}, {8, 0.35, 0.01, 5}, {3, 2, 4, 100}, {2, 1, 0, 0.7}} {
		rest, err := g.Stationary()
		if err != nil {
			t.Fatal(err)
		}
		// At rest Eq. 13 has no variance to add: (1−r)·s² = λd.
		if left := g.pull(rest) * rest * rest; !(math.Abs(left-g.Diffusion) <= 1e-9*(1+g.Diffusion)) {
			t.Errorf("%+v: at s = %v the drift takes %v, diffusion brings %v", g, rest, left, g.Diffusion)
		}
		if stays := at(t, g, Law{Std: rest}, 3); !(math.Abs(stays.Std/rest-1) <= 1e-9) {
			t.Errorf("%+v: from %v it moves to %v", g, rest, stays.Std)
		}
		for _, from := range []float64{rest / 3, 3 * rest} {
			time := 60 * float64(g.Dim) * (1 + g.Smoothing*g.Smoothing/rest/rest)
			if end := at(t, g, Law{Std: from}, time); !(math.Abs(end.Std/rest-1) <= 1e-6) {
				t.Errorf("%+v: from %v to %v at t = %v, want %v", g, from, end.Std, time, rest)
			}
		}
	}
	if rest, err := (Isotropic{2, 1, 0.1, math.Inf(1)}).Stationary(); err != nil || !math.IsInf(rest, 1) {
		t.Errorf("heat rests at %v, %v; want nowhere", rest, err)
	}
	if rest, err := (Isotropic{2, 1, 0, math.Inf(1)}).Stationary(); err == nil {
		t.Errorf("nothing moves, and it rests at %v, no error", rest)
	}
}

// Particles do what Euler says, in every special case of 000 Section 4.1. With
// 4,000 particles a standard deviation over both coordinates is off by about
// 1/√(4·4000) = 0.8 %, and each mean by s/√4000; 5 of these are allowed, and 2 % for
// directions and for the quantiles of 4,000 points of the target. The false-alarm
// rate is far below 10⁻⁴ a case.
func TestParticlesFollowTheSolution(t *testing.T) {
	const particles, h, steps = 4000, 0.2, 25
	target := transport.NewPoints(4000, 2)
	random := noise.Seeded(11)
	if err := random.Normal(target.Data, 0.5, "target", 0); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		lambda, sigma float64
		rest          bool
	}{"pure": {0, 0, false}, "entropic": {0.2, 0, false}, "smoothed": {0.05, 0.5, false}, "heat": {0.3, 0, true}} {
		f := Flow{StepSize: h, Diffusion: c.lambda, Smoothing: c.sigma, Random: random}
		var guide Guide = Slices{Open{Points: target, Directions: Directions{Count: 8, Stack: true, Random: random}, Smoothing: c.sigma}}
		g := Isotropic{Dim: 2, TargetStd: 0.5, Diffusion: c.lambda, Smoothing: c.sigma}
		if c.rest {
			guide, g.Smoothing = Rest{}, math.Inf(1)
		}
		x := f.Start(particles, 2)
		for i := range x.Len() {
			x.Row(i)[0] += 2
		}
		for step := range steps {
			if err := f.Step(x, guide, step); err != nil {
				t.Fatal(err)
			}
		}
		want := euler(t, g, Law{Offset: 2, Std: 1}, h, steps)
		if c.rest {
			want.Offset = 2 // nothing pulls
		}
		mean, std := moments(x)
		if !(math.Abs(std/want.Std-1) <= 0.02+5*0.008) {
			t.Errorf("%s: standard deviation %v, want %v", name, std, want.Std)
		}
		if !(math.Abs(mean[0]-want.Offset) <= 0.04+5*want.Std/math.Sqrt(particles) && math.Abs(mean[1]) <= 0.04+5*want.Std/math.Sqrt(particles)) {
			t.Errorf("%s: mean %v, want (%v, 0)", name, mean, want.Offset)
		}
	}
}

func TestRestMovesNothing(t *testing.T) {
	f := Flow{StepSize: 2, Random: noise.Seeded(1)}
	x := f.Start(7, 3)
	before := x.Clone()
	if err := f.Step(x, Rest{}, 0); err != nil {
		t.Fatal(err)
	}
	for i := range x.Data {
		if x.Data[i] != before.Data[i] {
			t.Fatalf("without diffusion coordinate %d moves from %v to %v", i, before.Data[i], x.Data[i])
		}
	}
	f.Diffusion = 1
	if err := f.Step(x, Rest{}, 1); err != nil {
		t.Fatal(err)
	}
	for i := range x.Data {
		if x.Data[i] == before.Data[i] {
			t.Fatalf("with diffusion coordinate %d stays", i)
		}
	}
}

// moments are the mean and the standard deviation over all coordinates.
func moments(x transport.Points) (mean []float64, std float64) {
	mean = make([]float64, x.Dim)
	for i, v := range x.Data {
		mean[i%x.Dim] += float64(v) / float64(x.Len())
	}
	for i, v := range x.Data {
		std += math.Pow(float64(v)-mean[i%x.Dim], 2) / float64(len(x.Data))
	}
	return mean, math.Sqrt(std)
}

// 000 Section 4.1 says that the smoothed distance falls to 0 as σ → ∞. It keeps the
// distance of the means: over orthonormal bases of the plane, that over √2.
func TestSmoothingKeepsTheMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 0))
	x := gaussian(rng, 300, 2, 0)
	y := gaussian(rng, 300, 2, 0)
	var apart [2]float64
	for i := range y.Len() {
		y.Row(i)[0] += 3
		for c := range apart {
			apart[c] += float64(y.Row(i)[c]-x.Row(i)[c]) / 300
		}
	}
	u := sliced.Orthonormal(2, 20, rng)
	for _, sigma := range []float64{1, 10, 100, 1000} {
		d, err := (sliced.Smoothed{Sigma: sigma, P: 2}).Exact(transport.Uniform(x), transport.Uniform(y), u)
		if err != nil {
			t.Fatal(err)
		}
		least := math.Hypot(apart[0], apart[1]) / math.Sqrt2
		if !(d.Value >= least*(1-1e-3)) {
			t.Errorf("smoothed by %v the distance is %v; the means alone are %v apart", sigma, d.Value, least)
		}
		if sigma >= 100 && !(d.Value <= least*1.01) {
			t.Errorf("smoothed by %v the distance is %v, want the means' %v", sigma, d.Value, least)
		}
	}
}

func TestDistancesOfNormalLaws(t *testing.T) {
	// Against integration of |p − q|/2 over the radius, by the midpoint rule.
	for _, d := range []int{1, 2, 5} {
		g := Isotropic{Dim: d}
		for _, b := range []float64{1.01, 1.5, 6} {
			sphere := 2 * math.Pow(math.Pi, float64(d)/2) / math.Gamma(float64(d)/2)
			density := func(r, s float64) float64 {
				return math.Exp(-r*r/2/s/s) / math.Pow(2*math.Pi*s*s, float64(d)/2)
			}
			want := 0.
			const step = 1e-3
			for r := step / 2; r < 60; r += step {
				want += step * sphere * math.Pow(r, float64(d-1)) * math.Abs(density(r, 1)-density(r, b)) / 2
			}
			if got := g.TotalVariation(Law{0, b}, Law{0, 1}); !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("d = %d, standard deviations 1 and %v: total variation %v, integrated %v", d, b, got, want)
			}
		}
	}
	g := Isotropic{Dim: 4}
	if got := g.W2(Law{1, 2}, Law{4, 4}); !(math.Abs(got-5) <= 1e-12) { // 3² + 4·2² = 5²
		t.Errorf("W₂ = %v, want 5", got)
	}
	if got := g.TotalVariation(Law{1, 2}, Law{1, 2}); got != 0 {
		t.Errorf("a law is %v away from itself", got)
	}
	if got := g.TotalVariation(Law{1, 2}, Law{0, 2}); !math.IsNaN(got) {
		t.Errorf("total variation of laws with two means: %v, want NaN", got)
	}
}

func TestIsotropicRefuses(t *testing.T) {
	good, start := Isotropic{2, 1, 0.1, 0.1}, Law{0, 1}
	nan, inf := math.NaN(), math.Inf(1)
	for _, g := range []Isotropic{{0, 1, 0, 0}, {1, 0, 0, 0}, {1, nan, 0, 0}, {1, inf, 0, 0}, {1, 1, -1, 0}, {1, 1, nan, 0}, {1, 1, inf, 0}, {1, 1, 0, -1}, {1, 1, 0, nan}} {
		if _, err := g.At(start, 1); err == nil {
			t.Errorf("%+v: no error", g)
		}
		if _, err := g.Stationary(); err == nil {
			t.Errorf("%+v: no error of Stationary", g)
		}
	}
	for _, n := range []Law{{0, 0}, {0, nan}, {0, inf}, {nan, 1}, {inf, 1}} {
		if _, err := good.Euler(n, 1, 1); err == nil {
			t.Errorf("%+v: no error", n)
		}
	}
	for _, time := range []float64{-1, 1e6, nan, inf} {
		if _, err := good.At(start, time); err == nil {
			t.Errorf("time %v: no error", time)
		}
	}
	for _, h := range []float64{0, -1, nan, inf} {
		if _, err := good.Euler(start, h, 1); err == nil {
			t.Errorf("step %v: no error", h)
		}
	}
	if _, err := good.Euler(start, 1, -1); err == nil {
		t.Error("−1 steps: no error")
	}
}
