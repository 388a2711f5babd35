// Package accountant turns mechanisms into (ε, δ).
//
// A mechanism is data: an immutable tree of events, such as
//
//	SelfComposed{PoissonSampled{0.01, Gaussian{1.1}}, 10_000}
//
// An Accountant reads the tree under one neighbouring Relation and bounds ε for
// a given δ. What it has no theorem for it refuses with an UnsupportedError; it
// never guesses. Sampling and relation belong together: Poisson samples are
// accounted for under add/remove (or zero-out), fixed-size samples under
// replace-one.
//
//	RDP               every event here; the default
//	AnalyticGaussian  Gaussians without sampling, exactly
//	Moments           as published by Abadi et al. 2016, for comparison
//	Classic           √(2 ln(1.25/δ))/σ, to reproduce papers
package accountant

import (
	"fmt"
	"math"
	"strings"
)

// Event is one mechanism, or several. Its kinds are the types of this package,
// used by value. Fields must not be changed once an event is in use.
type Event interface {
	fmt.Stringer
	event()
}

// Gaussian is one release of a vector with Gaussian noise.
type Gaussian struct {
	// NoiseMultiplier is the noise's standard deviation over the query's
	// ℓ₂-sensitivity under the relation that the accountant is asked about.
	// Greater than 0. A clipped sum's sensitivity under replace-one is twice
	// that under add/remove.
	NoiseMultiplier float64
}

// PoissonSampled runs Event on a batch that holds each record with probability
// Rate, independently of the others. An empty batch is a batch.
type PoissonSampled struct {
	Rate  float64 // in [0, 1]
	Event Event
}

// FixedSizeSampled runs Event on Size records drawn uniformly without
// replacement from Population, both public.
type FixedSizeSampled struct {
	Size, Population int // 0 ≤ Size ≤ Population, Population ≥ 1
	Event            Event
}

// Composed runs all its events, each one free to depend on what the earlier
// ones released.
type Composed struct{ Events []Event }

// SelfComposed runs Event Count times, with fresh noise and a fresh sample each
// time.
type SelfComposed struct {
	Event Event
	Count int // at least 1
}

// NonPrivate releases something with no protection. Its ε is +Inf.
type NonPrivate struct{}

func (Gaussian) event()         {}
func (PoissonSampled) event()   {}
func (FixedSizeSampled) event() {}
func (Composed) event()         {}
func (SelfComposed) event()     {}
func (NonPrivate) event()       {}

func (e Gaussian) String() string { return fmt.Sprintf("Gaussian(%g)", e.NoiseMultiplier) }
func (e PoissonSampled) String() string {
	return fmt.Sprintf("PoissonSampled(%g, %v)", e.Rate, e.Event)
}
func (e FixedSizeSampled) String() string {
	return fmt.Sprintf("FixedSizeSampled(%d of %d, %v)", e.Size, e.Population, e.Event)
}
func (e Composed) String() string {
	var s strings.Builder
	for i, part := range e.Events {
		if i > 0 {
			s.WriteString(" + ")
		}
		fmt.Fprint(&s, part)
	}
	return "Composed(" + s.String() + ")"
}
func (e SelfComposed) String() string { return fmt.Sprintf("%d × %v", e.Count, e.Event) }
func (NonPrivate) String() string     { return "NonPrivate" }

