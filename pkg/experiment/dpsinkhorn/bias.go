package dpsinkhorn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"molehill/models/semidebiased"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// Mixtures are the p at which gradients are compared, as in 001's Figure 4c; its own p are
// not in its text.
var Mixtures = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}

// BiasAt and VarianceAt name what is measured of a gradient with p.
func BiasAt(p float64) string     { return fmt.Sprintf("bias at p = %g", p) }
func VarianceAt(p float64) string { return fmt.Sprintf("variance at p = %g", p) }

// measureBias measures the gradient of a trained generator by its parameters on batches of
// held-out rows, for every p: its bias, and its variance as a share of that of G_1.
func (t *training) measureBias(ctx context.Context, found *experiment.Measured, seed uint64, say func(run.Event)) error {
	loss, err := t.loss()
	if err != nil {
		return err
	}
	n, test := t.config.Generated, t.rows.Test
	batches := max(2, found.Rows/(2*n))
	rng := rand.New(rand.NewPCG(seed, 0x62696173))
	moments, err := loss.BiasAndVariance(t.rows.Backend, Mixtures, batches, func(batch int) (semidebiased.Sample, error) {
		if err := ctx.Err(); err != nil {
			return semidebiased.Sample{}, err
		}
		say(run.Event{Message: "gradients of batches", Step: batch + 1, Total: batches})
		labels := make([]int, 2*n)
		for i := range labels {
			labels[i] = rng.IntN(len(t.rows.Classes))
		}
		z, err := t.input(labels, rng)
		if err != nil {
			return semidebiased.Sample{}, err
		}
		x, err := t.generator.Forward(z)
		if err != nil {
			return semidebiased.Sample{}, err
		}
		held := make([]int, n)
		for i := range held {
			held[i] = rng.IntN(test.Len())
		}
		return semidebiased.Sample{X: semidebiased.Batch{Points: x, Labels: labels}, Real: semidebiased.Batch{Points: test, Labels: t.rows.Held.Labels}.Subset(held), Pull: func(byX []float32) ([]float64, error) {
			g, err := t.generator.ByParameters(byX)
			wide := make([]float64, len(g))
			for i, v := range g {
				wide[i] = float64(v)
			}
			return wide, err
		}}, nil
	})
	if err != nil {
		return err
	}
	chance := 0.0
	for _, m := range moments {
		chance = max(chance, m.Chance)
		found.Values[BiasAt(m.Debiasing)] = m.Bias
		found.Values[VarianceAt(m.Debiasing)] = m.Relative
	}
	found.Note = fmt.Sprintf("of the gradient by the generator's parameters, on %d batches of held-out rows: ‖mean of G_p − mean of G_1‖, and the variance as a share of that of G_1 (001, Figure 4c); where there is no bias, so many batches show up to %.2g of it by chance", batches, chance)
	return nil
}
