package accountant

import (
	"fmt"
	"math"
)

// RDP accounts by Rényi differential privacy (Mironov, "Rényi Differential
// Privacy", 2017): divergences add up over steps, order by order, and the best
// order gives ε. It supports Gaussians, on Poisson samples under add-remove and
// zero-out, on fixed-size samples without replacement under replace-one; Laplace
// noise and pure events on all records; and selections of all these.
type RDP struct {
	// Orders are the orders α > 1 to choose from. Without any, RDP searches
	// 1.001 to 10⁶.
	Orders []float64
	// Classic converts to ε by Mironov's Proposition 3, which is looser than
	// the default.
	Classic bool
}

// Name is "rdp", or "rdp-classic" with the classic conversion.
func (a RDP) Name() string {
	if a.Classic {
		return "rdp-classic"
	}
	return "rdp"
}

// Epsilon is Accountant's.
func (a RDP) Epsilon(e Event, rel Relation, delta float64) (Result, error) {
	p, err := a.read(e, rel, delta)
	if err != nil {
		return Result{}, err
	}
	for _, order := range a.Orders {
		if err := checkOrder(order); err != nil {
			return Result{}, err
		}
	}
	if p.nonPrivate {
		return nonPrivate(a, delta), nil
	}
	best := Result{Epsilon: math.Inf(1), Delta: delta, Accountant: a.Name(), Note: p.condition(rel)}
	if len(p.steps) == 0 && len(p.selections) == 0 {
		best.Epsilon = 0
		return best, nil
	}
	divergences := p.divergences()
	try := func(order float64) (epsilon, divergence float64) {
		divergence = divergences(order)
		if epsilon = a.convert(order, divergence, delta); epsilon < best.Epsilon {
			best.Epsilon, best.Order = epsilon, order
		}
		return epsilon, divergence
	}
	if len(a.Orders) > 0 {
		for _, order := range a.Orders {
			try(order)
		}
		return best, nil
	}
	const least, most, ratio = 1e-3, 1e6, 1.25 // of α−1
	for x := least; x <= most; x *= ratio {
		_, divergence := try(1 + x)
		// Divergences grow with the order, and so does this bound of what a
		// larger order can do.
		if divergence-math.Log1p(1/x)-math.Log1p(x)/x > best.Epsilon {
			break
		}
	}
	if best.Epsilon > 0 && best.Order > 0 { // no order is best if all overflow
		refine(best.Order-1, ratio, func(x float64) float64 {
			epsilon, _ := try(1 + x)
			return epsilon
		})
	}
	return best, nil
}

// Divergence returns the Rényi divergence of e of an order greater than 1, or a
// bound of it: the larger one of both directions, over all neighbours.
func (a RDP) Divergence(e Event, rel Relation, order float64) (float64, error) {
	p, err := a.read(e, rel, 0.5)
	if err == nil {
		err = checkOrder(order)
	}
	switch {
	case err != nil:
		return 0, err
	case p.nonPrivate:
		return math.Inf(1), nil
	}
	return p.divergences()(order), nil
}

func checkOrder(order float64) error {
	if !(order > 1 && order <= math.MaxFloat64) {
		return fmt.Errorf("accountant: want a finite Rényi order greater than 1, found %v", order)
	}
	return nil
}

// read is the package's, and refuses samples without a theorem.
func (a RDP) read(e Event, rel Relation, delta float64) (plan, error) {
	p, err := read(a, e, rel, delta)
	if err == nil && !p.renyiKnown() {
		err = &UnsupportedError{a.Name(), e, rel, "on samples it accounts for Gaussians, on Poisson ones under add-remove and zero-out; use PLD"}
	}
	return p, err
}

func (p plan) renyiKnown() bool {
	for _, c := range p.steps {
		if c.sampler == poissonReplace || c.sampler != everything && c.noise != gaussian {
			return false
		}
	}
	for _, s := range p.selections {
		if !s.plan.renyiKnown() {
			return false
		}
	}
	return true
}

// divergences returns the plan's divergence by order.
func (p plan) divergences() func(order float64) float64 {
	selected := make([]func(order float64) float64, len(p.selections))
	for i, s := range p.selections {
		selected[i] = s.divergences()
	}
	return func(order float64) (sum float64) {
		for _, c := range p.steps {
			sum += c.count * c.step.renyi(order)
		}
		for i, s := range p.selections {
			sum += s.count * max(0, selected[i](order)) // a bound; what it bounds is never below 0
		}
		return sum
	}
}

// convert returns an ε for delta from a Rényi divergence of an order.
func (a RDP) convert(order, divergence, delta float64) float64 {
	// The total variation is at most √(1 − exp(−KL)) (Bretagnolle & Huber 1979)
	// and KL at most any divergence of order above 1. A square that is no number any more
	// says nothing beside a divergence that is none.
	if delta > 1e-150 && -math.Expm1(-divergence) <= delta*delta {
		return 0
	}
	if a.Classic {
		return max(0, divergence-math.Log(delta)/(order-1))
	}
	// Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential
	// Privacy" (2020), Proposition 12; also Asoodeh et al. (2020).
	return max(0, divergence+math.Log1p(-1/order)-(math.Log(delta)+math.Log(order))/(order-1))
}

// refine looks for the least f between x/ratio and x·ratio by golden sections
// of log x. f keeps the result.
func refine(x, ratio float64, f func(x float64) float64) {
	const golden = 0.61803398874989484820
	a, b := math.Log(x/ratio), math.Log(x*ratio)
	at := func(u float64) float64 { return f(math.Exp(u)) }
	u, v := b-golden*(b-a), a+golden*(b-a)
	fu, fv := at(u), at(v)
	for b-a > 1e-4 {
		if fu < fv {
			b, v, fv = v, u, fu
			u = b - golden*(b-a)
			fu = at(u)
		} else {
			a, u, fu = u, v, fv
			v = a + golden*(b-a)
			fv = at(v)
		}
	}
}
