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

// onlyGaussian checks that all steps of the plan are Gaussians on all records.
func onlyGaussian(a Accountant, p plan, e Event, rel Relation) error {
	if !p.onlyGaussians() && !p.nonPrivate {
		return &UnsupportedError{a.Name(), e, rel, "it accounts for Gaussians on all records; use PLD or RDP for others"}
	}
	return nil
}

func checkDelta(delta float64) error {
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("accountant: want δ in (0, 1), usually well below one over the number of records; found %v", delta)
	}
	if delta < 0x1p-1022 { // whose logarithm math.Log gets wrong
		return fmt.Errorf("accountant: δ = %v has lost digits; 1e-300 is the least that makes sense, and as good as none", delta)
	}
	return nil
}

func checkEpsilon(epsilon float64) error {
	if !(epsilon >= 0 && epsilon <= math.MaxFloat64) {
		return fmt.Errorf("accountant: want a finite ε of at least 0, found %v", epsilon)
	}
	return nil
}

// nonPrivate is the claim for a plan with a NonPrivate event.
func nonPrivate(a Accountant, delta float64) Result {
	return Result{Epsilon: math.Inf(1), Delta: delta, Accountant: a.Name(), Note: "something was released without protection"}
}
