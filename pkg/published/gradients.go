package published

import (
	"fmt"
	"math"

	"molehill/privacy/accountant"
	"molehill/transport/sliced"
)

// training is one experiment of 004: T steps on batches of fixed size, of the
// category that is sampled at the highest rate.
type training struct {
	where, method, data string
	size, population    int // of the batch
	steps               int
	delta               float64
	epsilons            []float64
	objective           sliced.Objective
}

// biased is the n of 004's synthetic data (C.2); Table 4 has its groups.
const biased = 30_000

func trainings() []training {
	autoencoder := sliced.Objective{Records: 600, Pairs: []sliced.Sizes{{A: 600, B: 600, Public: true}}, Alpha: 0.1, Clip: 1, Limits: sliced.Limits{Output: 1.5, Source: math.Sqrt(6)}}
	fair := func(pairs []sliced.Sizes, clip, m, l float64) sliced.Objective {
		o := sliced.Objective{Pairs: pairs, Alpha: 0.5, Clip: clip, Limits: sliced.Limits{Output: m, Source: l, Target: l}}
		for _, groups := range pairs {
			o.Records += groups.A + groups.B
		}
		return o
	}
	parity, odds := []sliced.Sizes{{A: 1500, B: 1450}}, []sliced.Sizes{{A: 1050, B: 400}, {A: 450, B: 1000}}
	return []training{
		{"004 Tables 1 and 2, Figure 6, Section 6.4", "DP-SWAE", "MNIST, Fashion-MNIST", 600, 60_000, 5000, 1e-5, []float64{10, 5, 1}, autoencoder},
		{"004 Figures 4 and 12, C.3", "fair classification, statistical parity", "synthetic", 1500, 15_172, 500, 0.1 / biased, []float64{3, 1}, fair(parity, 5, 1, 1)},
		{"004 Figure 14, C.3", "fair classification, equality of odds", "synthetic", 1050, 10_608, 500, 0.1 / biased, []float64{3, 1}, fair(odds, 5, 1, 1)},
		{"004 Figures 4 and 17, C.4", "fair regression, 2-D", "synthetic", 1500, 15_172, 1000, 0.1 / biased, []float64{3, 1}, fair(parity, 10, 1/math.Sqrt2, math.Sqrt2)},
		{"004 Figure 5, Remark C.4", "fair regression, 1-D", "synthetic", 1500, 15_172, 1000, 1. / biased, []float64{2}, fair(parity, 10, 1/math.Sqrt2, 1)},
		{"004 Figures 4 and 19, C.5", "fair representations", "synthetic", 1500, 15_172, 500, 0.1 / biased, []float64{3, 1}, fair(parity, 10, 2, math.Sqrt2)},
	}
}

// gradients are the claims of 004. Its noise is not printed: it is calibrated to
// ε by the central limit, as Section 5.3 says, and so it is here.
func gradients() (claims []Claim, err error) {
	for _, t := range trainings() {
		sharper, err := t.sharper()
		if err != nil {
			return nil, err
		}
		for _, epsilon := range t.epsilons {
			event := func(multiplier float64) accountant.Event {
				return accountant.FixedSizeSampled{Size: t.size, Population: t.population, Event: accountant.Gaussian{NoiseMultiplier: multiplier}}
			}
			sigma, err := accountant.CalibrateNoise(epsilon, t.delta, func(multiplier float64) accountant.Event {
				return accountant.SelfComposed{Event: event(multiplier), Count: t.steps}
			}, accountant.ReplaceOne, accountant.GDP{})
			if err != nil {
				return nil, fmt.Errorf("published: %s of 004 at ε = %g: %w", t.method, epsilon, err)
			}
			c := Claim{
				Paper: "004", Where: t.where, Method: t.method, Data: t.data, Epsilon: epsilon, Delta: t.delta,
				Printed: fmt.Sprintf("batches of %d of %d without replacement, %d steps, Gaussian noise", t.size, t.population, t.steps),
				Missing: []string{fmt.Sprintf("the noise multiplier: %.4g, at which its central-limit accountant says ε = %g", sigma, epsilon)},
				Readings: []Reading{
					{Role: Theirs, What: "Gaussian differential privacy by the central limit of C_p(G_μ)",
						Event: event(sigma), Count: t.steps, Relation: accountant.ReplaceOne, By: accountant.GDP{}},
					{Role: Text, What: "C_p(G_μ) composed by its privacy loss distribution",
						Event: event(sigma), Count: t.steps, Relation: accountant.ReplaceOne},
					{Role: Text, What: "the same, with the sharper sensitivity that is proved in Molehill",
						Event: event(sigma * sharper), Count: t.steps, Relation: accountant.ReplaceOne},
				},
				Why: "a central limit is no bound; exact composition shows on which side it falls",
			}
			if t.method != "DP-SWAE" {
				c.Printed += "; sizes of groups are public (Remark C.2)"
				c.Missing = append(c.Missing, "α of the sharper sensitivity: ½")
			}
			claims = append(claims, c)
		}
	}
	for _, epsilon := range []float64{0.5, 1, 3, 9} {
		claims = append(claims, Claim{Paper: "004", Where: "004 Figure 16, Remark C.3", Method: "fair classification, parity", Data: "Adult", Epsilon: epsilon,
			Printed: "δ = 1/n²", Missing: []string{"n, steps and batches, without which no ε can be computed"}, Why: "not recomputable"})
	}
	return append(claims,
		Claim{Paper: "004", Where: "004 Figure 5, Remark C.4", Method: "Xian et al. 2024 on DP-SGD", Data: "synthetic", Epsilon: 2, Delta: 1. / biased,
			Printed: "(1, 1/n) for a regression, (1, 0) for what is made of its predictions", Missing: []string{"steps, batches and noise of the regression, without which less than the sum cannot be computed"}, Why: "not recomputable; if the first holds, basic composition gives the sum"},
		Claim{Paper: "004", Where: "004 Figure 22, D.2", Method: "data generation", Data: "circle", Delta: 1e-6,
			Printed: "batches of 10,000 of 100,000, δ = 0.1/n; ε above each plot", Missing: []string{"ε, steps and noise other than in the figure, without which no ε can be computed"}, Why: "not recomputable"},
		Claim{Paper: "004", Where: "004 Figure 23, D.2", Method: "noisy projections (Rakotomamonjy & Ralaivola 2021)", Data: "circle", Delta: 1e-6,
			Printed: "15 directions; ε above each plot", Missing: []string{"ε, steps and noise other than in the figure, without which no ε can be computed"}, Why: "not recomputable"}), nil
}

// sharper is by what the published sensitivity exceeds Molehill's.
func (t training) sharper() (float64, error) {
	ours, err := t.objective.Sensitivity()
	if err != nil {
		return 0, err
	}
	t.objective.Limits.AsPublished = true
	theirs, err := t.objective.Sensitivity()
	return theirs.Value / ours.Value, err
}
