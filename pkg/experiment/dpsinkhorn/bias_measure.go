package dpsinkhorn

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/viz"
)

// mixtures are the p of 001's Figure 4c.
var mixtures = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}

func biasAt(p float64) string     { return fmt.Sprintf("bias at p = %g", p) }
func varianceAt(p float64) string { return fmt.Sprintf("variance at p = %g", p) }

// biasOf measures the gradient of a trained generator by its parameters on batches of
// held-out rows, for every p: its bias, and its variance as a share of that of G_1.
func biasOf(found experiment.Measured, s *student, seed uint64, say func(run.Event)) (experiment.Measured, error) {
	loss, err := s.loss()
	if err != nil {
		return found, err
	}
	n, test := s.config.Generated, s.rows.Test
	batches := max(2, found.Rows/(2*n))
	rng := rand.New(rand.NewPCG(seed, 0x62696173))
	moments, err := loss.BiasAndVariance(s.rows.Backend, mixtures, batches, func(batch int) (Sample, error) {
		say(run.Event{Message: "gradients of batches", Step: batch + 1, Total: batches})
		labels := make([]int, 2*n)
		for i := range labels {
			labels[i] = rng.IntN(len(s.rows.Classes))
		}
		z, err := s.input(labels, rng)
		if err != nil {
			return Sample{}, err
		}
		x, err := s.made.Forward(z)
		if err != nil {
			return Sample{}, err
		}
		held := make([]int, n)
		for i := range held {
			held[i] = rng.IntN(test.Len())
		}
		return Sample{X: Batch{x, labels}, Real: Batch{test, s.rows.Held.Labels}.subset(held), Pull: func(byX []float32) ([]float64, error) {
			g, err := s.made.ByParameters(byX)
			wide := make([]float64, len(g))
			for i, v := range g {
				wide[i] = float64(v)
			}
			return wide, err
		}}, nil
	})
	if err != nil {
		return found, err
	}
	chance := 0.0
	for _, m := range moments {
		chance = max(chance, m.Chance)
		found.Values[biasAt(m.Debiasing)] = m.Bias
		found.Values[varianceAt(m.Debiasing)] = m.Relative
	}
	found.Note = fmt.Sprintf("of the gradient by the generator's parameters, on %d batches of held-out rows: ‖mean of G_p − mean of G_1‖, and the variance as a share of that of G_1 (001, Figure 4c); where there is no bias, so many batches show up to %.2g of it by chance", batches, chance)
	return found, nil
}

// biases draws what biasOf has measured of lines, if anything: 001's Figure 4c.
func biases(dataset string, all []measured) (viz.Curves, bool) {
	f := viz.Curves{Title: "Bias and variance of gradients, " + dataset, Caption: "A line for each generator, trained with its p; along it the p of the gradient: 0, 0.2, … 1, the last at no bias.",
		X: viz.Axis{Label: "bias: how far the mean gradient is from that at p = 1"}, Y: viz.Axis{Label: "variance / that at p = 1"}, Height: 440}
	for _, m := range all {
		for _, row := range m.rows[:1] {
			k := slices.IndexFunc(row.Measured, func(x experiment.Measured) bool { _, ok := x.Values[biasAt(1)]; return ok })
			if k < 0 {
				continue
			}
			l := viz.Line{Name: fmt.Sprintf("%s, p = %g", m.label, m.config.Debiasing)}
			for _, p := range mixtures {
				l.X, l.Y = append(l.X, row.Measured[k].Values[biasAt(p)]), append(l.Y, row.Measured[k].Values[varianceAt(p)])
			}
			f.Lines = append(f.Lines, l)
		}
	}
	return f, len(f.Lines) > 0
}
