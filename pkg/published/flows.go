package published

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"molehill/privacy/accountant"
	"molehill/transport/sliced"
)

// Flow is what 003 C.5 (000 C.3 and D) prints for one data set, or for two that
// share their settings. 003's copy has lost the numbers of directions: they are
// 000's, and that of DPSWgen on CelebA, which 000 does not have, is DPSWflow-r's,
// as 003 states one for both.
type Flow struct {
	Data     string   // as the paper names it
	Datasets []string // as the registry of data sets does
	Where    string
	Records  int     // n, of the private half
	Delta    float64 // δ
	Dim      int     // d, of the latents
	Batch    int     // records a step of DPSWflow-r and DPSWgen

	Resampled    int // N_θ of DPSWflow-r and DPSWgen
	Fixed        int // N_θ of DPSWflow
	FixedPerStep int // M_θ of DPSWflow
	FixedSteps   int // of DPSWflow in its public code; the texts say so many epochs of batches of 250

	Noise   []FlowNoise // of DPSWflow-r and DPSWgen
	missing []string
}

// FlowNoise is a noise multiplier, the ε that the paper claims for it, and the
// epochs it is for.
type FlowNoise struct {
	Multiplier float64 // σ, in units of Lemma 1's sensitivity; 0 for ε = ∞
	Epsilon    float64
	Epochs     int
}

var flows = []Flow{{
	Data: "MNIST, Fashion-MNIST", Datasets: []string{"mnist", "fashion-mnist"}, Where: "003 Table 1, C.5; 000 Table 1, C.3",
	Records: 30_000, Delta: 1e-5, Dim: 8, Batch: 250, Resampled: 70, Fixed: 31, FixedPerStep: 25, FixedSteps: 1500,
	Noise: []FlowNoise{{0, math.Inf(1), 35}, {0.68, 10, 35}, {0.9, 5, 20}},
}, {
	Data: "CelebA", Datasets: []string{"celeba"}, Where: "003 Table 1, C.5; 000 Table 2, D",
	Records: 81_385, Delta: 1e-6, Dim: 48, Batch: 250, Resampled: 300, Fixed: 250, FixedPerStep: 220, FixedSteps: 2000,
	Noise:   []FlowNoise{{0, math.Inf(1), 30}, {0.59, 10, 30}, {0.8, 5, 30}},
	missing: []string{"the number of private records: half of the 162,770 training images of CelebA"},
}}

// FlowOn returns what the paper prints for a data set of the registry, false if it
// has no such experiment.
func FlowOn(dataset string) (Flow, bool) {
	for _, f := range flows {
		if slices.Contains(f.Datasets, dataset) {
			f.Noise = slices.Clone(f.Noise)
			return f, true
		}
	}
	return Flow{}, false
}

// Steps is how many batches the epochs have; the last one of an epoch is smaller.
func (f Flow) Steps(epochs int) int { return epochs * ((f.Records + f.Batch - 1) / f.Batch) }

// private are the pairs of noise and ε that claim privacy.
func (f Flow) private() (pairs []FlowNoise) {
	for _, n := range f.Noise {
		if n.Multiplier > 0 {
			pairs = append(pairs, n)
		}
	}
	return pairs
}

// resampledFlows are the claims of DPSWflow-r (003, Algorithm 1) and of DPSWgen,
// which release noisy projections of one batch on fresh directions at each step.
func resampledFlows() (claims []Claim) {
	for _, f := range flows {
		text := projected(f.Resampled, f.Dim, f.lemma(f.Resampled, 2*f.Delta)) // z at 1−δ, Eq. 23
		code := projected(f.Resampled, f.Dim, f.lemma(f.Resampled, f.Delta))   // z at 1−δ/2
		known := f.worst(f.Resampled, f.lemma(f.Resampled, 2*f.Delta))
		for _, n := range f.private() {
			steps := f.Steps(n.Epochs)
			release := accountant.Gaussian{NoiseMultiplier: n.Multiplier}
			poisson := accountant.PoissonSampled{Rate: float64(f.Batch) / float64(f.Records), Event: release}
			fixedSize := accountant.FixedSizeSampled{Size: f.Batch, Population: f.Records, Event: release}
			readings := []Reading{
				{Role: Theirs, What: "moments accountant (Abadi et al. 2016), Poisson batches",
					Event: poisson, Count: steps, Relation: accountant.AddRemove, By: accountant.Moments{}},
				{Role: Theirs, What: "the same as coded: log moments added up over orders",
					Event: poisson, Count: steps, Relation: accountant.AddRemove, By: accountant.Moments{Cumulative: true}},
				{Role: Text, What: "batches of 250 without replacement, sensitivity as it falls with the directions",
					Event: fixedSize, Count: steps, Relation: accountant.ReplaceOne, Chances: text},
				{Role: Known, What: "the same if records may be chosen with the directions in view, as under a public seed: those that they stretch most (estimated from 64 draws)",
					Event: fixedSize, Count: steps, Relation: accountant.ReplaceOne, Chances: known},
				{Role: Code, What: fmt.Sprintf("one shuffled pass, replayed: each record is in %d releases for certain (the flow alone: its autoencoder has seen about half of the private rows, as each process splits anew)", n.Epochs),
					Event: release, Count: n.Epochs, Relation: accountant.ReplaceOne, Chances: code},
			}
			c := Claim{
				Paper: "003", Where: f.Where, Method: "DPSWflow-r", Data: f.Data, Epsilon: n.Epsilon, Delta: f.Delta,
				Printed:  fmt.Sprintf("σ = %g times Lemma 1's sensitivity, batches of %d, %d epochs, N_θ = %d, d = %d; one record swapped (003 Section 2.3)", n.Multiplier, f.Batch, n.Epochs, f.Resampled, f.Dim),
				Missing:  append([]string{"how batches are drawn: for a sound ε, 250 afresh at each step"}, f.missing...),
				Readings: readings,
				Why:      "Lemma 1 plans for rare directions; the code replays its batches, which hides nobody",
			}
			claims = append(claims, c)
			c.Method, c.Readings = "DPSWgen", readings[:len(readings)-1]
			c.Why = "DPSWflow-r's mechanism; its code was not read"
			if f.Data == "CelebA" {
				c.Where = "003 Table 1, C.5"
			}
			claims = append(claims, c)
		}
	}
	return claims
}

