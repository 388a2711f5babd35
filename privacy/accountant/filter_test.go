package accountant

import (
	"math"
	"testing"
)

// What a filter's order has room for is what the accountant turns into ε at that order,
// and no order of a fine grid has room for more Gaussians. Fixing the order beforehand
// costs at most three tenths of the noise that is exact for one Gaussian, and less
// than a tenth at usual ε and δ.
func TestFilterOrder(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.1, 1, 3, 10, 100} {
		for _, delta := range []float64{1e-12, 1e-6, 1e-5, 1e-3} {
			order, err := FilterOrder(epsilon, delta)
			if err != nil {
				t.Fatal(err)
			}
			room := FilterRoom(order, epsilon, delta)
			multiplier := math.Sqrt(order / (2 * room)) // of a Gaussian with that divergence
			event := Gaussian{NoiseMultiplier: multiplier}
			if d, err := (RDP{}).Divergence(event, ReplaceOne, order); err != nil || !(math.Abs(d-room) <= 1e-9*room) {
				t.Errorf("ε = %v, δ = %v: a divergence of %v, %v; want %v", epsilon, delta, d, err, room)
			}
			spent, err := (RDP{Orders: []float64{order}}).Epsilon(event, ReplaceOne, delta)
			if err != nil || !(math.Abs(spent.Epsilon-epsilon) <= 1e-9*epsilon) {
				t.Errorf("ε = %v, δ = %v: room for %v, %v", epsilon, delta, spent.Epsilon, err)
			}
			for x := 1e-4; x < 1e7; x *= 1.01 {
				if other := FilterRoom(1+x, epsilon, delta) / (1 + x); !(other <= 1.0001*room/order) {
					t.Errorf("ε = %v, δ = %v: order %v has more room than %v", epsilon, delta, 1+x, order)
					break
				}
			}
			exact, err := CalibrateNoise(epsilon, delta, func(m float64) Event { return Gaussian{NoiseMultiplier: m} }, ReplaceOne, AnalyticGaussian{})
			if err != nil || !(multiplier >= exact && multiplier <= 1.3*exact) {
				t.Errorf("ε = %v, δ = %v: noise %v, %v; exact is %v", epsilon, delta, multiplier, err, exact)
			}
			t.Logf("ε = %v, δ = %v: order %.4g, %.1f %% more noise", epsilon, delta, order, 100*(multiplier/exact-1))
		}
	}
	for _, b := range [][2]float64{{1e-13, 1e-300}, {math.Inf(1), 1e-5}, {-1, 1e-5}, {math.NaN(), 1e-5}, {1, 0}, {1, 1}, {1, 2}, {1, math.NaN()}} {
		if order, err := FilterOrder(b[0], b[1]); err == nil {
			t.Errorf("ε = %v and δ = %v have order %v", b[0], b[1], order)
		}
	}
}
