package accountant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// responses is the δ at ε of count answers that tell the truth with odds e^pure, from
// the binomial distribution of true answers.
func responses(pure float64, count int, epsilon float64) (delta float64) {
	truth, lie := -math.Log1p(math.Exp(-pure)), -math.Log1p(math.Exp(pure))
	for j := range count + 1 {
		all, _ := math.Lgamma(float64(count + 1))
		some, _ := math.Lgamma(float64(j + 1))
		rest, _ := math.Lgamma(float64(count - j + 1))
		k, l := float64(j), float64(count-j)
		p, q := math.Exp(all-some-rest+k*truth+l*lie), math.Exp(all-some-rest+l*truth+k*lie)
		delta += max(0, p-math.Exp(epsilon)*q)
	}
	return delta
}

// Answers at random compose as the binomial distribution says.
func TestPureComposesAsRandomizedResponse(t *testing.T) {
	for _, pure := range []float64{0.05, 1, 4} {
		for _, count := range []int{1, 2, 30} {
			e := SelfComposed{Pure{pure}, count}
			for _, share := range []float64{0.1, 0.5, 0.9} {
				at := share * pure * float64(count)
				want := responses(pure, count, at)
				got, err := PLD{}.Delta(e, ReplaceOne, at)
				if err != nil || !(got >= want*(1-1e-9)-1e-15 && got <= responses(pure, count, 0.99*at)*(1+1e-6)+1e-15) {
					t.Errorf("%v at ε = %g: δ = %.9g, %v; exactly %.9g", e, at, got, err, want)
				}
			}
			if got := epsilon(t, PLD{}, e, ReplaceOne, 1e-15); !(got <= pure*float64(count)*(1+1e-6)) {
				t.Errorf("%v costs %v, more than the sum", e, got)
			}
			for _, order := range []float64{1.001, 2, 30} {
				p := 1 / (1 + math.Exp(-pure))
				want := float64(count) * math.Log(math.Pow(p, order)*math.Pow(1-p, 1-order)+math.Pow(1-p, order)*math.Pow(p, 1-order)) / (order - 1)
				if got, err := (RDP{}).Divergence(e, AddRemove, order); err != nil || !(math.Abs(got/want-1) <= 1e-9) {
					t.Errorf("%v: divergence of order %g is %.12g, %v; exactly %.12g", e, order, got, err, want)
				}
			}
		}
	}
}

// No pair of distributions whose ratio stays within e^pure exceeds the profile: random
// ones, and counts with discrete Laplace noise.
func TestPureDominates(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	most := 0.
	for range 2000 {
		pure := 0.1 + 3*r.Float64()
		p, q := within(r, 2+r.IntN(4), pure)
		at := pure * r.Float64()
		delta, bound := 0., responseProfile(pure, at)
		for i := range p {
			delta += max(0, p[i]-math.Exp(at)*q[i])
		}
		if !(delta <= bound*(1+1e-12)) {
			t.Fatalf("ε = %g, p = %v, q = %v: δ = %g at %g, above %g", pure, p, q, delta, at, bound)
		}
		most = max(most, delta/bound)
	}
	if !(most >= 0.9) {
		t.Errorf("the random pairs reach %.2f of the profile at most; they test nothing", most)
	}
	const pure = 0.7 // of one count that moves by 1: P(k) ∝ e^(−0.7·|k|)
	weight := math.Tanh(pure / 2)
	for _, at := range []float64{0, 0.3, 0.6} {
		delta := 0.
		for k := -200; k <= 200; k++ {
			delta += max(0, weight*(math.Exp(-pure*math.Abs(float64(k)))-math.Exp(at-pure*math.Abs(float64(k-1)))))
		}
		if bound := responseProfile(pure, at); !(delta <= bound*(1+1e-9) && delta >= 0.5*bound) {
			t.Errorf("discrete Laplace noise: δ = %g at ε = %g, the profile has %g", delta, at, bound)
		}
	}
}

// within draws two distributions of n outcomes whose ratio is within e^±pure, many of
// them at the edge.
func within(r *rand.Rand, n int, pure float64) (p, q []float64) {
	p, q = make([]float64, n), make([]float64, n)
	for {
		var sum, other float64
		for i := range p {
			loss := pure * (2*r.Float64() - 1)
			if r.IntN(2) == 0 {
				loss = math.Copysign(pure, loss)
			}
			q[i] = r.Float64()
			p[i] = q[i] * math.Exp(loss)
			sum, other = sum+p[i], other+q[i]
		}
		// Scaled to sum to 1 the ratios change: those that leave the range are drawn again.
		fits := true
		for i := range p {
			p[i], q[i] = p[i]/sum, q[i]/other
			fits = fits && math.Abs(math.Log(p[i]/q[i])) <= pure
		}
		if fits {
			return p, q
		}
	}
}

func TestPureIsChecked(t *testing.T) {
	for _, e := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if err := Validate(Pure{e}); err == nil {
			t.Errorf("ε = %v passed", e)
		}
	}
	for _, e := range []float64{1e-12, 1e-3, 50, 1e5} {
		if got := epsilon(t, Tightest{}, Pure{e}, ReplaceOne, 1e-9); !(got <= e*(1+1e-6)) {
			t.Errorf("one release of ε = %g costs %v", e, got)
		}
	}
}
