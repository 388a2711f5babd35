package published

import (
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/privacy/accountant"
	"molehill/transport/sliced"
)

// flow is what 003 C.5 (000 C.3 and D) prints for one data set. Batches are 250.
type flow struct {
	data            string
	where           string
	records         int // n, of the private half
	delta           float64
	dim             int // d
	resampled       int // N_θ of DPSWflow-r and DPSWgen
	fixed, fixedRun int // N_θ and steps of DPSWflow
	noise           []noise
	missing         []string
}

// noise is a pair of noise multiplier and ε, and the epochs it is for.
type noise struct {
	sigma, epsilon float64
	epochs         int
}

const batch = 250

var flows = []flow{{
	data: "MNIST, Fashion-MNIST", where: "003 Table 1, C.5; 000 Table 1, C.3",
	records: 30_000, delta: 1e-5, dim: 8, resampled: 70, fixed: 31, fixedRun: 1500,
	noise: []noise{{0.68, 10, 35}, {0.9, 5, 20}},
}, {
	data: "CelebA", where: "003 Table 1, C.5; 000 Table 2, D",
	records: 81_385, delta: 1e-6, dim: 48, resampled: 300, fixed: 250, fixedRun: 2000,
	noise:   []noise{{0.59, 10, 30}, {0.8, 5, 30}},
	missing: []string{"the number of private records: half of the 162,770 training images of CelebA"},
}}

// steps is how many batches the epochs have; the last one of an epoch is smaller.
func (f flow) steps(epochs int) int { return epochs * ((f.records + batch - 1) / batch) }

