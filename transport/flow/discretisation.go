package flow

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Regularity holds the constants of 000 Lemma 3 (003 Lemma 4; Liutkus et al. 2019,
// Lemmas S1 and S2): with v the velocity against the drift,
//
//	‖v_t(x) − v_t′(x′)‖ ≤ L·(‖x−x′‖ + |t−t′|)
//	‖v̂(x, μ) − v̂(x′, μ′)‖ ≤ L·(‖x−x′‖ + ‖μ−μ′‖_TV)
//	⟨x, v_t(x)⟩ ≥ m·‖x‖² − b
//	E‖v̂ − v‖² ≤ 2δ·(L²‖x‖² + B²),  E v̂ = v
type Regularity struct {
	Dim       int     // d, at least 1
	Lipschitz float64 // L ≥ 0
	Inward    float64 // m > 0
	Slack     float64 // b ≥ 0
	Size      float64 // B ≥ 0
	Estimate  float64 // δ in [0, 1): the error of v̂ from few directions, 0 for all of them
	// Start is C_e, which the papers print as the negative entropy of the start. Its
	// duty is that C₀ = C_e + 2·max(1, 1/m)·(b + 2B² + dλ) bounds E‖X_t‖² at all
	// times. For wide starts the entropy does not do that.
	Start float64
}

// Bound returns a bound on the total variation between the continuous flow at the
// time T = steps·h and the Euler scheme (000 Theorem 2, 003 Eq. 19), from the last
// line of its proof (000 Theorem 6),
//
//	TV² ≤ (1 − T·L²/8λ)⁻¹ · ( L²K/2λ·(C₁h³/3 + 3λd·h²) + C₂δ·T/4λ ),
//
// C₁ = 12(L²C₀ + B²) + 1, C₂ = 2(L²C₀ + B²). Above 1 it says nothing. It holds for
// λ > T·L²/8, and is an error else: with diffusion λ up to a time of 8λ/L².
//
// The theorem as printed, T/(λ − TL²/8)·(L²h·(c₁h + dλ) + c₂δ), lacks a factor of
// 3/2 before dλ, which c₁ and c₂ cannot make up for as h shrinks (an L larger by
// √1.5 could, under a condition that asks for more).
func (r Regularity) Bound(diffusion, h float64, steps int) (float64, error) {
	for _, v := range []float64{r.Lipschitz, r.Slack, r.Size, r.Estimate} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return 0, fmt.Errorf("flow: a constant of regularity is %v; want finite ones, at least 0", v)
		}
	}
	if r.Dim < 1 || !(r.Inward > 0) || !(r.Estimate < 1) || math.IsNaN(r.Start) || math.IsInf(r.Start, 0) {
		return 0, fmt.Errorf("flow: d = %d, m = %v, δ = %v, C_e = %v; the theorem needs at least 1, above 0, below 1, and finite", r.Dim, r.Inward, r.Estimate, r.Start)
	}
	if !(h > 0) || math.IsInf(h, 1) || steps < 1 {
		return 0, fmt.Errorf("flow: %d steps of size %v; want at least one, of a finite size above 0", steps, h)
	}
	d, time, square := float64(r.Dim), h*float64(steps), r.Lipschitz*r.Lipschitz
	rest := 1 - time*square/(8*diffusion)
	if !(diffusion > 0) || math.IsInf(diffusion, 1) || !(rest > 0) {
		return 0, fmt.Errorf("flow: λ = %v over a time of %v with L = %v; the theorem needs λ > T·L²/8 = %v, so take more diffusion or less time", diffusion, time, r.Lipschitz, time*square/8)
	}
	c0 := r.moment(diffusion)
	if !(c0 >= 0) {
		return 0, fmt.Errorf("flow: C₀ = %v cannot bound a second moment; take a larger C_e", c0)
	}
	c2 := 2 * (square*c0 + r.Size*r.Size)
	c1 := 6*c2 + 1
	sum := square*time/(2*diffusion)*(c1*h*h/3+3*diffusion*d*h) + c2*r.Estimate*time/(4*diffusion)
	return math.Sqrt(sum / rest), nil
}

// moment is C₀.
func (r Regularity) moment(diffusion float64) float64 {
	return r.Start + 2*max(1, 1/r.Inward)*(r.Slack+2*r.Size*r.Size+float64(r.Dim)*diffusion)
}

// Regularity returns the constants of a flow whose mean is the target's, among the
// laws with standard deviations from low to high: those of the flow and of the
// scheme that is compared with it. L is
// for the ball that holds all but outside of the widest law, as normal laws have
// no compact support and the theorem's law no other: on all of R^d the velocities
// (1−r)·x/d of two laws or times are arbitrarily far apart. m > 0 asks for laws wider than
// the target.
func (g Isotropic) Regularity(from Law, low, high, outside float64) (r Regularity, err error) {
	if err := g.check(from); err != nil {
		return r, err
	}
	if !(low > g.TargetStd) || !(low <= from.Std && from.Std <= high) || math.IsInf(high, 1) || from.Offset != 0 {
		return r, fmt.Errorf("flow: laws of standard deviation %v to %v, from %v, %v away; want the start between them, all above the target's %v, and one mean", low, high, from.Std, from.Offset, g.TargetStd)
	}
	if !(outside > 0 && outside < 1) {
		return r, fmt.Errorf("flow: a share of %v outside of the ball; want one between 0 and 1", outside)
	}
	if math.IsInf(g.Smoothing, 1) {
		return r, fmt.Errorf("flow: smoothing without end leaves no drift inwards, and the theorem needs one")
	}
	d := float64(g.Dim)
	radius := high * math.Sqrt(distuv.ChiSquared{K: d}.Quantile(1-outside))
	slope := g.steepest(low, high)
	inTime := slope * max(math.Abs(g.Diffusion/low/low-g.pull(low)), math.Abs(g.Diffusion/high/high-g.pull(high)))
	inLaw := slope
	if high > low {
		// Total variation is a concave function of the ratio's logarithm.
		inLaw *= math.Log(high/low) / g.TotalVariation(Law{0, low}, Law{0, high})
	}
	r = Regularity{
		Dim:       g.Dim,
		Lipschitz: max(g.pull(high), radius*inTime, radius*inLaw),
		Inward:    g.pull(low),
		Start:     -d / 2 * math.Log(2*math.Pi*math.E*from.Std*from.Std), // ∫ρ·log ρ
	}
	r.Start += max(0, d*high*high-r.moment(g.Diffusion))
	return r, nil
}

// steepest is the largest slope of pull by the logarithm of the standard deviation,
// √(s_ν²+σ²)·s²/(s²+σ²)^1.5/d, from low to high. It has one peak, at s² = 2σ².
func (g Isotropic) steepest(low, high float64) float64 {
	s := min(max(low, math.Sqrt2*g.Smoothing), high)
	return math.Hypot(g.TargetStd, g.Smoothing) * s * s / math.Pow(math.Hypot(s, g.Smoothing), 3) / float64(g.Dim)
}
