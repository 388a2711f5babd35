package published

import (
	"fmt"
	"math"
	"slices"

	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/clip"
)

// images is DP-Sinkhorn's (001, D.4) batch, of generated and of real images.
const images = 50

// sinkhorn are the claims of DP-Sinkhorn (001; its appendix is 002).
func sinkhorn() (claims []Claim) {
	for _, c := range []struct {
		data, where        string
		sigma, rate, delta float64
		steps              int
		missing            []string
	}{
		{"MNIST", "001 Table 1, D.4", 1.5, 1. / 1200, 1e-5, 160_000, nil},
		{"Fashion-MNIST", "001 Table 1, D.4", 1.9, 1. / 1200, 1e-5, 280_000,
			[]string{"δ: that of Table 1"}},
		{"CelebA", "001 Table 3, D.4", 1.9, 0.00038, 1e-6, 1_700_000,
			[]string{"which of two numbers holds: a batch of 50 of 162,770 is a rate of 0.00031, and the rate of 0.00038 a batch of 62; 50 and 0.00038 are taken"}},
	} {
		step := func(multiplier float64) accountant.Event {
			return accountant.PoissonSampled{Rate: c.rate, Event: accountant.Gaussian{NoiseMultiplier: multiplier}}
		}
		perImage := c.sigma / relative(clip.PerImageSensitivity(1, images, privacy.AddRemove))
		joint := c.sigma / relative(clip.JointSensitivity(1, privacy.AddRemove))
		claims = append(claims, Claim{
			Paper: "001", Where: c.where, Method: "DP-Sinkhorn", Data: c.data, Epsilon: 10, Delta: c.delta,
			Printed: fmt.Sprintf("σ = %g, batches of 50, as many images generated (Algorithm 1, n = qM), rate %.3g, %d steps; each image's gradient clipped to Δ, noise Δσ (Theorem 4.1)", c.sigma, c.rate, c.steps),
			Missing: append([]string{"the relation: add-remove, that of the accountant it names"}, c.missing...),
			Readings: []Reading{
				{Role: Theirs, What: "Rényi divergences at TensorFlow Privacy's orders, Poisson batches, for noise of σ/2 times the sensitivity 2Δ of a gradient clipped as a whole",
					Event: step(joint), Count: c.steps, Relation: accountant.AddRemove, By: accountant.RDP{Orders: tensorflow()}},
				{Role: Theirs, What: "the same for σ times that sensitivity (the noise of Algorithm 1)",
					Event: step(c.sigma), Count: c.steps, Relation: accountant.AddRemove, By: accountant.RDP{Orders: tensorflow()}},
				{Role: Text, What: fmt.Sprintf("%d images clipped one by one: sensitivity 2Δ√%d, noise multiplier %.2g", images, images, perImage),
					Event: step(perImage), Count: c.steps, Relation: accountant.AddRemove},
				{Role: Text, What: "the same for the noise of Algorithm 1",
					Event: step(2 * perImage), Count: c.steps, Relation: accountant.AddRemove},
				{Role: Code, What: fmt.Sprintf("the whole gradient clipped, beside the noise of the text: sensitivity 2Δ, noise multiplier %.2g", joint),
					Event: step(joint), Count: c.steps, Relation: accountant.AddRemove},
			},
			Why: fmt.Sprintf("clipping %d images one by one bounds their whole by 2Δ√%d, not 2Δ; the code clips the whole, and stops early", images, images),
		})
	}
	search := func(where, data string, delta float64) Claim {
		return Claim{
			Paper: "001", Where: where, Method: "DP-Sinkhorn", Data: data, Epsilon: 10, Delta: delta,
			Printed: "σ, clipping norm, p and m of every row, all at ε = 10",
			Missing: []string{"the steps of each row, without which no ε can be computed"},
			Why:     "not recomputable; choosing the best row on private data costs privacy too, and is not charged",
		}
	}
	fewer := search("001 Section 5.2, Figure 4b", "MNIST", 1e-5)
	fewer.Epsilon, fewer.Printed = 2.33, "fewer iterations of the same training"
	fewer.Missing = []string{"the number of iterations, without which no ε can be computed"}
	fewer.Why = "not recomputable"
	celeba := search("002 Table 6", "CelebA, DCGAN and BigGAN", 1e-6)
	celeba.Printed, celeba.Why = "two architectures", "not recomputable; the main text's run has its own row"
	celeba.Missing = []string{"steps and noise of the two, without which no ε can be computed"}
	unsearched := func(where, data, printed string) Claim {
		c := search(where, data, 1e-5)
		c.Printed, c.Why = printed, "not recomputable"
		return c
	}
	return append(claims, fewer, unsearched("001 Table 2", "MNIST, 6 ablations", "what is left out in each, all at ε = 10"),
		unsearched("001 Figure 4a", "MNIST, learning rates and optimisers", "learning rates and optimisers"),
		search("002 Table 4, Figure 5", "MNIST, 9 settings", 1e-5), search("002 Table 5, Figure 5", "Fashion-MNIST, 9 settings", 1e-5), celeba)
}

// relative is a sensitivity in units of the clipping norm. The arguments are
// constants of this package, so there is no error to return.
func relative(s privacy.Sensitivity, err error) float64 {
	if err != nil {
		return math.NaN() // which every accountant refuses
	}
	return s.Value
}

// tensorflow are the orders that TensorFlow Privacy's tutorials take: 1.1 to
// 10.9, and 12 to 63.
func tensorflow() []float64 {
	var orders []float64
	for i := 1.; i < 100; i++ {
		orders = append(orders, 1+i/10)
	}
	for order := 12.; order < 64; order++ {
		orders = append(orders, order)
	}
	return slices.Clip(orders)
}