// resampledFlows are the claims of DPSWflow-r (003, Algorithm 1) and of DPSWgen,
// which release noisy projections of one batch on fresh directions at each step.
func resampledFlows() (claims []Claim) {
	for _, f := range flows {
		text := projected(f.resampled, f.dim, f.lemma(f.resampled, 2*f.delta)) // z at 1−δ, Eq. 23
		code := projected(f.resampled, f.dim, f.lemma(f.resampled, f.delta))   // z at 1−δ/2
		known := f.worst(f.resampled, f.lemma(f.resampled, 2*f.delta))
		for _, n := range f.noise {
			steps := f.steps(n.epochs)
			release := accountant.Gaussian{NoiseMultiplier: n.sigma}
			poisson := accountant.PoissonSampled{Rate: batch / float64(f.records), Event: release}
			fixedSize := accountant.FixedSizeSampled{Size: batch, Population: f.records, Event: release}
			readings := []Reading{
				{Role: Theirs, What: "moments accountant (Abadi et al. 2016), Poisson batches",
					Event: poisson, Count: steps, Relation: accountant.AddRemove, By: accountant.Moments{}},
				{Role: Theirs, What: "the same as coded: log moments added up over orders",
					Event: poisson, Count: steps, Relation: accountant.AddRemove, By: accountant.Moments{Cumulative: true}},
				{Role: Text, What: "batches of 250 without replacement, sensitivity as it falls with the directions",
					Event: fixedSize, Count: steps, Relation: accountant.ReplaceOne, Chances: text},
				{Role: Text, What: "the same if records may be chosen with the directions in view, as under a public seed: those that they stretch most (estimated from 64 draws)",
					Event: fixedSize, Count: steps, Relation: accountant.ReplaceOne, Chances: known},
				{Role: Code, What: fmt.Sprintf("one shuffled pass, replayed: each record is in %d releases for certain (the flow alone: its autoencoder has seen about half of the private rows, as each process splits anew)", n.epochs),
					Event: release, Count: n.epochs, Relation: accountant.ReplaceOne, Chances: code},
			}
			c := Claim{
				Paper: "003", Where: f.where, Method: "DPSWflow-r", Data: f.data, Epsilon: n.epsilon, Delta: f.delta,
				Printed:  fmt.Sprintf("σ = %g times Lemma 1's sensitivity, batches of 250, %d epochs, N_θ = %d, d = %d", n.sigma, n.epochs, f.resampled, f.dim),
				Missing:  append([]string{"the relation: Lemma 1's, one row replaced", "how batches are drawn: for a sound ε, 250 afresh at each step"}, f.missing...),
				Readings: readings,
				Why:      "Lemma 1 plans for rare directions; the code replays its batches, which hides nobody",
			}
			claims = append(claims, c)
			c.Method, c.Readings = "DPSWgen", readings[:len(readings)-1]
			c.Why = "DPSWflow-r's mechanism; its code was not read"
			if f.data == "CelebA" {
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
		text := projected(f.fixed, f.dim, f.lemma(f.fixed, 2*f.delta))
		code := projected(f.fixed, f.dim, f.lemma(f.fixed, f.delta))
		known := f.worst(f.fixed, f.lemma(f.fixed, 2*f.delta))
		for _, n := range f.noise {
			release := accountant.Gaussian{NoiseMultiplier: accountant.ClassicSigma(n.epsilon, f.delta)}
			coded := accountant.Gaussian{NoiseMultiplier: accountant.ClassicSigma(n.epsilon, f.delta/2)}
			claims = append(claims, Claim{
				Paper: "003", Where: f.where, Method: "DPSWflow", Data: f.data, Epsilon: n.epsilon, Delta: f.delta,
				Printed: fmt.Sprintf("σ ≥ c·Δ₂/ε with c² > 2 ln(1.25/δ) and Lemma 1's Δ₂, one release, N_θ = %d, d = %d", f.fixed, f.dim),
				Missing: append([]string{"the relation: Lemma 1's, one row replaced", "σ: the least that the formula allows"}, f.missing...),
				Readings: []Reading{
					{Role: Theirs, What: "the classical Gaussian mechanism, proved for ε < 1",
						Event: release, Count: 1, Relation: accountant.ReplaceOne, By: accountant.Classic{}},
					{Role: Text, What: "one release, sensitivity as it falls with the directions",
						Event: release, Count: 1, Relation: accountant.ReplaceOne, Chances: text},
					{Role: Text, What: "the same if records may be chosen with the directions in view, as under a public seed: those that they stretch most (estimated from 64 draws)",
						Event: release, Count: 1, Relation: accountant.ReplaceOne, Chances: known},
					{Role: Code, What: fmt.Sprintf("noise drawn anew for the same projections at each of %d steps", f.fixedRun),
						Event: accountant.SelfComposed{Event: coded, Count: f.fixedRun}, Count: 1, Relation: accountant.ReplaceOne, Chances: code},
					{Role: Code, What: fmt.Sprintf("the same %d releases, Lemma 1's sensitivity at its word, by Rényi divergences", f.fixedRun),
						Event: coded, Count: f.fixedRun, Relation: accountant.ReplaceOne, By: accountant.RDP{Classic: true}},
				},
				Why: fmt.Sprintf("proved for ε < 1 only, yet careful here; the code pays for one release and makes %d", f.fixedRun),
			})
		}
	}
	return claims
}

// lemma is the sensitivity of Lemma 1 for records one unit apart, √w(N_θ, δ′).
func (f flow) lemma(count int, failure float64) float64 {
	return math.Sqrt(sliced.PublishedBound(count, f.dim, failure))
}

// worst returns by what bound exceeds σ_max(U), which is how far directions can
// stretch a record: of 64 draws from a seed, each as likely.
func (f flow) worst(count int, bound float64) []Chance {
	rng := rand.New(rand.NewPCG(uint64(count), uint64(f.dim)))
	chances := make([]Chance, 64)
	for i := range chances {
		s := sliced.ProjectionSensitivity(sliced.Uniform(f.dim, count, rng), 1)
		chances[i] = Chance{1 / float64(len(chances)), bound / s.Value}
	}
	return chances
}
