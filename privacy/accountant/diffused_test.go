package accountant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Two rows on a line are released with noise, sorted, and diffused: f is not
// linear, and both neighbours' densities are integrated on a grid.
func TestDiffusedReleaseAgainstNumericalIntegration(t *testing.T) {
	const cells, reach = 90, 7.
	width := 2 * reach / cells
	at := func(i int) float64 { return -reach + (float64(i)+0.5)*width }
	normal := func(x, std float64) float64 { return math.Exp(-x*x/2/std/std) / std / math.Sqrt(2*math.Pi) }
	// seen is the density of h·sort(y + σZ) + s·Z′, where Z′ is diffusion.
	seen := func(y [2]float64, sigma, h, s float64) (density [cells][cells]float64) {
		var kernel, half [cells][cells]float64 // [to][from]
		for i := range cells {
			for j := range cells {
				kernel[i][j] = normal(at(i)-h*at(j), s) * width
			}
		}
		sorted := func(a, b int) float64 { // of the order statistics, a below b
			switch {
			case a > b:
				return 0
			case a == b:
				return normal(at(a)-y[0], sigma) * normal(at(a)-y[1], sigma)
			}
			return normal(at(a)-y[0], sigma)*normal(at(b)-y[1], sigma) + normal(at(b)-y[0], sigma)*normal(at(a)-y[1], sigma)
		}
		for a := range cells {
			for b := range cells {
				if p := sorted(a, b); p > 0 {
					for i := range cells {
						half[i][b] += kernel[i][a] * p
					}
				}
			}
		}
		for i := range cells {
			for j := range cells {
				for b := range cells {
					density[i][j] += kernel[j][b] * half[i][b]
				}
			}
		}
		return density
	}
	rng := rand.New(rand.NewPCG(6, 0))
	tightest := 0.
	for trial := range 12 {
		sigma, h, s := 0.5+rng.Float64()/2, 0.6+0.6*rng.Float64(), 0.4+0.6*rng.Float64()
		y := [2]float64{-1.2 + 2.4*rng.Float64(), -1.2 + 2.4*rng.Float64()}
		if trial%3 == 0 {
			y = [2]float64{-2, 1} // the other row keeps away: hardly ever swapped
		}
		other := y
		other[1] += 0.5 + rng.Float64()
		release := DiffusedRelease{NoiseMultiplier: sigma / (other[1] - y[1]), Displacement: h * (other[1] - y[1]), NoiseStd: s}
		g, err := release.Gaussian()
		if err != nil {
			t.Fatal(err)
		}
		p, q := seen(y, sigma, h, s), seen(other, sigma, h, s)
		mass := 0.
		for _, row := range p {
			for _, v := range row {
				mass += v * width * width
			}
		}
		if !(math.Abs(mass-1) <= 2e-3) {
			t.Fatalf("trial %d: a density of mass %v; the grid is too small", trial, mass)
		}
		for _, epsilon := range []float64{0, 0.5, 1, 2} {
			there, back := 0., 0.
			for i := range cells {
				for j := range cells {
					there += max(0, p[i][j]-math.Exp(epsilon)*q[i][j]) * width * width
					back += max(0, q[i][j]-math.Exp(epsilon)*p[i][j]) * width * width
				}
			}
			bound, err := GaussianDelta(g.NoiseMultiplier, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			// Half a percent for the grid.
			if worst := max(there, back); !(worst <= bound*1.005+2e-4) {
				t.Errorf("%+v, ε = %v: δ = %.5g, above the bound %.5g", release, epsilon, worst, bound)
			} else if bound > 1e-3 {
				tightest = max(tightest, worst/bound)
			}
		}
	}
	if !(tightest >= 0.97) {
		t.Errorf("the bound is never tighter than %.3f; want 1 where rows do not swap", tightest)
	}
	t.Logf("largest ratio to the bound: %.4f", tightest)
}

// N particles on a line all follow one released number: r = y + σZ with y of 0 or
// 1, X_i = h·r + s·Z_i. Their mean is sufficient, a Gaussian of standard deviation
// √(h²σ² + s²/N), so that δ is known. The bound for all N particles is exactly it.
// That for one of them, N taken for 1, is not a bound; nor is 003's Theorem 3 with the
// displacement of neighbours, even for one particle, as some release lies as far
// away as one likes.
func TestOneParticleIsNotAll(t *testing.T) {
	const sigma, h, s, epsilon = 2., 1., 1., 2.
	released, err := GaussianDelta(sigma, epsilon)
	if err != nil {
		t.Fatal(err)
	}
	published, err := Diffusion{h, s}.Amplify(epsilon, released)
	if err != nil {
		t.Fatal(err)
	}
	single, err := DiffusedRelease{NoiseMultiplier: sigma, Displacement: h, NoiseStd: s}.Gaussian()
	if err != nil {
		t.Fatal(err)
	}
	for _, particles := range []float64{1, 10, 10_000} {
		truth, err := GaussianDelta(math.Sqrt(h*h*sigma*sigma+s*s/particles)/h, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		all, err := DiffusedRelease{NoiseMultiplier: sigma, Displacement: h * math.Sqrt(particles), NoiseStd: s}.Gaussian()
		if err != nil {
			t.Fatal(err)
		}
		proved, err := GaussianDelta(all.NoiseMultiplier, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(proved/truth-1) <= 1e-9) {
			t.Errorf("%v particles: proved δ %v, the truth is %v", particles, proved, truth)
		}
		if !(truth >= 10*published) {
			t.Errorf("%v particles: the truth is %v, and Theorem 3 with the displacement of neighbours, %v, is near it", particles, truth, published)
		}
		alone, err := GaussianDelta(single.NoiseMultiplier, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if particles > 1 && !(truth >= 1.5*alone) {
			t.Errorf("%v particles: the truth %v is hardly above %v, that of one", particles, truth, alone)
		}
	}
}

// What is seen is a release rounded to a grid, and diffused. Its density is a sum of
// Gaussians, so that δ is known: never above the bound with the grid's width for
// Rounding, and above the one without in some of the trials.
func TestRoundingIsNotPartOfTheWay(t *testing.T) {
	above := 0
	for _, sigma := range []float64{0.3, 0.5, 1} {
		for _, s := range []float64{0.1, 0.3, 1} {
			for _, grid := range []float64{1, 0.3, 0.05} {
				const width, reach = 0.004, 8.
				density := func(y float64) (all []float64) {
					for at := -reach; at < reach; at += width {
						var sum float64
						for k := math.Floor((y - 6*sigma) / grid); k*grid < y+6*sigma; k++ {
							share := normalBelow(((k+0.5)*grid-y)/sigma) - normalBelow(((k-0.5)*grid-y)/sigma)
							sum += share * math.Exp(-(at-k*grid)*(at-k*grid)/2/s/s) / s / math.Sqrt(2*math.Pi)
						}
						all = append(all, sum)
					}
					return all
				}
				p, q := density(0), density(1)
				for _, epsilon := range []float64{0, 1, 2} {
					var there float64
					for i := range p {
						there += max(0, p[i]-math.Exp(epsilon)*q[i]) * width
					}
					bound := func(rounding float64) float64 {
						g, err := DiffusedRelease{NoiseMultiplier: sigma, Displacement: 1, NoiseStd: s, Rounding: rounding}.Gaussian()
						if err != nil {
							t.Fatal(err)
						}
						delta, err := GaussianDelta(g.NoiseMultiplier, epsilon)
						if err != nil {
							t.Fatal(err)
						}
						return delta
					}
					if !(there <= bound(grid)+1e-6) {
						t.Errorf("σ = %v, s = %v, grid %v, ε = %v: δ = %v, above the bound %v", sigma, s, grid, epsilon, there, bound(grid))
					}
					if there > 1.1*bound(0) {
						above++
					}
				}
			}
		}
	}
	if above == 0 {
		t.Error("rounding never matters; this test has no power")
	}
}

func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func TestDiffusedReleaseIsMonotone(t *testing.T) {
	of := func(d DiffusedRelease) float64 {
		g, err := d.Gaussian()
		if err != nil {
			t.Fatal(err)
		}
		return g.NoiseMultiplier
	}
	if got := of(DiffusedRelease{0.7, 5, 0, 0}); got != 0.7 {
		t.Errorf("without diffusion the noise multiplier is %v, want the release's 0.7", got)
	}
	if got := of(DiffusedRelease{3, 0.5, 2, 0.05}); !(math.Abs(got-5/1.1) <= 1e-12) {
		t.Errorf("noise multiplier %v with rounding of a tenth, want 5/1.1", got)
	}
	if got := of(DiffusedRelease{3, 0.5, 2, 0.5}); got != 3 {
		t.Errorf("noise multiplier %v with much rounding, want the release's 3", got)
	}
	if got := of(DiffusedRelease{3, 0.5, 2, 0}); !(math.Abs(got-5) <= 1e-12) {
		t.Errorf("noise multiplier %v, want √(3² + (2/0.5)²) = 5", got)
	}
	for _, d := range []DiffusedRelease{{0.7, 5, 0.1, 0}, {1e-3, 1e-3, 1, 0}, {1e150, 1, 1e200, 0}} {
		more := []DiffusedRelease{d, d, d}
		more[0].NoiseStd *= 1.1
		more[1].Displacement *= 0.9
		more[2].NoiseMultiplier *= 1.1
		for i, m := range more {
			if !(of(m) >= of(d)) {
				t.Errorf("change %d of %+v: noise multiplier falls from %v to %v", i, d, of(d), of(m))
			}
		}
		if of(more[0]) == of(d) && !(d.NoiseStd/d.Displacement <= 1e-3*d.NoiseMultiplier) {
			t.Errorf("%+v: more diffusion changes nothing", d)
		}
	}
	// As an event of a plan it is what is sampled and composed.
	before, after := SelfComposed{FixedSizeSampled{250, 30_000, Gaussian{0.8}}, 100}, SelfComposed{FixedSizeSampled{250, 30_000, Gaussian{of(DiffusedRelease{0.8, 1, 0.5, 0})}}, 100}
	a, err := Tightest{}.Epsilon(before, ReplaceOne, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Tightest{}.Epsilon(after, ReplaceOne, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if !(b.Epsilon < a.Epsilon) {
		t.Errorf("ε = %v with diffusion, %v without", b.Epsilon, a.Epsilon)
	}
}

func TestDiffusedReleaseChecksItsConditions(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, d := range []DiffusedRelease{
		{0, 1, 1, 0}, {-1, 1, 1, 0}, {nan, 1, 1, 0}, {inf, 1, 1, 0},
		{1, 0, 1, 0}, {1, -1, 1, 0}, {1, nan, 1, 0}, {1, inf, 1, 0},
		{1, 1, -1, 0}, {1, 1, nan, 0}, {1, 1, inf, 0},
		{1, 1, 1, -1}, {1, 1, 1, nan}, {1, 1, 1, inf},
	} {
		if got, err := d.Gaussian(); err == nil {
			t.Errorf("%+v: %v, no error", d, got)
		}
	}
	if got, err := (DiffusedRelease{1, 1e-300, 1e300, 0}).Gaussian(); err != nil || Validate(got) != nil {
		t.Errorf("overflow: %v, %v; want an event that is valid", got, err)
	}
}
