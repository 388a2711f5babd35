package accountant

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// plane integrates (p − γq)⁺ of two mixtures of normal laws of variance 1 in the
// plane. Weighted centres; cells of side 1/12, whose error is below
// 10⁻⁴ where the edge of the set runs askew.
func plane(p, q []bump, gamma float64) (sum float64) {
	const side, far = 1. / 12, 6.5
	density := func(law []bump, x, y float64) (d float64) {
		for _, b := range law {
			d += b.weight * math.Exp(-((x-b.x)*(x-b.x)+(y-b.y)*(y-b.y))/2)
		}
		return d / (2 * math.Pi)
	}
	for x := -far + side/2; x < far; x += side {
		for y := -far + side/2; y < far; y += side {
			sum += max(0, density(p, x, y)-gamma*density(q, x, y))
		}
	}
	return sum * side * side
}

type bump struct{ weight, x, y float64 }

// A Poisson sample in which one record's vector is replaced: no pair of vectors
// of length at most c is worse than opposite ones of length c.
func TestPoissonReplaceProfileOverRandomVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	worst := 0.
	for trial := range 150 {
		c, rate := 0.2+1.5*rng.Float64(), rng.Float64()
		s := step{poissonReplace, rate, 1 / (2 * c), gaussian}
		vector := func() (x, y float64) {
			angle := 2 * math.Pi * rng.Float64()
			long := c
			if rng.IntN(2) == 0 {
				long *= rng.Float64()
			}
			return long * math.Cos(angle), long * math.Sin(angle)
		}
		vx, vy := vector()
		wx, wy := vector()
		if trial%5 == 0 { // the worst, or near it
			vx, vy = c*math.Cos(0.6), c*math.Sin(0.6)
			wx, wy = -vx, -vy
		}
		epsilon := 1.5 * rng.Float64() * c * 2 * rate
		seen := plane([]bump{{1 - rate, 0, 0}, {rate, vx, vy}}, []bump{{1 - rate, 0, 0}, {rate, wx, wy}}, math.Exp(epsilon))
		bound := s.poissonReplaceProfile(epsilon)
		if !(seen <= bound+5e-5) {
			t.Errorf("q = %.3g, c = %.3g, (%.3g, %.3g) for (%.3g, %.3g), ε = %.3g: δ = %.6g, the profile says %.6g", rate, c, vx, vy, wx, wy, epsilon, seen, bound)
		}
		if bound > 1e-3 {
			worst = max(worst, seen/bound)
		}
	}
	if !(worst >= 0.999) {
		t.Errorf("the profile is never reached: at most %.4f of it, want 1 by opposite vectors", worst)
	}
}

// Under very much noise the terms of the profile differ by rounding alone, which may not
// make it too small: to first order in c it is 2qc·φ(0) at ε = 0.
func TestPoissonReplaceProfileUnderMuchNoise(t *testing.T) {
	for _, sigma := range []float64{1e3, 1e5, 1e6, 1e8, 1e10, 1e12} {
		for _, rate := range []float64{1e-6, 0.01, 0.5, 1} {
			want := rate * math.Erf(1/(2*sigma)/math.Sqrt2) // q·(Φ(c) − Φ(−c))
			if got := (step{poissonReplace, rate, sigma, gaussian}).poissonReplaceProfile(0); !(got >= want*(1-1e-10) && got <= want*(1+1e-14*sigma+1e-9)) {
				t.Errorf("σ = %g, q = %g: δ = %.15g, exactly %.15g", sigma, rate, got, want)
			}
		}
	}
}

// Samples of three of six numbers in [−1, 1] with Gaussian noise, written out: no
// neighbours are told apart better than the profile says, and the bound is
// reached.
func TestFixedSizeProfileOverRandomNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	const n, size = 6, 3
	law := func(records []float64) (centres []float64) { // of all subsets
		for set := range 1 << n {
			sum, count := 0., 0
			for i := range n {
				if set>>i&1 == 1 {
					sum, count = sum+records[i], count+1
				}
			}
			if count == size {
				centres = append(centres, sum)
			}
		}
		return centres
	}
	worst := 0.
	for trial := range 300 {
		sigma := 0.3 + 2*rng.Float64() // in units of the sensitivity, 2
		s := step{withoutReplacement, 0.5, sigma, gaussian}
		one, other := make([]float64, n), make([]float64, n)
		for i := range one {
			one[i] = 2*rng.Float64() - 1
			if trial%3 == 0 {
				one[i] = 0 // the others say nothing
			}
			other[i] = one[i]
		}
		one[0], other[0] = 1, -1
		if trial%4 == 1 {
			other[0] = 2*rng.Float64() - 1
		}
		epsilon := rng.Float64() / sigma
		p, q := law(one), law(other)
		const cells = 3000
		noise := 2 * sigma
		lo, width := -4-8*noise, (8+16*noise)/cells
		var seen float64
		for cell := range cells {
			var dp, dq float64
			x := lo + width*(float64(cell)+0.5)
			for i := range p {
				dp += math.Exp(-(x - p[i]) * (x - p[i]) / (2 * noise * noise))
				dq += math.Exp(-(x - q[i]) * (x - q[i]) / (2 * noise * noise))
			}
			seen += max(0, dp-math.Exp(epsilon)*dq)
		}
		seen *= width / (noise * math.Sqrt(2*math.Pi) * float64(len(p)))
		bound := s.pair().Forward(epsilon)
		if !(seen <= bound+1e-6) {
			t.Errorf("σ = %.3g, %.3g for %.3g, ε = %.3g: δ = %.6g, the profile says %.6g", sigma, other, one, epsilon, seen, bound)
		}
		if bound > 1e-3 {
			worst = max(worst, seen/bound)
		}
	}
	t.Logf("largest share of the profile: %.4f", worst)
	if !(worst >= 0.5) {
		t.Errorf("the neighbours reach %.3f of the profile at most; they test nothing", worst)
	}
}

