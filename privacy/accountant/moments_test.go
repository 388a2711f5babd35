package accountant

import (
	"math"
	"testing"
)

// The privacy claims of DPSWflow (Sebag et al.): batches of 250, σ as
// published, half of the training set private, T = epochs · n/250. The paper
// states ε = 10 and 5 by the moments accountant.
func TestMomentsReproducesDPSWflow(t *testing.T) {
	for _, c := range []struct {
		what                        string
		n, steps                    int
		sigma, delta                float64
		moments, cumulative, better float64 // known answers of this computation, to 0.01
	}{
		{"MNIST, 35 epochs, claim 10", 30000, 4200, 0.68, 1e-5, 9.89, 11.01, 8.93},
		{"MNIST, 20 epochs, claim 5", 30000, 2400, 0.9, 1e-5, 3.79, 5.11, 3.25},
		{"MNIST, 35 epochs at the noise of claim 5", 30000, 4200, 0.9, 1e-5, 4.90, 6.35, 4.26},
		{"CelebA, 30 epochs, claim 10", 81385, 9766, 0.59, 1e-6, 9.99, 10.76, 9.00},
	} {
		e := SelfComposed{PoissonSampled{250 / float64(c.n), Gaussian{c.sigma}}, c.steps}
		for _, check := range []struct {
			a    Accountant
			want float64
		}{{Moments{}, c.moments}, {Moments{Cumulative: true}, c.cumulative}, {RDP{}, c.better}} {
			if got := epsilon(t, check.a, e, AddRemove, c.delta); !(math.Abs(got-check.want) <= 0.01) {
				t.Errorf("%s: %s gives %.4f, want %.2f", c.what, check.a.Name(), got, check.want)
			}
		}
	}
}

func TestMomentsIsClassicRDPAtWholeOrders(t *testing.T) {
	orders := make([]float64, 32)
	for i := range orders {
		orders[i] = float64(i + 2)
	}
	for _, sigma := range []float64{0.5, 1, 4} {
		e := SelfComposed{PoissonSampled{0.01, Gaussian{sigma}}, 500}
		moments := epsilon(t, Moments{}, e, AddRemove, 1e-5)
		if rdp := epsilon(t, RDP{Orders: orders, Classic: true}, e, AddRemove, 1e-5); !(math.Abs(rdp/moments-1) <= 1e-7) {
			t.Errorf("σ=%g: moments %.9g, rdp-classic at orders 2..33 %.9g", sigma, moments, rdp)
		}
		cumulative := epsilon(t, Moments{Cumulative: true}, e, AddRemove, 1e-5)
		if !(cumulative >= moments) {
			t.Errorf("σ=%g: cumulative %g below %g", sigma, cumulative, moments)
		}
		if fewer := epsilon(t, Moments{MaxOrder: 2}, e, AddRemove, 1e-5); !(fewer >= moments) {
			t.Errorf("σ=%g: 2 orders give %g, 32 give %g", sigma, fewer, moments)
		}
	}
}

func TestMixtureAgainstGaussianIsTheLargerMoment(t *testing.T) {
	// logMoment leaves E₁ out of max(E₁, E₂): N(0) against the mixture.
	for _, sigma := range []float64{0.5, 1, 4} {
		for _, rate := range []float64{0.01, 0.3, 0.9} {
			for _, order := range []int{2, 5, 20} {
				alpha := float64(order)
				first := mixtures(sigma, rate, 0, 1, alpha)
				second := step{poisson, rate, sigma, gaussian}.logMoment(order-1) / (alpha - 1)
				if !(first <= second*(1+1e-7)) {
					t.Errorf("σ=%g q=%g: E₁ %g exceeds E₂ %g", sigma, rate, first, second)
				}
				if direct := mixtures(sigma, rate, 1, 0, alpha); !(math.Abs(direct/second-1) <= 1e-6) {
					t.Errorf("σ=%g q=%g: E₂ is %g by its sum, %g by definition", sigma, rate, second, direct)
				}
			}
		}
	}
}
