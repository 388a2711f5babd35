package accountant

import "math"

// divergences returns a bound of the Rényi divergence of what is selected, by
// order: Papernot & Steinke, "Hyperparameter Tuning with Rényi Differential
// Privacy" (2022).
func (s selection) divergences() func(order float64) float64 {
	base := s.plan.divergences()
	if math.IsInf(s.shape, 1) {
		return s.poissonDivergences(base)
	}
	// Theorem 2. Only its first and last term depend on the order λ; the others
	// are a bound for any λ̂ ≥ 1.
	logInverse := negativeBinomialLog(s.mean, s.shape)
	fixed := (1 + s.shape) * logInverse // λ̂ → 1
	for _, order := range selectionOrders() {
		fixed = min(fixed, (1+s.shape)*((1-1/order)*base(order)+logInverse/order))
	}
	return func(order float64) float64 {
		return base(order) + fixed + math.Log(s.mean)/(order-1)
	}
}

// poissonDivergences is Theorem 6: with δ̂ of the base at ε̂ = log(1 + 1/(λ−1)).
func (s selection) poissonDivergences(base func(order float64) float64) func(order float64) float64 {
	orders := selectionOrders()
	known := make([]float64, len(orders))
	for i, order := range orders {
		known[i] = base(order)
	}
	delta := func(epsilon float64) float64 { // RDP.convert, for δ
		log := 0.
		for i, order := range orders {
			log = min(log, (order-1)*(known[i]-epsilon+math.Log1p(-1/order))-math.Log(order))
		}
		return math.Exp(log)
	}
	return func(order float64) float64 {
		return base(order) + s.mean*delta(math.Log1p(1/(order-1))) + math.Log(s.mean)/(order-1)
	}
}

// selectionOrders are those of the base that bounds are chosen from.
func selectionOrders() []float64 {
	var orders []float64
	for x := 1e-3; x <= 1e5; x *= 1.1 {
		orders = append(orders, 1+x)
	}
	return orders
}

// negativeBinomialLog is log 1/γ ≥ 0, where γ is the one for which the truncated negative
// binomial distribution of a shape η has the given mean: η(1−γ)/(γ(1−γ^η)), which falls
// from ∞ to 1; for η = 0 its limit (1−γ)/(γ·log(1/γ)). It is the logarithm, as of large
// shapes all of it is in digits that γ itself does not have.
func negativeBinomialLog(mean, shape float64) float64 {
	if mean <= 1 {
		return 0
	}
	at := func(logInverse float64) float64 { // log of the mean
		switch all := logExpm1(logInverse); {
		case shape == 0:
			return all - math.Log(logInverse)
		case shape < 0:
			return math.Log(-shape) + all - logExpm1(-shape*logInverse)
		default:
			return math.Log(shape) + all - math.Log(-math.Expm1(-shape*logInverse))
		}
	}
	// More runs cost more: a γ below the true one is on the safe side.
	logMean := math.Log(mean) + 1e-13 // which is more than at is off by
	return least(func(x float64) bool { return at(x) >= logMean })
}
