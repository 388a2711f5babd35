package pld

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// gaussian is the profile of N(μ, 1) against N(0, 1).
func gaussian(mu float64) func(float64) float64 {
	return func(epsilon float64) float64 {
		x := epsilon/mu - mu/2
		if x > 37 {
			return 0
		}
		// e^ε·(1−Φ(x+μ)) in a form that does not overflow.
		far := math.Exp(epsilon - (x+mu)*(x+mu)/2)
		return math.Erfc(x/math.Sqrt2)/2 - far*upper(x+mu)
	}
}

// response is randomised response that tells the truth with odds e^ε₀.
func response(strength float64) Pair {
	return Pair{Forward: func(epsilon float64) float64 {
		return max(0, (math.Exp(strength)-math.Exp(epsilon))/(1+math.Exp(strength)))
	}}
}

// manyResponses is the exact δ of n randomised responses: losses (n−2k)·ε₀ with
// binomial probabilities.
func manyResponses(n int, strength, epsilon float64) (delta float64) {
	truth := 1 / (1 + math.Exp(-strength))
	for k := range n + 1 {
		all, _ := math.Lgamma(float64(n + 1))
		chosen, _ := math.Lgamma(float64(k + 1))
		left, _ := math.Lgamma(float64(n - k + 1))
		p := math.Exp(all - chosen - left + float64(n-k)*math.Log(truth) + float64(k)*math.Log1p(-truth))
		if loss := float64(n-2*k) * strength; loss > epsilon {
			delta += p * -math.Expm1(epsilon-loss)
		}
	}
	return delta
}

// above checks that got is an upper bound of want, and no more than a relative
// slack above.
func above(t *testing.T, what string, got, want, slack float64) {
	t.Helper()
	if !(got >= want*(1-1e-8) && got <= want*(1+slack)) || math.IsNaN(got) {
		t.Errorf("%s: %.9g, exactly %.9g (ratio − 1 = %.2g); want at most %.2g above and never below", what, got, want, got/want-1, slack)
	}
}

func TestGaussiansComposeToOne(t *testing.T) {
	for _, n := range []float64{2, 10, 1000, 1e6} {
		for _, delta := range []float64{1e-3, 1e-6, 1e-12} {
			for _, total := range []float64{0.05, 1, 5, 30} { // μ of all
				mu := total / math.Sqrt(n)
				got := Composition{Parts: []Part{{Pair{Forward: gaussian(mu)}, n}}}.Epsilon(delta)
				above(t, fmt.Sprintf("ε of %g Gaussians of μ = %.3g, δ = %g", n, mu, delta), got, leastEpsilon(gaussian(total), delta), 1e-3)
			}
		}
	}
}

func TestResponsesComposeToBinomials(t *testing.T) {
	for _, n := range []int{2, 7, 40, 1000} {
		for _, strength := range []float64{0.01, 0.3, 2} {
			c := Composition{Parts: []Part{{response(strength), float64(n)}}}
			for _, share := range []float64{0.1, 0.5, 0.9} {
				epsilon := share * min(float64(n)*strength, float64(n)*strength*strength/2+4*math.Sqrt(float64(n))*strength)
				want := manyResponses(n, strength, epsilon)
				if want < 1e-13 || want > 0.5 {
					continue
				}
				// Atoms between two dots are spread over both, which moves δ little but
				// in the last step before it is 0.
				above(t, fmt.Sprintf("δ of %d responses of %g at ε = %.3g", n, strength, epsilon), c.Delta(epsilon), want, 0.05)
				above(t, fmt.Sprintf("ε of %d responses of %g at δ = %.3g", n, strength, want), c.Epsilon(want), epsilon, 3e-3)
			}
		}
	}
}

// Profiles that are lines between atoms have dots that rounding bends both ways, and
// losses of a thousand dots' tilt have long sums: neither costs δ more than the digits that
// a curve allows for. The first was 4·10⁻⁴ of it, the second 6·10⁻⁷.
func TestResponsesAreNeverBelowBinomials(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 156))
	lowest := math.Inf(1)
	look := func(n int, strength, epsilon float64) {
		if want := manyResponses(n, strength, epsilon); want > 1e-250 && want < 1-1e-9 {
			c := Composition{Parts: []Part{{response(strength), float64(n)}}}
			lowest = min(lowest, c.Delta(epsilon)/want, c.Epsilon(want)/epsilon)
		}
	}
	look(126, 11.86453125600534, 1483.0751333680917)
	for range 100 {
		n, strength := 2+rng.IntN(200), math.Exp(6*rng.Float64()-3.5)
		look(n, strength, rng.Float64()*float64(n)*strength)
	}
	if !(lowest >= 1-1e-12) {
		t.Errorf("δ or ε is %.2g of itself below what is exact", 1-lowest)
	}
}