// fixedFlows are the claims of DPSWflow (003, Algorithm 2), which releases noisy
// projections of all records on one set of directions.
func fixedFlows() (claims []Claim) {
	for _, f := range flows {
		text := projected(f.Fixed, f.Dim, f.lemma(f.Fixed, 2*f.Delta))
		code := projected(f.Fixed, f.Dim, f.lemma(f.Fixed, f.Delta))
		known := f.worst(f.Fixed, f.lemma(f.Fixed, 2*f.Delta))
		for _, n := range f.private() {
			release := accountant.Gaussian{NoiseMultiplier: accountant.ClassicSigma(n.Epsilon, f.Delta)}
			coded := accountant.Gaussian{NoiseMultiplier: accountant.ClassicSigma(n.Epsilon, f.Delta/2)}
			claims = append(claims, Claim{
				Paper: "003", Where: f.Where, Method: "DPSWflow", Data: f.Data, Epsilon: n.Epsilon, Delta: f.Delta,
				Printed: fmt.Sprintf("σ ≥ c·Δ₂/ε with c² > 2 ln(1.25/δ) and Lemma 1's Δ₂, one release, N_θ = %d, d = %d; one record swapped (003 Section 2.3)", f.Fixed, f.Dim),
				Missing: append([]string{"σ: the least that the formula allows"}, f.missing...),
				Readings: []Reading{
					{Role: Theirs, What: "the classical Gaussian mechanism, proved for ε < 1",
						Event: release, Count: 1, Relation: accountant.ReplaceOne, By: accountant.Classic{}},
					{Role: Text, What: "one release, sensitivity as it falls with the directions",
						Event: release, Count: 1, Relation: accountant.ReplaceOne, Chances: text},
					{Role: Known, What: "the same if records may be chosen with the directions in view, as under a public seed: those that they stretch most (estimated from 64 draws)",
						Event: release, Count: 1, Relation: accountant.ReplaceOne, Chances: known},
					{Role: Code, What: fmt.Sprintf("noise drawn anew for the same projections at each of %d steps", f.FixedSteps),
						Event: accountant.SelfComposed{Event: coded, Count: f.FixedSteps}, Count: 1, Relation: accountant.ReplaceOne, Chances: code},
					{Role: Code, What: fmt.Sprintf("the same %d releases, Lemma 1's sensitivity at its word, by Rényi divergences", f.FixedSteps),
						Event: coded, Count: f.FixedSteps, Relation: accountant.ReplaceOne, By: accountant.RDP{Classic: true}},
				},
				Why: fmt.Sprintf("proved for ε < 1 only, yet careful here; the code pays for one release and makes %d", f.FixedSteps),
			})
		}
	}
	return claims
}

// lemma is the sensitivity of Lemma 1 for records one unit apart, √w(N_θ, δ′).
func (f Flow) lemma(count int, failure float64) float64 {
	return math.Sqrt(sliced.PublishedBound(count, f.Dim, failure))
}

// worst returns by what bound exceeds σ_max(U), which is how far directions can
// stretch a record: of 64 draws from a seed, each as likely.
func (f Flow) worst(count int, bound float64) []Chance {
	rng := rand.New(rand.NewPCG(uint64(count), uint64(f.Dim)))
	chances := make([]Chance, 64)
	for i := range chances {
		s := sliced.ProjectionSensitivity(sliced.Uniform(f.Dim, count, rng), 1)
		chances[i] = Chance{1 / float64(len(chances)), bound / s.Value}
	}
	return chances
}
