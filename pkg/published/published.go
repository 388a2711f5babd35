// Package published holds the privacy claims of the papers that Molehill
// implements, as data, and recomputes each of them in three ways:
//
//	Theirs  by the accountant that the paper or its public code uses
//	Text    what can be proved of the mechanism that the text describes
//	Code    what can be proved of what the public code does, where that differs
//
// A claim has the parameters that its paper prints. What a paper leaves out
// stands in Claim.Missing, with what is taken in its place; a claim from which
// something is missing that nothing can stand for has no readings. No ε but the
// claimed ones is written down here: the others are computed.
//
// 000 and 003 are two versions of one paper, and so are 001 and 002, the
// appendix of 001.
package published

import (
	"fmt"
	"slices"
	"sync"

	"molehill/privacy/accountant"
)

// Claim is one claim of privacy.
type Claim struct {
	Paper, Where string // "003", "Table 1, C.5"
	Method, Data string
	Epsilon      float64  // claimed; 0 where only a figure tells
	Delta        float64  // 0 where it depends on a number that is not printed
	Printed      string   // the mechanism's parameters, as the paper prints them
	Missing      []string // what the paper does not print, and what is taken for it
	Readings     []Reading
	Why          string // why the numbers differ, in one line
}

// Name is method, data set and claimed ε: "DP-Sinkhorn, MNIST, ε = 10".
func (c Claim) Name() string {
	name := c.Method + ", " + c.Data
	if c.Epsilon > 0 {
		name += fmt.Sprintf(", ε = %g", c.Epsilon)
	}
	return name
}

// Role says whose way of reading a claim is followed.
type Role int

// The ways to read a claim.
const (
	Theirs Role = iota + 1 // the mechanism and the accountant of the authors
	Text                   // the mechanism that the text describes, a sound accountant
	Known                  // the same where records may be chosen with its directions in view: an estimate
	Code                   // the mechanism that the public code runs, a sound accountant
)

func (r Role) String() string {
	switch r {
	case Theirs:
		return "their accountant"
	case Text:
		return "sound, for the text"
	case Known:
		return "estimate, for the text, directions known"
	case Code:
		return "sound, for the public code"
	}
	return fmt.Sprintf("Role(%d)", int(r))
}

// Reading is one way to account for a claim's mechanism.
type Reading struct {
	Role     Role
	What     string           // what is accounted for, in a few words
	Event    accountant.Event // one step; noise in units of the sensitivity under Relation
	Count    int              // steps, at least 1
	Relation accountant.Relation
	By       accountant.Accountant // nil for the tightest sound one
	// Chances are what a step's noise may be where its sensitivity is random and
	// public, drawn anew for each step; nil where it is not.
	Chances []Chance
}

// Chance is a possible value of a sensitivity that is random.
type Chance struct {
	Probability float64
	Noise       float64 // by what the noise multiplier is multiplied then
}

// Epsilon returns the reading's ε at delta.
func (r Reading) Epsilon(delta float64) (result accountant.Result, err error) {
	by := r.By
	if by == nil {
		by = accountant.Tightest{}
	}
	if r.Chances == nil {
		result, err = by.Epsilon(accountant.SelfComposed{Event: r.Event, Count: r.Count}, r.Relation, delta)
	} else {
		result, err = r.overChances(delta)
	}
	if err != nil {
		return result, fmt.Errorf("published: %s: %w", r.What, err)
	}
	if r.Role == Known {
		result.Approximate, result.Note = true, "how far directions stretch a record is known of some draws of them, not of their law"
	}
	return result, nil
}

// Reading returns the claim's first reading in a role.
func (c Claim) Reading(role Role) (Reading, bool) {
	i := slices.IndexFunc(c.Readings, func(r Reading) bool { return r.Role == role })
	if i < 0 {
		return Reading{}, false
	}
	return c.Readings[i], true
}

// Recompute returns the ε of the claim's first reading in a role, and whether it
// has one.
func (c Claim) Recompute(role Role) (result accountant.Result, ok bool, err error) {
	r, ok := c.Reading(role)
	if !ok {
		return result, false, nil
	}
	result, err = r.Epsilon(c.Delta)
	return result, true, err
}

// Claims returns the claims of 000, 001 to 003 and 004, those of a table of ablations or
// settings, or of a figure, as one, the same at each call.
// The first takes a second: noise that is not printed is calibrated as its paper
// says it was, and the law of random sensitivities computed.
func Claims() ([]Claim, error) {
	claims, err := all()
	return slices.Clone(claims), err
}

var all = sync.OnceValues(func() ([]Claim, error) {
	gradients, err := gradients()
	return slices.Concat(resampledFlows(), fixedFlows(), sinkhorn(), gradients), err
})
