package flow

import (
	"math"
	"strings"
	"testing"
)

// The bound holds for a flow that is solved, at every step size that divides its
// time, and falls as it promises, like √h. What is measured falls like h.
func TestTheorem2CoversTheDiscretisation(t *testing.T) {
	for _, c := range []struct {
		g    Isotropic
		from Law
		time float64
	}{
		{Isotropic{Dim: 1, TargetStd: 0.1, Diffusion: 0.5}, Law{Std: 1.5}, 1},
		{Isotropic{Dim: 2, TargetStd: 0.1, Diffusion: 1}, Law{Std: 0.5}, 0.5},
		{Isotropic{Dim: 2, TargetStd: 0.1, Diffusion: 0.5, Smoothing: 0.1}, Law{Std: 2}, 1},
	} {
		truth := at(t, c.g, c.from, c.time)
		var measured, bounds []float64
		for steps := 1; steps <= 1024; steps *= 4 {
			h := c.time / float64(steps)
			scheme := euler(t, c.g, c.from, h, steps)
			r, err := c.g.Regularity(c.from, min(c.from.Std, truth.Std, scheme.Std), max(c.from.Std, truth.Std, scheme.Std), 1e-6)
			if err != nil {
				t.Fatal(err)
			}
			if moment := float64(c.g.Dim) * math.Pow(max(c.from.Std, truth.Std), 2); !(r.moment(c.g.Diffusion) >= moment*(1-1e-12)) {
				t.Errorf("%+v: C₀ = %v, below the second moment %v", c.g, r.moment(c.g.Diffusion), moment)
			}
			bound, err := r.Bound(c.g.Diffusion, h, steps)
			if err != nil {
				t.Fatal(err)
			}
			distance := c.g.TotalVariation(scheme, truth)
			if !(distance <= bound) {
				t.Errorf("%+v, h = %v: the scheme is %v off, the bound is %v", c.g, h, distance, bound)
			}
			measured, bounds = append(measured, distance), append(bounds, bound)
		}
		last := len(bounds) - 1
		if rate := math.Log(bounds[last-1]/bounds[last]) / math.Log(4); !(math.Abs(rate-0.5) <= 0.02) {
			t.Errorf("%+v: the bound falls like h^%.3f, want h^½", c.g, rate)
		}
		if rate := math.Log(measured[last-1]/measured[last]) / math.Log(4); !(math.Abs(rate-1) <= 0.02) {
			t.Errorf("%+v: the distance falls like h^%.3f, want h", c.g, rate)
		}
		t.Logf("measured %.3g, bounds %.3g", measured, bounds)
	}
}

