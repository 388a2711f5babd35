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

// cells is how many the square of a coordinate, in [0, 1], is rounded up to.
const cells = 4096

// projected returns by what bound exceeds ‖vU‖, for a unit vector v of R^dim and
// count independent uniform directions U: the law of what a given pair of
// neighbours differs by, whichever pair it is, as directions have no preference.
//
// ‖vU‖² is the sum of count independent squares ⟨v, θ⟩² of a Beta(½, (dim−1)/2)
// law. Squares are rounded up to a grid, the law of their sum is found by
// Fourier transforms, and sums are gathered into groups that each count as their
// largest: privacy is not overstated.
func projected(count, dim int, bound float64) []Chance {
	square := squares(dim)
	// The transform's rounding would drown the tail, where privacy fails: it comes
	// from a law that is tilted towards it. Beyond last there is next to nothing.
	tilt, at := rare(square, count, 1e-9)
	_, last := rare(square, count, 1e-17)
	bulk, tail := sums(square, count, 0), sums(square, count, tilt)
	beyond := Chance{1e-17, bound / math.Sqrt(float64(count))}
	chances := []Chance{beyond}
	seen, group, largest := beyond.Probability, 0., 0.
	for i := min(int(last*cells), count*cells); i >= 0; i-- {
		law := tail
		if float64(i) < at*cells {
			law = bulk
		}
		if group == 0 {
			largest = float64(i) / cells
		}
		group += law[i]
		seen += law[i]
		if i == 0 || group > min(seen/4, 0.02) { // finely where privacy fails
			if group > 0 {
				chances = append(chances, Chance{group, bound / math.Sqrt(largest)})
			}
			group = 0
		}
	}
	for i := range chances {
		chances[i].Probability /= seen
	}
	return chances
}

// squares is the law of ⟨v, θ⟩², rounded up to the grid.
func squares(dim int) []float64 {
	square := make([]float64, cells+1)
	below := 0.
	for i := 1; i <= cells; i++ {
		upTo := mathext.RegIncBeta(0.5, float64(dim-1)/2, float64(i)/cells)
		square[i], below = upTo-below, upTo
	}
	return square
}

// rare returns the tilt e^(tilt·sum) under which a sum of count squares is on
// average as large as it is, by Chernoff's bound, with a probability of at most
// that given; and that sum.
func rare(square []float64, count int, probability float64) (tilt, sum float64) {
	low, high := 0., 1e4
	for range 60 {
		tilt = (low + high) / 2
		var total, first float64 // relative to the largest exponential
		for i, p := range square {
			w := p * math.Exp(tilt*(float64(i)/cells-1))
			total, first = total+w, first+w*float64(i)/cells
		}
		sum = float64(count) * first / total
		if float64(count)*(math.Log(total)+tilt)-tilt*sum > math.Log(probability) {
			low = tilt
		} else {
			high = tilt
		}
	}
	return tilt, sum
}

// sums is the law of the sum of count squares, on the grid, accurate relative to
// the law tilted by e^(tilt·sum).
func sums(square []float64, count int, tilt float64) []float64 {
	size := 1
	for size <= count*cells {
		size *= 2
	}
	law := make([]float64, size)
	var total float64
	for i, p := range square {
		law[i] = p * math.Exp(tilt*(float64(i)/cells-1))
		total += law[i]
	}
	transform := fourier.NewFFT(size)
	spectrum := transform.Coefficients(nil, law)
	for i, z := range spectrum {
		spectrum[i] = power(z/complex(total, 0), count)
	}
	transform.Sequence(law, spectrum)
	cumulant := float64(count) * (math.Log(total) + tilt)
	for i := range law {
		law[i] = max(0, law[i]/float64(size)) * math.Exp(cumulant-tilt*float64(i)/cells)
	}
	return law
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
