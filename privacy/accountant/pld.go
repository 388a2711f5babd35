package accountant

import (
	"fmt"
	"math"

	"molehill/privacy/accountant/pld"
)

// PLD accounts by the distribution of the privacy loss, discretised
// pessimistically: ε is an upper bound, within a few tenths of a per cent of the
// least (package pld says how). It supports Gaussians, Laplace noise and pure events,
// all on samples: Poisson ones under every relation, under replace-one for
// Gaussians; fixed-size ones under replace-one. Gaussians on all records are
// composed exactly. Beyond some 10⁸ steps it loses accuracy, beyond 10¹⁴ all of it, never soundness.
type PLD struct {
	// Interval is the discretisation's, on the axis of the privacy loss; 0 chooses
	// one.
	Interval float64
}

// Name is "pld".
func (PLD) Name() string { return "pld" }

// Epsilon is Accountant's.
func (a PLD) Epsilon(e Event, rel Relation, delta float64) (Result, error) {
	p, err := read(a, e, rel, delta)
	switch {
	case err != nil:
		return Result{}, err
	case p.nonPrivate:
		return nonPrivate(a, delta), nil
	case p.onlyGaussians():
		r, err := AnalyticGaussian{}.Epsilon(e, rel, delta)
		r.Accountant = a.Name()
		return r, err
	}
	c, err := a.composition(p, e, rel)
	if err != nil {
		return Result{}, err
	}
	return Result{Epsilon: c.Epsilon(delta), Delta: delta, Accountant: a.Name(), Note: p.condition(rel)}, nil
}

// Delta returns a δ such that e is (epsilon, δ)-differentially private under rel,
// for a finite epsilon ≥ 0: a point of the privacy profile of all of e.
func (a PLD) Delta(e Event, rel Relation, epsilon float64) (float64, error) {
	p, err := read(a, e, rel, 0.5)
	if err == nil {
		err = checkEpsilon(epsilon)
	}
	switch {
	case err != nil:
		return 0, err
	case p.nonPrivate:
		return 1, nil
	case len(p.steps) == 0 && len(p.selections) == 0:
		return 0, nil
	}
	c, err := a.composition(p, e, rel)
	if err != nil {
		return 0, err
	}
	return c.Delta(epsilon), nil
}

// Composition returns e as package pld composes it, to look at its loss.
func (a PLD) Composition(e Event, rel Relation) (pld.Composition, error) {
	p, err := read(a, e, rel, 0.5)
	if err == nil && p.nonPrivate {
		err = &UnsupportedError{a.Name(), e, rel, "what is not private has no distribution of its loss"}
	}
	if err == nil && len(p.steps) == 0 && len(p.selections) == 0 {
		err = &UnsupportedError{a.Name(), e, rel, "nothing is released, so there is no loss"}
	}
	if err != nil {
		return pld.Composition{}, err
	}
	return a.composition(p, e, rel)
}

func (a PLD) composition(p plan, e Event, rel Relation) (pld.Composition, error) {
	c := pld.Composition{Interval: a.Interval}
	if !(a.Interval >= 0 && a.Interval <= math.MaxFloat64) {
		return c, fmt.Errorf("accountant: want a finite interval of at least 0 to discretise the privacy loss by (0: chosen), found %v", a.Interval)
	}
	if len(p.selections) > 0 {
		return c, &UnsupportedError{a.Name(), e, rel, "the theorems on selections bound Rényi divergences; use RDP"}
	}
	if mu := p.mu(); mu > 0 {
		c.Parts = append(c.Parts, pld.Part{Pair: step{everything, 1, 1 / mu, gaussian}.pair(), Count: 1})
	}
	for _, counted := range p.steps {
		if counted.sampler != everything || counted.noise != gaussian {
			c.Parts = append(c.Parts, pld.Part{Pair: counted.pair(), Count: counted.count})
		}
	}
	return c, nil
}

// condition says what a plan's bound under a relation rests on beyond its event.
func (p plan) condition(rel Relation) string {
	for _, c := range p.steps {
		switch {
		case c.sampler == poissonReplace:
			return "for sums of one vector a record, each of norm at most half of the sensitivity"
		case c.sampler == poisson && rel == ZeroOut:
			return "for queries to which a null record in the batch is none, such as sums of one vector a record"
		}
	}
	for _, s := range p.selections {
		if of := s.plan.condition(rel); of != "" {
			return of
		}
	}
	return ""
}