// Different parts, one of them with atoms: a mixture of shifted Gaussian
// profiles is exact.
func TestDifferentParts(t *testing.T) {
	const n, strength, mu = 20, 0.2, 0.7
	exact := func(epsilon float64) (delta float64) {
		truth := 1 / (1 + math.Exp(-strength))
		for k := range n + 1 {
			all, _ := math.Lgamma(n + 1)
			chosen, _ := math.Lgamma(float64(k + 1))
			left, _ := math.Lgamma(float64(n - k + 1))
			p := math.Exp(all - chosen - left + float64(n-k)*math.Log(truth) + float64(k)*math.Log1p(-truth))
			rest := epsilon - float64(n-2*k)*strength
			at := Pair{Forward: gaussian(mu)}.excess(rest)
			if rest < 0 {
				at += -math.Expm1(rest)
			}
			delta += p * at
		}
		return delta
	}
	c := Composition{Parts: []Part{{response(strength), n}, {Pair{Forward: gaussian(mu)}, 1}}}
	for _, epsilon := range []float64{0, 0.5, 2, 4, 6} {
		above(t, fmt.Sprintf("δ at ε = %g", epsilon), c.Delta(epsilon), exact(epsilon), 2e-3)
	}
	for _, epsilon := range []float64{0.5, 2, 4, 6} {
		above(t, fmt.Sprintf("ε at δ = %.3g", exact(epsilon)), c.Epsilon(exact(epsilon)), epsilon, 2e-3)
	}
}

// A mechanism that gives everything away with probability p.
func TestInfiniteLosses(t *testing.T) {
	const p, n = 1e-4, 30.
	leaky := Pair{Forward: func(epsilon float64) float64 { return p + (1-p)*gaussian(0.5)(epsilon) }}
	all := -math.Expm1(n * math.Log1p(-p))
	c := Composition{Parts: []Part{{leaky, n}}}
	if got := c.Epsilon(all * 0.999); !math.IsInf(got, 1) {
		t.Errorf("δ below %g, the probability of a catastrophe: ε = %v, want ∞", all, got)
	}
	got := c.Epsilon(all + 1e-6)
	rest := 1e-6 / (1 - all)
	above(t, "ε beside catastrophes", got, leastEpsilon(gaussian(0.5*math.Sqrt(n)), rest), 2e-2)
}

// Fewer dots only ever raise ε.
func TestCoarserIsNeverLower(t *testing.T) {
	pair := sampled(0.01, 1.2)
	fine := Composition{Parts: []Part{{pair, 500}}, Interval: 3e-5}.Epsilon(1e-6)
	above(t, "ε without an interval given", Composition{Parts: []Part{{pair, 500}}}.Epsilon(1e-6), fine, 5e-3)
	before := fine
	for _, interval := range []float64{3e-4, 3e-3, 0.03, 0.1} {
		got := Composition{Parts: []Part{{pair, 500}}, Interval: interval}.Epsilon(1e-6)
		if !(got >= before*(1-1e-5)) {
			t.Errorf("interval %g: ε = %.6g, below that of finer dots, %.6g", interval, got, before)
		}
		before = got
	}
	if !(before >= 1.05*fine) {
		t.Errorf("an interval of 0.1 costs nothing: %.4g beside %.4g; the test compares nothing", before, fine)
	}
}

// sampled is a Gaussian on a Poisson sample: Q = N(0, 1), P = (1−q)·Q + q·N(μ, 1).
func sampled(q, mu float64) Pair {
	base := gaussian(mu)
	return Pair{
		Forward: func(epsilon float64) float64 { return q * base(math.Log1p(math.Expm1(epsilon)/q)) },
		Backward: func(epsilon float64) float64 {
			left := q - (1-q)*math.Expm1(epsilon)
			if left <= 0 {
				return 0
			}
			return left * base(-math.Log1p(math.Expm1(-epsilon)/q))
		},
	}
}

