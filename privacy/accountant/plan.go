package accountant

import "math"

// A step is an event that accountants have theorems for: one release, perhaps on
// a sample.
type step struct {
	sampler sampler
	rate    float64 // of the sample; 1 without one
	sigma   float64 // noise multiplier; of a pure event 1/ε, as for Laplace noise
	noise   density
}

type sampler int

const (
	everything sampler = iota
	poisson
	poissonReplace // Poisson sampling under replace-one
	withoutReplacement
)

type density int

const (
	gaussian density = iota
	laplace
	response // randomized response, for all that is purely private
)

// counted is a step that is taken count times.
type counted struct {
	step
	count float64
}

// selection is a plan that is run a random number of times, of which the best is
// kept; all of it count times.
type selection struct {
	plan
	mean, shape, count float64
}

// plan is what an event tree comes to: steps in order of first use.
type plan struct {
	steps      []counted
	selections []selection
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
		case PostProcessed:
			return walk(e.Event, count)
		case RepeatAndSelect:
			inner, fault := flatten(e.Event, rel)
			p.selections = append(p.selections, selection{inner, e.Mean, e.Shape, count})
			p.nonPrivate = p.nonPrivate || inner.nonPrivate
			return fault
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

// single reads one release, or a sampled one.
func single(e Event, rel Relation) (s step, fault string) {
	var base Event
	switch e := e.(type) {
	case Gaussian:
		return step{everything, 1, e.NoiseMultiplier, gaussian}, ""
	case Laplace:
		return step{everything, 1, e.NoiseMultiplier, laplace}, ""
	case Pure:
		return step{everything, 1, 1 / e.Epsilon, response}, ""
	case PoissonSampled:
		s.sampler, s.rate, base = poisson, e.Rate, e.Event
		if rel.Replaces() {
			s.sampler = poissonReplace
		}
	case FixedSizeSampled:
		if !rel.Replaces() {
			return s, "sampling of a fixed size without replacement is accounted for under replace-one, or k-end"
		}
		s.sampler, s.rate, base = withoutReplacement, float64(e.Size)/float64(e.Population), e.Event
	}
	inner, fault := flatten(base, rel)
	switch {
	case fault != "":
		return s, fault
	case inner.nonPrivate:
		return s, "a non-private event on a sample has no bound but that of NonPrivate itself"
	case len(inner.selections) > 0:
		return s, "a selection on a sample has no theorem here; select among runs that sample"
	case len(inner.steps) == 0: // nothing is released of anything
		s.rate = 0
		return s, ""
	}
	for _, c := range inner.steps {
		if c.sampler != everything {
			return s, "a sample of a sample has no theorem here"
		}
	}
	switch only := inner.steps[0]; {
	case inner.onlyGaussians():
		// Several Gaussians on one sample act as one: their privacy profiles
		// compose to that of μ = √Σ 1/σ² (Dong, Roth & Su 2022, Corollary 3.3), and
		// amplification by sampling depends on the profile alone.
		s.sigma = 1 / inner.mu()
	case len(inner.steps) > 1 || only.count > 1:
		return s, "several releases on one sample have a theorem here if all are Gaussian"
	case s.sampler == poissonReplace:
		return s, "Poisson sampling under replace-one has a theorem here for Gaussians"
	default:
		s.sigma, s.noise = only.sigma, only.noise
	}
	if s.rate == 1 {
		s.sampler = everything
	}
	return s, ""
}

// onlyGaussians reports whether all steps are Gaussians without sampling.
func (p plan) onlyGaussians() bool {
	for _, c := range p.steps {
		if c.sampler != everything || c.noise != gaussian {
			return false
		}
	}
	return len(p.selections) == 0
}

// hasOtherNoise reports whether a step has noise that is not Gaussian.
func (p plan) hasOtherNoise() bool {
	for _, c := range p.steps {
		if c.noise != gaussian {
			return true
		}
	}
	return false
}

// mu is √Σ 1/σ² over the plan's Gaussians without sampling: the parameter of
// Gaussian differential privacy of all of them.
func (p plan) mu() float64 {
	var mu float64
	for _, c := range p.steps {
		if c.sampler == everything && c.noise == gaussian {
			mu = math.Hypot(mu, math.Sqrt(c.count)/c.sigma)
		}
	}
	return mu
}
