package accountant

import (
	"fmt"
	"math"
	"strconv"
)

// CalibrateNoise returns the least noise multiplier, to a relative 10⁻⁶ above,
// for which the event built by build is (epsilon, delta)-differentially private
// according to a. The returned multiplier's ε has been computed and is at most
// epsilon. It assumes that ε does not grow with the noise multiplier. Multipliers are from
// 2⁻²⁰ to 2⁴⁰: where less would do it is the least of them, and where more is needed there
// is an error.
func CalibrateNoise(epsilon, delta float64, build func(noiseMultiplier float64) Event, rel Relation, a Accountant) (float64, error) {
	if err := checkTarget(epsilon); err != nil {
		return 0, err
	}
	of := func(multiplier float64) (float64, error) {
		r, err := a.Epsilon(build(multiplier), rel, delta)
		return r.Epsilon, err
	}
	// Between the two powers of two that have the target between them.
	const smallest, largest = 0x1p-20, 0x1p40
	enough, most, err := ladder(of, epsilon, 1, largest)
	if err != nil {
		return 0, err
	}
	if !(most <= epsilon) {
		return 0, fmt.Errorf("accountant: no noise multiplier up to %g gives ε ≤ %g at δ = %g; want fewer steps, or an event that uses the multiplier", largest, epsilon, delta)
	}
	short, least := enough, most
	for least <= epsilon {
		if enough, most, short = short, least, short/2; short < smallest {
			return enough, nil
		}
		if least, err = of(short); err != nil {
			return 0, err
		}
	}
	return between(of, epsilon, short, least, enough, most)
}

// CalibrateSteps returns the largest number of steps for which the event built by
// build is (epsilon, delta)-differentially private according to a: 0 if not even
// one is, and most if that many are. It assumes that ε does not shrink with the
// number of steps.
func CalibrateSteps(epsilon, delta float64, most int, build func(steps int) Event, rel Relation, a Accountant) (int, error) {
	if err := checkTarget(epsilon); err != nil {
		return 0, err
	}
	if most < 1 {
		return 0, fmt.Errorf("accountant: want at least 1 step to choose from, found at most %d", most)
	}
	private := func(steps int) (bool, error) {
		r, err := a.Epsilon(build(steps), rel, delta)
		return err == nil && r.Epsilon <= epsilon, err
	}
	lo, hi := 0, 1 // lo steps are private; hi are not known to be
	for {
		ok, err := private(hi)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if lo = hi; hi == most {
			return most, nil
		}
		if hi > most/2 {
			hi = most
		} else {
			hi *= 2
		}
	}
	for hi-lo > 1 {
		middle := lo + (hi-lo)/2
		ok, err := private(middle)
		switch {
		case err != nil:
			return 0, err
		case ok:
			lo = middle
		default:
			hi = middle
		}
	}
	return lo, nil
}

// CalibrateRate returns the largest sampling rate in [0, 1], to a relative 10⁻⁶
// below, for which the event built by build is (epsilon, delta)-differentially
// private according to a; 0 if none above 10⁻¹² is. It assumes that ε does not
// shrink with the rate.
func CalibrateRate(epsilon, delta float64, build func(rate float64) Event, rel Relation, a Accountant) (float64, error) {
	if err := checkTarget(epsilon); err != nil {
		return 0, err
	}
	// In terms of 1/rate, more of which costs less.
	of := func(inverse float64) (float64, error) {
		r, err := a.Epsilon(build(min(1, 1/inverse)), rel, delta)
		return r.Epsilon, err
	}
	const largest = 1e12
	all, err := of(1)
	if err != nil || all <= epsilon {
		return 1, err
	}
	enough, most, err := ladder(of, epsilon, 2, largest)
	if err != nil {
		return 0, err
	}
	if !(most <= epsilon) {
		return 0, nil
	}
	short := enough / 2
	least, err := of(short)
	if err != nil {
		return 0, err
	}
	inverse, err := between(of, epsilon, short, least, enough, most)
	return 1 / inverse, err
}

func checkTarget(epsilon float64) error {
	if !(epsilon > 0 && epsilon <= math.MaxFloat64) {
		return fmt.Errorf("accountant: want a finite target ε greater than 0, found %v", epsilon)
	}
	return nil
}

// ladder doubles x until f(x) ≤ goal or x passes the end.
func ladder(f func(x float64) (float64, error), goal, x, end float64) (at, value float64, err error) {
	for {
		if value, err = f(x); err != nil || value <= goal || 2*x > end {
			return x, value, err
		}
		x *= 2
	}
}

// between returns an x with f(x) ≤ goal, at most a relative 10⁻⁶ above the
// least, for an f that falls from flo > goal at lo to fhi ≤ goal at hi.
//
// log f is all but straight over log x on short ways, so it goes by secants
// through the last two points, and aims a little to the far side of the goal, so
// that both ends move in. Where that does not halve the way in three steps, it
// is halved.
//
// It looks at numbers of nine digits only. The last bits of an f are not the same on all
// processors, nor for ever, and what is calibrated with them is part of a release: a run
// that another machine goes on with must find the same.
func between(f func(x float64) (float64, error), goal, lo, flo, hi, fhi float64) (float64, error) {
	// In logarithms, y relative to the goal.
	type point struct{ x, y float64 }
	at := func(x, fx float64) point { return point{math.Log(x), math.Log(fx) - math.Log(goal)} }
	left, right := at(lo, flo), at(hi, fhi)
	before, last := left, right
	tolerance := math.Log1p(1e-6)
	for step, width := 1, right.x-left.x; right.x-left.x > tolerance; step++ {
		x := (left.x + right.x) / 2
		if step%3 == 0 && right.x-left.x > width/2 {
			width = right.x - left.x
		} else if slope := (last.y - before.y) / (last.x - before.x); slope < 0 && !math.IsInf(slope, 0) {
			if step%3 == 0 {
				width = right.x - left.x
			}
			if x = last.x - last.y/slope; last.y > 0 {
				x += tolerance / 3
			} else {
				x -= tolerance / 3
			}
			x = min(max(x, left.x+tolerance/3), right.x-tolerance/3)
		}
		probe, err := strconv.ParseFloat(strconv.FormatFloat(math.Exp(x), 'g', 9, 64), 64)
		if err != nil {
			return 0, err
		}
		fx, err := f(probe)
		if err != nil {
			return 0, err
		}
		before, last = last, at(probe, fx)
		if fx <= goal {
			right, hi = last, probe
		} else {
			left = last
		}
	}
	return hi, nil
}