// Profiles and divergences of Laplace noise by integration.
func TestLaplace(t *testing.T) {
	for _, b := range []float64{0.2, 1, 5, 50} {
		lo, hi := -40*b, 1+40*b
		const cells = 400_000
		width := (hi - lo) / cells
		integral := func(f func(p, q float64) float64) (sum float64) {
			for i := range cells {
				x := lo + width*(float64(i)+0.5)
				sum += f(math.Exp(-math.Abs(x-1)/b)/(2*b), math.Exp(-math.Abs(x)/b)/(2*b)) * width
			}
			return sum
		}
		for _, epsilon := range []float64{0, 0.3 / b, 0.9 / b, 1.1 / b} {
			want := integral(func(p, q float64) float64 { return max(0, p-math.Exp(epsilon)*q) })
			if got := laplaceProfile(b, epsilon); !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("b = %g, ε = %g: δ = %.8g, by integration %.8g", b, epsilon, got, want)
			}
			got, err := PLD{}.Delta(SelfComposed{Laplace{b}, 1}, AddRemove, epsilon)
			if err != nil || !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("b = %g, ε = %g: PLD's δ = %.8g, %v; by integration %.8g", b, epsilon, got, err, want)
			}
		}
		for _, order := range []float64{1.01, 2, 7.5} {
			want := math.Log(integral(func(p, q float64) float64 { return q * math.Pow(p/q, order) })) / (order - 1)
			if got, err := (RDP{}).Divergence(Laplace{b}, ReplaceOne, order); err != nil || !(math.Abs(got-want) <= 1e-5*want+1e-6) {
				t.Errorf("b = %g: divergence of order %g is %.8g, %v; by integration %.8g", b, order, got, err, want)
			}
		}
	}
	// Pure ε-DP composes by adding, at worst, and never costs more than that.
	if got := epsilon(t, PLD{}, SelfComposed{Laplace{2}, 10}, AddRemove, 1e-12); !(got <= 5*(1+1e-6)) {
		t.Errorf("10 releases with ε = ½ each cost %v, want at most 5", got)
	}
}

// δ of two samples far out in the tail, by a quadrature of 40 digits (mpmath
// 1.4.1: the mean over the first step's outcome x ~ P of the second's profile at
// ε − L(x), in cells of ¼).
func TestDeltaFarOut(t *testing.T) {
	const want = 7.08213207015e-75
	got, err := PLD{}.Delta(SelfComposed{PoissonSampled{4.5e-4, Gaussian{4.105}}, 2}, AddRemove, 0.0331)
	if err != nil || !(got >= want && got <= 1.001*want) {
		t.Errorf("δ = %.6g, %v; want at least %.6g and hardly more", got, err, want)
	}
}

// The ε at which a sampled Gaussian has this δ, by mpmath 1.3 with 200 digits
// (q·H(N(1,σ²) ‖ N(0,σ²)) at log(1 + (e^ε−1)/q), and the other direction): the textbook's
// form of it was 3·10⁻¹⁰ of δ too low.
func TestProfileUnderNoiseAtATinyDelta(t *testing.T) {
	const want = 0.002797688147764421314815241
	event := PoissonSampled{0.11676935521031698, Gaussian{810.3308260105016}}
	if got := epsilon(t, PLD{}, event, AddRemove, 1.1000006377830841e-87); !(got >= want*(1-1e-15) && got <= want*(1+1e-6)) {
		t.Errorf("ε = %.17g, want %.17g", got, want)
	}
}

// No accountant reckons with a δ that has lost digits, whose logarithm may be wrong; of the
// least that has all it is right: ε of a Gaussian of σ = 1 at δ = 10⁻³⁰⁸ is 37.943
// (mpmath 1.3, 80 digits).
func TestDeltaAtTheEndOfNumbers(t *testing.T) {
	event := Gaussian{NoiseMultiplier: 1}
	for _, a := range []Accountant{PLD{}, RDP{}, GDP{}} {
		if _, err := a.Epsilon(event, AddRemove, 1e-320); err == nil || !strings.Contains(err.Error(), "lost digits") {
			t.Errorf("%s at δ = 1e-320: %v", a.Name(), err)
		}
		if found, err := a.Epsilon(event, AddRemove, 0x1p-1022); err != nil || !(found.Epsilon >= 37.92) {
			t.Errorf("%s at δ = 2.2e-308: ε = %v, %v", a.Name(), found.Epsilon, err)
		}
	}
}
