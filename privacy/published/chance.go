package published

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/mathext"

	"molehill/privacy/accountant"
	"molehill/privacy/accountant/pld"
)

// overChances accounts for steps with a random sensitivity. The profile of a
// step that also shows what its sensitivity is, is the mean of the profiles.
func (r Reading) overChances(delta float64) (accountant.Result, error) {
	var forward, backward []func(float64) float64
	for _, c := range r.Chances {
		step, err := louder(r.Event, c.Noise)
		if err != nil {
			return accountant.Result{}, err
		}
		composition, err := accountant.PLD{}.Composition(step, r.Relation)
		if err != nil {
			return accountant.Result{}, err
		}
		if len(composition.Parts) != 1 || composition.Parts[0].Count != 1 {
			return accountant.Result{}, fmt.Errorf("%v is several mechanisms; want one", step)
		}
		pair := composition.Parts[0].Pair
		forward, backward = append(forward, pair.Forward), append(backward, pair.Reverse().Forward)
	}
	mean := func(profiles []func(float64) float64) func(float64) float64 {
		return func(epsilon float64) (sum float64) {
			for i, c := range r.Chances {
				sum += c.Probability * profiles[i](epsilon)
			}
			return sum
		}
	}
	all := pld.Composition{Parts: []pld.Part{{Pair: pld.Pair{Forward: mean(forward), Backward: mean(backward)}, Count: float64(r.Count)}}}
	return accountant.Result{Epsilon: all.Epsilon(delta), Delta: delta, Accountant: accountant.PLD{}.Name()}, nil
}

// louder is a Gaussian, sampled or repeated, with noise times by.
func louder(e accountant.Event, by float64) (accountant.Event, error) {
	var err error
	switch e := e.(type) {
	case accountant.Gaussian:
		return accountant.Gaussian{NoiseMultiplier: by * e.NoiseMultiplier}, nil
	case accountant.FixedSizeSampled:
		e.Event, err = louder(e.Event, by)
		return e, err
	case accountant.PoissonSampled:
		e.Event, err = louder(e.Event, by)
		return e, err
	case accountant.SelfComposed:
		e.Event, err = louder(e.Event, by)
		return e, err
	}
	return nil, fmt.Errorf("a random sensitivity of %v is not accounted for; want Gaussians", e)
}

// projected returns by what bound exceeds ‖vU‖, for a unit vector v of R^dim and
// count independent uniform directions U: the law of what a given pair of
// neighbours differs by, whichever pair it is, as directions have no preference.
//
// ‖vU‖² is the sum of count independent squares ⟨v, θ⟩², each of a Beta(½,
// (dim−1)/2) law. Squares are rounded up to a grid, the sums found by Fourier
// transform and gathered, each group as its largest sum: privacy is never
// overstated.
func projected(count, dim int, bound float64) []Chance {
	const cells = 4096 // of [0, 1]
	size := 1
	for size <= count*cells {
		size *= 2
	}
	law := make([]float64, size)
	below := 0.
	for i := 1; i <= cells; i++ {
		upTo := mathext.RegIncBeta(0.5, float64(dim-1)/2, float64(i)/cells)
		law[i], below = upTo-below, upTo
	}
	transform := fourier.NewFFT(size)
	spectrum := transform.Coefficients(nil, law)
	for i, z := range spectrum {
		spectrum[i] = power(z, count)
	}
	transform.Sequence(law, spectrum)

	// From the largest sum down, a group holds what came with half of the
	// probability so far: the tail, where privacy fails, is told apart finely.
	const negligible = 1e-13 // beyond rounding; counted with the largest sum
	var chances []Chance
	var group, tail, largest float64
	for i := size - 1; i >= 0; i-- {
		mass := max(0, law[i]/float64(size))
		if tail += mass; tail < negligible {
			continue
		}
		if group == 0 {
			largest = float64(i) / cells
		}
		if group += mass; group > min(tail/2, 0.02) {
			chances = append(chances, Chance{group, bound / math.Sqrt(largest)})
			group = 0
		}
	}
	if group > 0 {
		chances = append(chances, Chance{group, bound / math.Sqrt(largest)})
	}
	var all float64
	for _, c := range chances {
		all += c.Probability
	}
	chances[0].Probability += max(0, 1-all)
	return chances
}

// power is z to the n-th power.
func power(z complex128, n int) complex128 {
	p := complex(1, 0)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p *= z
		}
		z *= z
	}
	return p
}
