package accountant

import (
	"fmt"
	"math"
)

// Accountant bounds the privacy loss of an event.
type Accountant interface {
	// Name identifies the accountant and its options, such as "rdp".
	Name() string
	// Epsilon returns an ε ≥ 0 such that e is (ε, delta)-differentially private
	// under rel, with delta in (0, 1). Events without a theorem give an
	// *UnsupportedError.
	Epsilon(e Event, rel Relation, delta float64) (Result, error)
}

// Result is a claim and where it comes from.
type Result struct {
	Epsilon     float64 // +Inf if something non-private was composed
	Delta       float64
	Accountant  string
	Approximate bool    // not a proven bound: Note says why
	Order       float64 // the Rényi order α (or, for Moments, λ) that gave Epsilon; 0 if none did
	Note        string
}

// UnsupportedError says that an accountant has no theorem for an event under a
// relation.
type UnsupportedError struct {
	Accountant string
	Event      Event
	Relation   Relation
	Reason     string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("accountant %s does not support %v under %v: %s", e.Accountant, e.Event, e.Relation, e.Reason)
}

// read checks an accountant's arguments and flattens the event.
func read(a Accountant, e Event, rel Relation, delta float64) (plan, error) {
	if err := checkDelta(delta); err != nil {
		return plan{}, err
	}
	if err := rel.validate(); err != nil {
		return plan{}, err
	}
	if err := Validate(e); err != nil {
		return plan{}, err
	}
	p, fault := flatten(e, rel)
	if fault != "" {
		return plan{}, &UnsupportedError{a.Name(), e, rel, fault}
	}
	return p, nil
}

// unsampled checks that no step of the plan is on a sample.
func unsampled(a Accountant, p plan, e Event, rel Relation) error {
	for _, c := range p.steps {
		if c.sampler != everything {
			return &UnsupportedError{a.Name(), e, rel, "it accounts for Gaussians on all records; for samples use RDP"}
		}
	}
	return nil
}

func checkDelta(delta float64) error {
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("accountant: want δ in (0, 1), usually well below one over the number of records; found %v", delta)
	}
	return nil
}

// nonPrivate is the claim for a plan with a NonPrivate event.
func nonPrivate(a Accountant, delta float64) Result {
	return Result{Epsilon: math.Inf(1), Delta: delta, Accountant: a.Name(), Note: "something was released without protection"}
}

// CalibrateNoise returns the least noise multiplier, to a relative 10⁻⁶ above,
// for which the event built by build is (epsilon, delta)-differentially private
// according to a. The returned multiplier's ε has been computed and is at most
// epsilon. It assumes that ε does not grow with the noise multiplier.
func CalibrateNoise(epsilon, delta float64, build func(noiseMultiplier float64) Event, rel Relation, a Accountant) (float64, error) {
	if !(epsilon > 0 && epsilon <= math.MaxFloat64) {
		return 0, fmt.Errorf("accountant: want a finite target ε greater than 0, found %v", epsilon)
	}
	const least, most = 0x1p-20, 0x1p40
	enough := func(noiseMultiplier float64) (bool, error) {
		r, err := a.Epsilon(build(noiseMultiplier), rel, delta)
		return err == nil && r.Epsilon <= epsilon, err
	}
	hi := 1.
	for ok, err := enough(hi); !ok; ok, err = enough(hi) {
		if err != nil {
			return 0, err
		}
		if hi *= 2; hi > most {
			return 0, fmt.Errorf("accountant: no noise multiplier up to %g gives ε ≤ %g at δ = %g; want fewer steps, or an event that uses the multiplier", most, epsilon, delta)
		}
	}
	// hi is enough throughout; lo is not, once there is one.
	lo := 0.
	for hi > max(least, lo*(1+1e-6)) {
		middle := math.Sqrt(lo * hi)
		if lo == 0 {
			middle = hi / 2
		}
		ok, err := enough(middle)
		switch {
		case err != nil:
			return 0, err
		case ok:
			hi = middle
		default:
			lo = middle
		}
	}
	return hi, nil
}
