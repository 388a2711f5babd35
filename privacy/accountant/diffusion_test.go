package accountant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// hockey is H_γ of two discrete laws.
func hockey(p, q []float64, gamma float64) (sum float64) {
	for i := range p {
		sum += max(0, p[i]-gamma*q[i])
	}
	return sum
}

// Two discrete inputs, diffused on a fine line: the theorem must cover what comes
// out, and is attained by inputs at the ends.
func TestDiffusionAgainstNumericalConvolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	tightest := 0.
	for trial := range 200 {
		const places = 4
		at := make([]float64, places) // images of the drift, in [0, displacement]
		displacement := 0.2 + 3*rng.Float64()
		p, q := make([]float64, places), make([]float64, places)
		var sumP, sumQ float64
		for i := range at {
			at[i] = displacement * rng.Float64()
			if trial%2 == 0 {
				at[i] = displacement * float64(i%2)
			}
			p[i], q[i] = rng.ExpFloat64(), rng.ExpFloat64()
			sumP, sumQ = sumP+p[i], sumQ+q[i]
		}
		for i := range at {
			p[i], q[i] = p[i]/sumP, q[i]/sumQ
		}
		epsilon := rng.Float64()
		before := hockey(p, q, math.Exp(epsilon))
		if before < 1e-6 {
			continue
		}
		noise := 0.3 + rng.Float64()
		const cells = 4000
		lo, width := -8*noise, (displacement+16*noise)/cells
		diffused := func(law []float64) []float64 {
			out := make([]float64, cells)
			for c := range out {
				x := lo + width*float64(c)
				for i := range at {
					out[c] += law[i] * (upperTail((x-at[i])/noise) - upperTail((x+width-at[i])/noise))
				}
			}
			return out
		}
		after := hockey(diffused(p), diffused(q), math.Exp(epsilon))
		bound, err := Diffusion{displacement, noise}.Amplify(epsilon, before)
		if err != nil {
			t.Fatal(err)
		}
		if !(after <= bound*(1+1e-9)+1e-12 && bound <= before) {
			t.Errorf("displacement %.3g, noise %.3g, ε = %.3g, δ = %.3g: after diffusion %.6g, the theorem says %.6g", displacement, noise, epsilon, before, after, bound)
		}
		if bound > 1e-6 {
			tightest = max(tightest, after/bound)
		}
	}
	if !(tightest >= 0.95) {
		t.Errorf("the theorem is never tighter than %.3f of itself; want 1 for inputs at two places", tightest)
	}
	t.Logf("largest ratio to the bound: %.4f", tightest)
}

func TestDiffusionChecksItsConditions(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		d              Diffusion
		epsilon, delta float64
	}{
		{Diffusion{1, 0}, 1, 1e-5}, {Diffusion{1, -1}, 1, 1e-5}, {Diffusion{math.Inf(1), 1}, 1, 1e-5}, {Diffusion{-1, 1}, 1, 1e-5},
		{Diffusion{nan, 1}, 1, 1e-5}, {Diffusion{1, nan}, 1, 1e-5}, {Diffusion{1, 1}, -1, 1e-5}, {Diffusion{1, 1}, nan, 1e-5}, {Diffusion{1, 1}, 1, 0}, {Diffusion{1, 1}, 1, 1},
	} {
		if got, err := c.d.Amplify(c.epsilon, c.delta); err == nil {
			t.Errorf("%+v: δ′ = %v, no error", c, got)
		}
	}
	if got, err := (Diffusion{0, 1}).Amplify(1, 1e-5); got != 0 || err != nil {
		t.Errorf("a drift that is the same for all: δ′ = %v, %v; want 0", got, err)
	}
	if got, err := (Diffusion{1e9, 1}).Amplify(1, 1e-5); !(math.Abs(got-1e-5) <= 1e-12) || err != nil {
		t.Errorf("next to no diffusion: δ′ = %v, %v; want δ itself", got, err)
	}
}