// Validate checks the tree's numbers and that nothing is missing.
func Validate(e Event) error {
	wrong := func(want string) error { return fmt.Errorf("accountant: %v: want %s", e, want) }
	switch e := e.(type) {
	case Gaussian:
		if !(e.NoiseMultiplier > 0 && e.NoiseMultiplier <= math.MaxFloat64) {
			return wrong("a finite noise multiplier greater than 0")
		}
	case PoissonSampled:
		if !(e.Rate >= 0 && e.Rate <= 1) {
			return wrong("a sampling rate in [0, 1]")
		}
		return Validate(e.Event)
	case FixedSizeSampled:
		if e.Size < 0 || e.Population < 1 || e.Size > e.Population {
			return wrong("0 ≤ size ≤ population and a population of at least 1")
		}
		return Validate(e.Event)
	case Composed:
		if len(e.Events) == 0 {
			return wrong("at least one event to compose")
		}
		for _, part := range e.Events {
			if err := Validate(part); err != nil {
				return err
			}
		}
	case SelfComposed:
		if e.Count < 1 {
			return wrong("a count of at least 1")
		}
		return Validate(e.Event)
	case NonPrivate:
	default:
		return fmt.Errorf("accountant: want an event of this package, by value; found %T", e)
	}
	return nil
}

// A step is an event that accountants have theorems for: one Gaussian release,
// perhaps on a sample.
type step struct {
	sampler sampler
	rate    float64 // of the sample; 1 without one
	sigma   float64 // noise multiplier
}

type sampler int

const (
	everything sampler = iota
	poisson
	withoutReplacement
)

// counted is a step that is taken count times.
type counted struct {
	step
	count float64
}

// plan is what an event tree comes to: steps in order of first use.
type plan struct {
	steps      []counted
	nonPrivate bool
}

// flatten reads a tree that passed Validate. The relation decides which
// samplers have a theorem; fault says why one has none.
func flatten(root Event, rel Relation) (p plan, fault string) {
	index := map[step]int{}
	var walk func(e Event, count float64) string
	walk = func(e Event, count float64) string {
		switch e := e.(type) {
		case Composed:
			for _, part := range e.Events {
				if fault := walk(part, count); fault != "" {
					return fault
				}
			}
			return ""
		case SelfComposed:
			return walk(e.Event, count*float64(e.Count))
		case NonPrivate:
			p.nonPrivate = true
			return ""
		}
		s, fault := single(e, rel)
		if fault != "" || s.rate == 0 {
			return fault
		}
		at, known := index[s]
		if !known {
			at = len(p.steps)
			index[s] = at
			p.steps = append(p.steps, counted{step: s})
		}
		p.steps[at].count += count
		return ""
	}
	return p, walk(root, 1)
}

// single reads a Gaussian or a sampled one.
func single(e Event, rel Relation) (s step, fault string) {
	var base Event
	switch e := e.(type) {
	case Gaussian:
		return step{everything, 1, e.NoiseMultiplier}, ""
	case PoissonSampled:
		if rel == ReplaceOne {
			return s, "Poisson sampling is accounted for under add-remove and zero-out"
		}
		s.sampler, s.rate, base = poisson, e.Rate, e.Event
	case FixedSizeSampled:
		if rel != ReplaceOne {
			return s, "sampling of a fixed size without replacement is accounted for under replace-one"
		}
		s.sampler, s.rate, base = withoutReplacement, float64(e.Size)/float64(e.Population), e.Event
	}
	// Several Gaussians on one sample act as one: their privacy profiles
	// compose to that of μ = √Σ 1/σ² (Dong, Roth & Su 2022, Corollary 3.3), and
	// amplification by sampling depends on the profile alone.
	inner, fault := flatten(base, rel)
	switch {
	case fault != "":
		return s, fault
	case inner.nonPrivate:
		return s, "a non-private event on a sample has no bound but that of NonPrivate itself"
	}
	for _, c := range inner.steps {
		if c.sampler != everything {
			return s, "a sample of a sample has no theorem here"
		}
	}
	s.sigma = 1 / inner.mu()
	if s.rate == 1 {
		s.sampler = everything
	}
	return s, ""
}

// mu is √Σ 1/σ² over the plan's steps, the parameter of Gaussian differential
// privacy if none is sampled.
func (p plan) mu() float64 {
	var mu float64
	for _, c := range p.steps {
		mu = math.Hypot(mu, math.Sqrt(c.count)/c.sigma)
	}
	return mu
}
