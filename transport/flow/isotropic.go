package flow

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Isotropic is the flow of 000 Theorem 1 where it is solved: in R^Dim towards a
// normal law N(m_ν, TargetStd²·I), from another such law. By symmetry it stays one.
// Transport between normal laws is linear, so that with σ smoothing both sides
//
//	v(x, μ) = ((m_ν − m) + (r − 1)·(x − m))/d,   r = √((s_ν²+σ²)/(s²+σ²))
//
// for μ = N(m, s²·I) (Eqs. 14 and 21; the mean of θθᵀ over the sphere is I/d), and
//
//	dm/dt = (m_ν − m)/d,   d(s²)/dt = (2/d)·(r − 1)·s² + 2λ.
type Isotropic struct {
	Dim       int     // d, at least 1
	TargetStd float64 // s_ν > 0
	Diffusion float64 // λ ≥ 0
	Smoothing float64 // σ ≥ 0; +Inf for the limit, in which r = 1
}

// Law is N(m_ν + Offset·e, Std²·I), for a unit vector e that is the same
// throughout.
type Law struct {
	Offset float64 // of its mean from the target's, along e
	Std    float64 // on each coordinate
}

func (g Isotropic) check(from Law) error {
	if g.Dim < 1 || !(g.TargetStd > 0) || math.IsInf(g.TargetStd, 1) || !(g.Smoothing >= 0) {
		return fmt.Errorf("flow: dimension %d, target of standard deviation %v, smoothing %v; want at least 1, above 0 and finite, and at least 0", g.Dim, g.TargetStd, g.Smoothing)
	}
	if !(g.Diffusion >= 0) || math.IsInf(g.Diffusion, 1) {
		return fmt.Errorf("flow: diffusion λ is %v; it must be finite and at least 0", g.Diffusion)
	}
	if !(from.Std > 0) || math.IsInf(from.Std, 1) || math.IsNaN(from.Offset) || math.IsInf(from.Offset, 0) {
		return fmt.Errorf("flow: a start with standard deviation %v, %v away; want a finite one above 0, at a finite distance", from.Std, from.Offset)
	}
	return nil
}

// pull is (1 − r)/d for a law of standard deviation std: the drift is −pull·x
// where the means agree.
func (g Isotropic) pull(std float64) float64 {
	if math.IsInf(g.Smoothing, 1) {
		return 0
	}
	return (1 - math.Hypot(g.TargetStd, g.Smoothing)/math.Hypot(std, g.Smoothing)) / float64(g.Dim)
}

// Euler returns the law after so many steps of size h of the scheme of Flow, with
// infinitely many particles and directions. With X ← X + h·v + √(2λh)·Z it stays
// normal: s² ← (1 + h·(r−1)/d)²·s² + 2λh.
func (g Isotropic) Euler(from Law, h float64, steps int) (Law, error) {
	if err := g.check(from); err != nil {
		return from, err
	}
	if !(h > 0) || math.IsInf(h, 1) || steps < 0 {
		return from, fmt.Errorf("flow: %d steps of size %v; want none or more, of a finite size above 0", steps, h)
	}
	for range steps {
		from.Std = math.Hypot((1-h*g.pull(from.Std))*from.Std, math.Sqrt(2*g.Diffusion*h))
		from.Offset *= 1 - h/float64(g.Dim)
	}
	return from, nil
}

// longest is the longest time of At, in units of d.
const longest = 1e4

// At returns the law of the continuous flow after a time t in [0, 10⁴·d], to about ten digits:
// in closed form for the heat flow, s² = s₀² + 2λt, else by the classical
// Runge–Kutta scheme in small steps.
func (g Isotropic) At(from Law, t float64) (Law, error) {
	if err := g.check(from); err != nil {
		return from, err
	}
	d := float64(g.Dim)
	if !(t >= 0 && t <= longest*d) {
		return from, fmt.Errorf("flow: time %v; want one from 0 to 10⁴·d = %g", t, longest*d)
	}
	from.Offset *= math.Exp(-t / d)
	if math.IsInf(g.Smoothing, 1) {
		from.Std = math.Sqrt(from.Std*from.Std + 2*g.Diffusion*t)
		return from, nil
	}
	slope := func(variance float64) float64 {
		return 2*g.Diffusion - 2*g.pull(math.Sqrt(variance))*variance
	}
	variance := from.Std * from.Std
	for t > 0 {
		rate := 2 / d // by which the law changes, relative to itself
		if s := slope(variance); s != 0 {
			rate = max(rate, math.Abs(s)/variance)
		} else {
			break // it is stationary
		}
		step := min(t, 0.02/rate)
		a := slope(variance)
		b := slope(variance + step/2*a)
		c := slope(variance + step/2*b)
		e := slope(variance + step*c)
		next := variance + step/6*(a+2*b+2*c+e)
		if next == variance {
			break // at rest, to the last bit
		}
		variance, t = next, t-step
	}
	from.Std = math.Sqrt(variance)
	return from, nil
}

// Stationary returns the standard deviation at which the flow rests, where
// (1 − r)·s² = λd: without smoothing (s_ν + √(s_ν² + 4λd))/2, more than the
// target's by what the entropy asks for. It is +Inf for the heat flow.
func (g Isotropic) Stationary() (float64, error) {
	if err := g.check(Law{Std: 1}); err != nil {
		return 0, err
	}
	switch {
	case g.Diffusion == 0 && math.IsInf(g.Smoothing, 1):
		return 0, fmt.Errorf("flow: with smoothing without end and no diffusion every law is stationary")
	case math.IsInf(g.Smoothing, 1):
		return math.Inf(1), nil
	case g.Smoothing == 0:
		return (g.TargetStd + math.Sqrt(g.TargetStd*g.TargetStd+4*g.Diffusion*float64(g.Dim))) / 2, nil
	}
	low, high := g.TargetStd, 2*g.TargetStd
	over := func(s float64) bool { return g.pull(s)*s*s >= g.Diffusion }
	for !over(high) && high < math.MaxFloat64/4 {
		low, high = high, 2*high
	}
	for range 200 {
		if middle := low + (high-low)/2; over(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// W2 returns the Wasserstein distance of order 2 between two laws of g's dimension.
func (g Isotropic) W2(a, b Law) float64 {
	return math.Hypot(a.Offset-b.Offset, math.Sqrt(float64(g.Dim))*(a.Std-b.Std))
}

// TotalVariation returns the total variation distance, at most 1, of two laws that
// have one mean: the difference of what they put into the ball where their densities
// agree. It is NaN if the means differ, and of what is no law of at least one dimension.
func (g Isotropic) TotalVariation(a, b Law) float64 {
	if a.Offset != b.Offset || g.Dim < 1 || !(a.Std > 0) || !(b.Std > 0) {
		return math.NaN()
	}
	low, high := min(a.Std, b.Std), max(a.Std, b.Std)
	if low == high {
		return 0
	}
	d := float64(g.Dim)
	ratio := high / low
	square := 2 * d * math.Log1p((high-low)/low) / ((ratio - 1) * (ratio + 1)) // of the radius, over high²
	return mathext.GammaIncReg(d/2, square*ratio*ratio/2) - mathext.GammaIncReg(d/2, square/2)
}
