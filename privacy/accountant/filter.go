package accountant

import (
	"cmp"
	"fmt"
	"math"
)

// FilterRoom is the divergence that a Rényi filter of an order has room for: what RDP
// turns into ε at that order, 0 where the order alone costs more. It is for finite orders
// above 1 and δ in (0, 1).
//
// A filter keeps (ε, δ) for mechanisms that are chosen in the light of what earlier ones
// released, their noise, steps and samples included: at one order, fixed beforehand, the
// divergences of all of them must not add up to more (Feldman & Zrnic, "Individual Privacy
// Accounting via a Rényi Filter", 2021; Lécuyer, "Practical Privacy Filters and Odometers
// with Rényi Differential Privacy", 2021). RDP with that order alone tells what is spent.
func FilterRoom(order, epsilon, delta float64) float64 {
	return max(0, epsilon+(math.Log(delta)+math.Log(order))/(order-1)-math.Log1p(-1/order))
}

// FilterOrder is the order whose filter has room for the most Gaussian releases of all
// records, whose divergence is proportional to the order. It depends on the budget alone.
// An error says that ε is no finite number of at least 0, or δ not in (0, 1), or that no
// order has room.
func FilterOrder(epsilon, delta float64) (float64, error) {
	if err := cmp.Or(checkEpsilon(epsilon), checkDelta(delta)); err != nil {
		return 0, err
	}
	best, most := 0., 0.
	try := func(x float64) float64 {
		order := 1 + x
		share := FilterRoom(order, epsilon, delta) / order
		if share > most {
			best, most = order, share
		}
		return -share
	}
	const least, largest, ratio = 1e-3, 1e12, 1.25 // of α−1
	for x := least; x <= largest; x *= ratio {
		try(x)
	}
	if best == 0 {
		return 0, fmt.Errorf("accountant: no Rényi order up to %g has room for ε = %v at δ = %g; take a larger one", float64(largest), epsilon, delta)
	}
	refine(best-1, ratio, try)
	return best, nil
}