// The constants are held against pairs of points, times and laws of the flow that
// they are for.
func TestRegularityCoversTheFlow(t *testing.T) {
	for _, g := range []Isotropic{{1, 1, 0.5, 0}, {3, 0.5, 0.2, 0.8}, {2, 1, 0.1, 0}} {
		from, nearest := Law{Std: 2}, 0.
		end := at(t, g, from, 2)
		low, high := min(from.Std, end.Std), max(from.Std, end.Std)
		r, err := g.Regularity(from, low, high, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		// A chi-squared variable of d degrees of freedom exceeds this with probability 10⁻⁶ (scipy.stats.chi2.isf).
		radius := high * math.Sqrt(map[int]float64{1: 23.92813, 2: 27.63102, 3: 30.66485}[g.Dim])
		const times = 40
		for i := range times {
			a := at(t, g, from, 2*float64(i)/times)
			for j := range times {
				b := at(t, g, from, 2*float64(j)/times)
				apart := radius * math.Abs(g.pull(a.Std)-g.pull(b.Std))
				if most := r.Lipschitz * 2 * math.Abs(float64(i-j)) / times; !(apart <= most*(1+1e-5)) {
					t.Errorf("%+v: at times %d and %d of %d the velocities are %v apart, L·|t−t′| is %v", g, i, j, times, apart, most)
				} else if i != j {
					nearest = max(nearest, apart/most)
				}
				if most := r.Lipschitz * g.TotalVariation(a, b); !(apart <= most*(1+1e-5)) {
					t.Errorf("%+v: for two laws the velocities are %v apart, L·TV is %v", g, apart, most)
				} else if i != j {
					nearest = max(nearest, apart/most)
				}
			}
			if pull := g.pull(a.Std); !(pull <= r.Lipschitz && pull >= r.Inward*(1-1e-12)) {
				t.Errorf("%+v: pull %v outside of m = %v and L = %v", g, pull, r.Inward, r.Lipschitz)
			} else {
				nearest = max(nearest, pull/r.Lipschitz)
			}
		}
		if !(nearest >= 0.5) {
			t.Errorf("%+v: no pair comes nearer to L than %.2f", g, nearest)
		}
	}
}

// The steepest slope of the pull against differences over a fine grid.
func TestSteepestPull(t *testing.T) {
	g := Isotropic{Dim: 3, TargetStd: 0.5, Smoothing: 1}
	for _, c := range [][2]float64{{0.6, 1.2}, {0.6, 4}, {2, 5}} {
		want := 0.
		const step = 1e-4
		for s := c[0]; s*(1+step) <= c[1]; s *= 1 + step {
			want = max(want, (g.pull(s*(1+step))-g.pull(s))/math.Log1p(step))
		}
		if got := g.steepest(c[0], c[1]); !(math.Abs(got/want-1) <= 1e-4) {
			t.Errorf("from %v to %v: steepest %v, by differences %v", c[0], c[1], got, want)
		}
	}
}

func TestBoundAgainstItsFormula(t *testing.T) {
	r := Regularity{Dim: 2, Lipschitz: 0.5, Inward: 0.25, Slack: 0.1, Size: 0.3, Estimate: 0.01, Start: 0.4}
	// By hand: C₀ = 0.4 + 8·(0.1 + 0.18 + 0.6) = 7.44, C₁ = 12·(1.86 + 0.09) + 1 =
	// 24.4, C₂ = 3.9; T = 2, so that L²T = 0.5, and 8λ = 2.4.
	want := math.Sqrt((0.5/0.6*(24.4*0.01/3+3*0.3*2*0.1) + 3.9*0.01*2/1.2) / (1 - 0.5/2.4))
	got, err := r.Bound(0.3, 0.1, 20)
	if err != nil || !(math.Abs(got/want-1) <= 1e-12) {
		t.Errorf("bound %v, %v; by hand %v", got, err, want)
	}
	if _, err := r.Bound(0.3, 0.1, 96); err == nil || !strings.Contains(err.Error(), "T·L²/8") { // T = 9.6 = 8λ/L²
		t.Errorf("at T = 8λ/L²: %v; want the condition", err)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, change := range []func(*Regularity){
		func(r *Regularity) { r.Dim = 0 }, func(r *Regularity) { r.Lipschitz = -1 }, func(r *Regularity) { r.Lipschitz = inf },
		func(r *Regularity) { r.Inward = 0 }, func(r *Regularity) { r.Inward = nan }, func(r *Regularity) { r.Slack = nan },
		func(r *Regularity) { r.Size = -1 }, func(r *Regularity) { r.Estimate = 1 }, func(r *Regularity) { r.Start = nan }, func(r *Regularity) { r.Start = -50 },
	} {
		bad := r
		change(&bad)
		if got, err := bad.Bound(0.3, 0.1, 20); err == nil {
			t.Errorf("%+v: bound %v, no error", bad, got)
		}
	}
	for _, c := range []struct {
		lambda, h float64
		steps     int
	}{{0, 0.1, 1}, {-1, 0.1, 1}, {nan, 0.1, 1}, {inf, 0.1, 1}, {0.3, 0, 1}, {0.3, nan, 1}, {0.3, inf, 1}, {0.3, 0.1, 0}} {
		if got, err := r.Bound(c.lambda, c.h, c.steps); err == nil {
			t.Errorf("%+v: bound %v, no error", c, got)
		}
	}
	g := Isotropic{Dim: 1, TargetStd: 1, Diffusion: 0.5}
	for _, c := range []struct {
		from               Law
		low, high, outside float64
	}{{Law{0, 2}, 0.9, 3, 1e-6}, {Law{0, 2}, 2.5, 3, 1e-6}, {Law{0, 4}, 2, 3, 1e-6}, {Law{1, 2}, 1.5, 3, 1e-6}, {Law{0, 2}, 1.5, 3, 0}, {Law{0, 2}, 1.5, 3, 1}, {Law{0, 2}, 1.5, inf, 1e-6}, {Law{0, nan}, 1.5, 3, 1e-6}} {
		if _, err := g.Regularity(c.from, c.low, c.high, c.outside); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	g.Smoothing = inf
	if _, err := g.Regularity(Law{0, 2}, 1.5, 3, 1e-6); err == nil {
		t.Error("no drift, no error")
	}
}