// Both directions of a composition by simulation: losses drawn from P and Q.
// δ̂ is a mean of n terms in [0, 1], so it is within 6·√(δ/n) of δ but for a
// false alarm of 10⁻⁸ or so a comparison, of which there are 24.
func TestAgainstSimulation(t *testing.T) {
	const q, mu, steps, n = 0.05, 1.5, 10, 400_000
	rng := rand.New(rand.NewPCG(1, 2))
	c := Composition{Parts: []Part{{sampled(q, mu), steps}}}
	reverse, _ := c.reverse()
	loss := func(x float64) float64 { return math.Log1p(q * math.Expm1(mu*x-mu*mu/2)) } // log P/Q
	var forward, backward [n]float64
	for i := range n {
		for range steps {
			x := rng.NormFloat64()
			backward[i] -= loss(x)
			if rng.Float64() < q {
				x += mu
			}
			forward[i] += loss(x) // of another sample than backward's
		}
	}
	estimate := func(losses *[n]float64, epsilon float64) (sum float64) {
		for _, l := range losses {
			sum += max(0, -math.Expm1(epsilon-l))
		}
		return sum / n
	}
	for _, epsilon := range []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5} {
		for _, side := range []struct {
			name   string
			bound  float64
			losses *[n]float64
		}{{"forward", c.forwardDelta(epsilon), &forward}, {"backward", reverse.forwardDelta(epsilon), &backward}} {
			seen := estimate(side.losses, epsilon)
			margin := 6*math.Sqrt(max(seen, 1./n)/n) + 1e-3*seen
			if !(math.Abs(side.bound-seen) <= margin) {
				t.Errorf("%s, ε = %g: δ = %.5g, seen %.5g ± %.2g", side.name, epsilon, side.bound, seen, margin)
			}
		}
	}
}

// ε of δ of ε.
func TestEpsilonAndDeltaAreInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for range 30 {
		q, mu := math.Pow(10, -4*rng.Float64()), 0.05+3*rng.Float64()
		steps := math.Ceil(math.Pow(10, 4*rng.Float64()))
		delta := math.Pow(10, -2-9*rng.Float64())
		c := Composition{Parts: []Part{{sampled(q, mu), steps}}}
		epsilon := c.Epsilon(delta)
		if epsilon == 0 {
			continue
		}
		if back := c.Delta(epsilon); !(math.Abs(math.Log(back/delta)) <= 0.05) {
			t.Errorf("q = %.3g, μ = %.3g, %g steps: δ = %.6g gives ε = %.6g, which gives δ = %.6g", q, mu, steps, delta, epsilon, back)
		}
	}
}

// Losses too large for numbers, and profiles that hardly fall, are ∞ and no panic.
func TestLossesBeyondNumbers(t *testing.T) {
	steep := Pair{Forward: func(epsilon float64) float64 { // Laplace noise of scale 10⁻³⁰⁰
		return max(0, -math.Expm1((epsilon-1e300)/2))
	}}
	for _, parts := range [][]Part{{{steep, 2}}, {{steep, 1}, {response(1), 1000}}} {
		c := Composition{Parts: parts}
		if got := c.Epsilon(1e-5); !math.IsInf(got, 1) {
			t.Errorf("ε = %v, want ∞", got)
		}
		if got := c.Delta(100); !(got >= 1-1e-9 && got <= 1) {
			t.Errorf("δ(100) = %v, want 1", got)
		}
	}
}

// A record that is hardly ever looked at costs nothing at a δ above that.
func TestRareLooksAreFree(t *testing.T) {
	c := Composition{Parts: []Part{{sampled(1e-9, 10), 1000}}}
	if got := c.Epsilon(1e-5); got != 0 {
		t.Errorf("a look with probability 10⁻⁶ costs ε = %v at δ = 10⁻⁵, want 0", got)
	}
}

func BenchmarkEpsilon(b *testing.B) {
	c := Composition{Parts: []Part{{sampled(1./1200, 1/0.75), 160_000}}}
	for b.Loop() {
		c.Epsilon(1e-5)
	}
}
