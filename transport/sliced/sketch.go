package sliced

import (
	"fmt"
	"math"

	"molehill/privacy"
	"molehill/transport"
)

// Sketch is the quantile sketch of a sample: for each direction the means of
// its sorted projections in Bins bins of equal mass. It is what Molehill
// releases in place of noisy rows: its sensitivity falls with the number of
// records.
type Sketch struct {
	Directions Directions
	Means      [][]float64 // [Count][Bins]; double precision, so that rounding stays far below the sensitivity
	Records    int         // n, public
}

// NewSketch computes the sketch of x with bins bins on directions u.
//
// The i-th of n order statistics holds the mass (i/n, (i+1)/n]; where a bin's
// border cuts it, each side takes its part, so n need not be a multiple of
// bins.
func NewSketch(x transport.Points, u Directions, bins int) (*Sketch, error) {
	if err := x.Check(); err != nil {
		return nil, err
	}
	if err := u.Check(x.Dim); err != nil {
		return nil, err
	}
	if _, err := SketchSensitivity(u, x.Len(), bins, 1); err != nil {
		return nil, err
	}
	s := &Sketch{Directions: u, Means: make([][]float64, u.Count), Records: x.Len()}
	// The plan between n points and as many bins is the bins' content.
	content := transport.Couple(nil, transport.Levels(nil, x.Len()), transport.Levels(nil, bins))
	type buffers struct {
		line   []float32
		sorter *transport.Sorter
	}
	transport.Parallel(u.Count, func() buffers {
		return buffers{make([]float32, x.Len()), new(transport.Sorter)}
	}, func(b buffers, j int) {
		ProjectOn(b.line, x, u.Row(j))
		b.sorter.Sort(b.line)
		s.Means[j] = binMeans(b.line, content, bins)
	})
	return s, nil
}

// binMeans returns the means of equal-mass bins of a sorted sample.
func binMeans(sorted []float32, content []transport.Pair, bins int) []float64 {
	sums := make([]transport.Sum, bins)
	for _, pair := range content {
		sums[pair.J].Add(pair.Mass * float64(bins) * float64(sorted[pair.I]))
	}
	return transport.SumValues(sums)
}

// Sensitivity returns SketchSensitivity of this sketch.
func (s *Sketch) Sensitivity(diameter float64) (privacy.Sensitivity, error) {
	if len(s.Means) == 0 {
		return privacy.Sensitivity{}, fmt.Errorf("sliced: a sketch without bin means; make it with NewSketch")
	}
	return SketchSensitivity(s.Directions, s.Records, len(s.Means[0]), diameter)
}

// SketchSensitivity returns the ℓ₂-sensitivity of a whole sketch table of n
// records, with bins bins on directions u, when one record is replaced by
// another at most diameter away.
//
// Moving one point of a sample from a to b ≥ a moves every order statistic up
// or not at all, and their sum by b−a: the quantile function changes by
// (b−a)/n in L¹. A bin mean is m times the integral of the quantile function
// over its bin, so the m means of one direction change by at most
// (m/n)·|⟨x−x′, θ⟩| in ℓ₁ and therefore in ℓ₂. Over all directions, ℓ₂ again:
// (m/n)·‖(x−x′)U‖ ≤ (m/n)·σ_max(U)·‖x−x′‖. The bound is attained: move a record
// within one bin along the top singular vector.
func SketchSensitivity(u Directions, n, bins int, diameter float64) (privacy.Sensitivity, error) {
	if bins < 1 || bins > n {
		return privacy.Sensitivity{}, fmt.Errorf("sliced: a sketch of %d bins of %d records; choose 1 to %d bins", bins, n, n)
	}
	if !(diameter > 0) || math.IsInf(diameter, 0) {
		return privacy.Sensitivity{}, fmt.Errorf("sliced: records at most %v apart; want a positive and finite diameter", diameter)
	}
	if err := u.Check(u.Dim); err != nil {
		return privacy.Sensitivity{}, err
	}
	return privacy.Sensitivity{
		Value:    float64(bins) / float64(n) * u.SpectralNorm() * diameter * slack(u.Dim),
		Relation: privacy.ReplaceOne,
		Query:    fmt.Sprintf("%d equal-mass bin means on each of %d directions", bins, u.Count),
		Source:   "(bins/n)·σ_max(U)·‖x−x′‖, computed for these directions, with slack for float32",
	}, nil
}

// Quantiles returns the sketch as quantile functions, one a direction, after
// making each row what a row of bin means must be: ascending (isotonic
// regression, the nearest ascending row) and within [−radius, radius] where
// radius > 0 bounds the norm of every record. On a noisy sketch this is
// post-processing: it removes noise and costs no privacy.
func (s *Sketch) Quantiles(radius float64) []transport.Quantile {
	quantiles := make([]transport.Quantile, len(s.Means))
	for j, means := range s.Means {
		row := make([]float32, len(means))
		for i, v := range Isotonic(means) {
			if radius > 0 {
				v = min(max(v, -radius), radius)
			}
			row[i] = float32(v)
		}
		quantiles[j] = transport.BinQuantile(row)
	}
	return quantiles
}

// Isotonic returns the ascending sequence nearest to values in ℓ₂ (isotonic
// regression by pooling adjacent violators; Barlow et al. 1972), in linear
// time.
func Isotonic(values []float64) []float64 {
	type block struct {
		sum   float64
		count int
	}
	var blocks []block
	for _, v := range values {
		b := block{v, 1}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum*float64(b.count) <= b.sum*float64(last.count) {
				break
			}
			b = block{last.sum + b.sum, last.count + b.count}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	fitted := make([]float64, 0, len(values))
	for _, b := range blocks {
		mean := b.sum / float64(b.count)
		for range b.count {
			fitted = append(fitted, mean)
		}
	}
	return fitted
}
