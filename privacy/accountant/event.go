// Package accountant turns mechanisms into (ε, δ).
//
// A mechanism is data: an immutable tree of events, such as
//
//	SelfComposed{PoissonSampled{0.01, Gaussian{1.1}}, 10_000}
//
// An Accountant reads the tree under one neighbouring Relation and bounds ε for
// a given δ. What it has no theorem for it refuses with an UnsupportedError; it
// never guesses. Sampling and relation belong together: Poisson samples are
// accounted for under add-remove and zero-out and, where a release is a sum of one vector a
// record with Gaussian noise, under replace-one and k-end (PLD); fixed-size samples under
// replace-one and k-end.
//
//	Tightest          the least ε of the sound ones below; the default
//	PLD               the privacy loss distribution, all but exact
//	RDP               Rényi divergences; selections too
//	AnalyticGaussian  Gaussians without sampling, exactly
//	GDP               μ, exact for Gaussians, a limit theorem (marked) for samples
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

// Laplace is one release of a number with Laplace noise.
type Laplace struct {
	// NoiseMultiplier is the noise's scale b, the mean of its absolute value, over
	// the query's sensitivity under the relation that the accountant is asked
	// about. Greater than 0.
	NoiseMultiplier float64
}

// Pure is one release of which nothing is known but that it is
// (Epsilon, 0)-differentially private under the relation that the accountant is
// asked about: counts with discrete Laplace noise, an answer at random. Of all
// such mechanisms randomized response is the worst (Kairouz, Oh & Viswanath 2015),
// and is what accountants read.
type Pure struct {
	Epsilon float64 // greater than 0
}

// PoissonSampled runs Event on a batch that holds each record with probability
// Rate, independently of the others. An empty batch is a batch.
//
// Under replace-one it stands for the noisy sum of one vector a record, each of
// norm at most half of the sensitivity, such as a clipped one: what a record
// adds by being in the batch matters, not only what replacing it changes.
// Under zero-out a null record in the batch has to be as none, for the same reason.
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

// PostProcessed computes something from what Event released, without another
// look at the records. It costs what Event costs.
type PostProcessed struct {
	Event Event
	What  string // what is computed, for people
}

// RepeatAndSelect runs Event, released output by output, a random number of
// times and keeps the best result: how hyper-parameters are tuned on private
// data (Papernot & Steinke, "Hyperparameter Tuning with Rényi Differential
// Privacy", 2022). The number of runs is negative binomial, truncated to at least
// 1, of a Shape above −1 (1: geometric; 0: logarithmic), or Poisson where Shape
// is +Inf.
type RepeatAndSelect struct {
	Event Event
	Mean  float64 // of the number of runs; at least 1
	Shape float64 // η
}

// NonPrivate releases something with no protection. Its ε is +Inf.
type NonPrivate struct{}

func (Gaussian) event()         {}
func (Laplace) event()          {}
func (Pure) event()             {}
func (PoissonSampled) event()   {}
func (FixedSizeSampled) event() {}
func (Composed) event()         {}
func (SelfComposed) event()     {}
func (PostProcessed) event()    {}
func (RepeatAndSelect) event()  {}
func (NonPrivate) event()       {}

func (e Gaussian) String() string { return fmt.Sprintf("Gaussian(%g)", e.NoiseMultiplier) }
func (e Laplace) String() string  { return fmt.Sprintf("Laplace(%g)", e.NoiseMultiplier) }
func (e Pure) String() string     { return fmt.Sprintf("Pure(%g)", e.Epsilon) }
func (e PoissonSampled) String() string {
	return fmt.Sprintf("PoissonSampled(%g, %v)", e.Rate, e.Event)
}
func (e FixedSizeSampled) String() string {
	return fmt.Sprintf("FixedSizeSampled(%d of %d, %v)", e.Size, e.Population, e.Event)
}
func (e Composed) String() string {
	parts := make([]string, len(e.Events))
	for i, part := range e.Events {
		parts[i] = fmt.Sprint(part)
	}
	return "Composed(" + strings.Join(parts, " + ") + ")"
}
func (e SelfComposed) String() string  { return fmt.Sprintf("%d × %v", e.Count, e.Event) }
func (e PostProcessed) String() string { return fmt.Sprintf("PostProcessed(%v)", e.Event) }
func (e RepeatAndSelect) String() string {
	return fmt.Sprintf("RepeatAndSelect(%v, mean %g, shape %g)", e.Event, e.Mean, e.Shape)
}
func (NonPrivate) String() string { return "NonPrivate" }

// Validate checks the tree's numbers and that nothing is missing.
func Validate(e Event) error {
	wrong := func(want string) error { return fmt.Errorf("accountant: %v: want %s", e, want) }
	multiplier := func(m float64) error {
		if !(m > 0 && m <= math.MaxFloat64) {
			return wrong("a finite noise multiplier greater than 0")
		}
		return nil
	}
	switch e := e.(type) {
	case Gaussian:
		return multiplier(e.NoiseMultiplier)
	case Laplace:
		return multiplier(e.NoiseMultiplier)
	case Pure:
		if !(e.Epsilon > 0 && e.Epsilon <= math.MaxFloat64) {
			return wrong("a finite ε greater than 0")
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
	case PostProcessed:
		return Validate(e.Event)
	case RepeatAndSelect:
		if !(e.Shape > -1) {
			return wrong("a shape above −1")
		}
		if !(e.Mean >= 1 && e.Mean <= math.MaxFloat64) {
			return wrong("a finite mean number of runs of at least 1")
		}
		return Validate(e.Event)
	case NonPrivate:
	default:
		return fmt.Errorf("accountant: want an event of this package, by value; found %T", e)
	}
	return nil
}
