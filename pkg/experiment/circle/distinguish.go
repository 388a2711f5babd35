package circle

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/transport/sliced"
)

// Told is how well an attacker tells neighbours X and X̃ from each other by the
// gradient of a distance to Z (004 D.1).
type Told struct {
	Zero      [2]float64 // share of the baseline's gradients that are exactly 0, of X and of X̃
	Baseline  float64    // advantage, true less false positives, by noisy projections
	Gradients float64    // and by a gradient with noise (Theorem 4.1)
	Allowed   float64    // what no attacker can exceed who faces (ε, δ)
}

// Neighbours returns the data sets of 004 D.1, n numbers each: those of X lie outside
// [0, 1], where the hard sigmoid x ↦ max(0, min(1, θ₁x + θ₂)) is flat at θ = (1, 0),
// and one of X̃ lies inside.
func Neighbours(n int) (x, neighbour []float64) {
	x = make([]float64, n)
	for i := range x {
		x[i] = []float64{-1.5, 1.5}[i%2]
	}
	neighbour = append([]float64{0.5}, x[1:]...)
	return x, neighbour
}

// spread is L of D.1: X lies in [−L/2, L/2], and the gradient (x, 1) of an output is
// no longer than L.
const spread = 4

// point is Z, of one number.
const point = 0.25

// gradient is that of (1/n)·Σ_i (g_θ(x_i) − a_i)² by θ at (1, 0).
func gradient(x []float64, a func(i int) float64) (g [2]float64) {
	for i, v := range x {
		if v <= 0 || v >= 1 { // flat
			continue
		}
		pull := 2 / float64(len(x)) * (v - a(i))
		g[0] += pull * v
		g[1] += pull
	}
	return g
}

// projectedGradient is M_R of Rakotomamonjy and Ralaivola 2021 in one dimension:
// outputs and Z get noise before they are compared, and Jacobians of outputs do not.
func projectedGradient(x []float64, sigma float64, r *rand.Rand) [2]float64 {
	z := point + sigma*r.NormFloat64()
	return gradient(x, func(int) float64 { return z - sigma*r.NormFloat64() })
}

// Distinguish draws as many gradients of each of the neighbours, of n records, by both
// ways with noise for (ε, δ), and attacks them. Against the baseline the attacker says
// X̃ unless the gradient is 0, which always is right.
func Distinguish(ctx context.Context, n, trials int, budget privacy.Budget, seed uint64) (told Told, err error) {
	if n < 1 || n > 1_000_000 || trials < 1 || trials > 10_000_000 {
		return told, fmt.Errorf("circle: %d trials of %d records; take from 1 to 10000000 of 1 to 1000000", trials, n)
	}
	if err := budget.Check(); err != nil {
		return told, err
	}
	if !budget.Private() {
		return told, fmt.Errorf("circle: ε = ∞; without noise any two data sets can be told apart, set a finite ε")
	}
	// Outputs lie in [0, 1]: a record moves its projection by 1.
	sigma, err := accountant.GaussianSigma(budget.Epsilon, budget.Delta)
	if err != nil {
		return told, err
	}
	s, err := sliced.Limits{Output: 1, Source: spread}.Sensitivity(n)
	if err != nil {
		return told, err
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: n, Steps: 1, Budget: budget, Coordinates: 2})
	if err != nil {
		return told, err
	}
	var sides [2][]float64
	sides[0], sides[1] = Neighbours(n)
	var means [2][2]float64 // gradients without noise
	for i, x := range sides {
		means[i] = gradient(x, func(int) float64 { return point })
	}
	var baseline, gradients [2]float64 // times that the attacker says X̃
	for i, x := range sides {
		r, keys := rand.New(rand.NewPCG(seed, uint64(i))), rand.New(rand.NewPCG(seed, uint64(2+i)))
		for range trials {
			if err := ctx.Err(); err != nil {
				return told, err
			}
			if projectedGradient(x, sigma, r) == [2]float64{} {
				told.Zero[i] += 1 / float64(trials)
			} else {
				baseline[i] += 1 / float64(trials)
			}
			released := means[i]
			key := noise.Seeded(keys.Uint64())
			if err := plan.Releaser(key).Release(released[:], s, 0); err != nil {
				return told, err
			}
			if nearer(released, means[1], means[0]) {
				gradients[i] += 1 / float64(trials)
			}
		}
	}
	told.Baseline, told.Gradients = baseline[1]-baseline[0], gradients[1]-gradients[0]
	told.Allowed = math.Tanh(budget.Epsilon/2) + 2*budget.Delta/(math.Exp(budget.Epsilon)+1)
	return told, nil
}

// nearer is the best test between two normal distributions.
func nearer(v, a, b [2]float64) bool {
	return math.Hypot(v[0]-a[0], v[1]-a[1]) < math.Hypot(v[0]-b[0], v[1]-b[1])
}

// Measures implements experiment.Measurer.
func (Experiment) Measures() []string { return []string{"distinguish"} }

// Measure implements experiment.Measurer: Distinguish with the budget and the batch of
// a run, by as many trials as rows are asked for. It looks at no record of the run.
func (Experiment) Measure(ctx context.Context, r *run.Run, config experiment.Config, _ string, trials int, _ func(run.Event)) (experiment.Measured, error) {
	c := config.(*Config)
	told, err := Distinguish(ctx, c.Batch, trials, c.budget(), r.Spec.Seed)
	return experiment.Measured{Of: "pairs of neighbours", Rows: trials, Note: "neighbours of 004 D.1 told apart by the gradient that a training follows: true less false positives",
		Values: run.Values{"by noisy projections": told.Baseline, "by a noisy gradient": told.Gradients, "allowed by (ε, δ)": told.Allowed}}, err
}
