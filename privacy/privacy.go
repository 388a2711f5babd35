// Package privacy is what is promised: relations between neighbouring data
// sets, sensitivities, budgets, and the plan that binds sampler, sensitivity,
// noise and accountant, so that nobody calibrates noise by hand and nothing is
// released that the accountant does not see.
//
// A query states its Sensitivity; a Plan is calibrated for a Budget; the plan's
// Releaser adds the noise and refuses whatever the plan does not cover; the
// plan's Statement says what can be claimed, and what cannot.
package privacy

import (
	"fmt"
	"math"

	"molehill/privacy/accountant"
)

// Relation says which data sets are neighbours.
type Relation = accountant.Relation

// The relations. Sensitivities under them differ by a factor of up to two, so
// every sensitivity and every statement names its own.
const (
	AddRemove  = accountant.AddRemove  // one record more or less
	ReplaceOne = accountant.ReplaceOne // one record replaced by another; n is public
	ZeroOut    = accountant.ZeroOut    // one record replaced by a null record
	KEnd       = accountant.KEnd       // one record replaced by another of its category; who is of which is public
)

// Budget is the most privacy loss that may be spent.
type Budget struct {
	Epsilon float64 // > 0; +Inf means no privacy at all
	Delta   float64 // in (0, 1)
}

// Check returns an error unless the budget is in its domain.
func (b Budget) Check() error {
	if !(b.Epsilon > 0) {
		return fmt.Errorf("privacy: ε = %v; it must be above 0 (or inf for no privacy)", b.Epsilon)
	}
	if !(b.Delta > 0 && b.Delta < 1) {
		return fmt.Errorf("privacy: δ = %v; it must lie between 0 and 1, and well below 1/n for n records", b.Delta)
	}
	if b.Epsilon < 0x1p-1022 {
		return fmt.Errorf("privacy: ε = %g has lost digits; take a larger one, as this is as good as none", b.Epsilon)
	}
	if b.Delta < 0x1p-1022 { // no accountant reckons with fewer digits than a number has
		return fmt.Errorf("privacy: δ = %v has lost digits; 1e-300 is the least that makes sense, and as good as none", b.Delta)
	}
	return nil
}

// Private reports whether the budget promises anything.
func (b Budget) Private() bool { return !math.IsInf(b.Epsilon, 1) }

// Sensitivity is how far a query's answer can move between neighbours, in ℓ₂.
type Sensitivity struct {
	Value    float64  `json:"value"`
	Relation Relation `json:"relation"`
	Query    string   `json:"query"`  // what is released
	Source   string   `json:"source"` // the theorem or computation that bounds it
	// PerRecord says that the query is a sum of one vector a record, each of norm
	// at most Value, or half of it where a record is replaced by another, and 0 of a null
	// record: then a record moves it no further by being in a batch than the relation
	// allows for. A query that couples its records may not say so.
	PerRecord bool `json:"per_record,omitempty"`
}
