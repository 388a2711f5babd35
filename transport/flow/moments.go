package flow

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"molehill/privacy"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Normal is the target that knows two moments of the records and takes them for
// normally distributed: what a method has to beat to have learned more.
type Normal struct {
	Mean       []float64     // [Dim]
	Covariance *mat.SymDense // [Dim, Dim], positive semi-definite
	Directions Directions
}

// At implements Target.
func (t *Normal) At(step int) (sliced.Directions, []transport.Quantile, error) {
	const knots = 256
	dim := len(t.Mean)
	if t.Covariance == nil || t.Covariance.SymmetricDim() != dim {
		return sliced.Directions{}, nil, fmt.Errorf("flow: a normal target with a mean of %d coordinates and no covariance of as many; give both, or make it with NewNormal", dim)
	}
	u, err := t.Directions.Draw(dim, step)
	if err != nil {
		return u, nil, err
	}
	standard := make([]float64, knots)
	for k := range standard {
		standard[k] = distuv.UnitNormal.Quantile((float64(k) + 0.5) / knots)
	}
	quantiles := make([]transport.Quantile, u.Count)
	theta := mat.NewVecDense(dim, nil)
	for j := range quantiles {
		for c, v := range u.Row(j) {
			theta.SetVec(c, float64(v))
		}
		center := mat.Dot(theta, mat.NewVecDense(dim, t.Mean))
		spread := math.Sqrt(max(0, mat.Inner(theta, t.Covariance, theta)))
		row := make([]float32, knots)
		for k, z := range standard {
			row[k] = float32(center + spread*z)
		}
		quantiles[j] = transport.BinQuantile(row)
	}
	return u, quantiles, nil
}

// MomentsSensitivity is that of NewNormal's release, of n records in a ball of
// radius r, when one is replaced. A record adds (x, xxᵀ/r)/n. With a = ‖x‖², b =
// ‖x′‖² and c the cosine between them two records differ by
//
//	‖x − x′‖² + ‖xxᵀ − x′x′ᵀ‖²/r² = a + b − 2·√(ab)·c + (a² + b² − 2ab·c²)/r²,
//
// which for c ≤ 0 grows with a and b, and for c ≥ 0 is at most 4r². At a = b = r²
// it is r²·(4 − 2c − 2c²), at most 4.5·r², at c = −1/2.
func MomentsSensitivity(n int, radius float64) (privacy.Sensitivity, error) {
	if n < 1 || !(radius > 0) || math.IsInf(radius, 1) {
		return privacy.Sensitivity{}, fmt.Errorf("flow: moments of %d records within %v of the origin; take at least 1 record and a finite radius above 0", n, radius)
	}
	return privacy.Sensitivity{
		Value:    math.Sqrt(4.5) * radius / float64(n) * (1 + 1e-6), // and rounding of records to float32
		Relation: privacy.ReplaceOne,
		Query:    "the mean and the mean of xxᵀ",
		Source:   "max ‖(x, xxᵀ/r) − (x′, x′x′ᵀ/r)‖ = √4.5·r over records within r",
	}, nil
}

// MomentsCount is how many numbers NewNormal releases.
func MomentsCount(dim int) int { return dim + dim*(dim+1)/2 }

// NewNormal releases the mean and the second moments of records within radius of
// the origin (rows beyond it are shortened) and makes a covariance of them: the
// nearest one, without its negative eigenvalues.
func NewNormal(records transport.Points, radius float64, directions Directions, release *privacy.Releaser) (*Normal, error) {
	sensitivity, err := MomentsSensitivity(records.Len(), radius)
	if err != nil {
		return nil, err
	}
	if records, err = all(records, 2*radius, release); err != nil {
		return nil, err
	}
	n, dim := float64(records.Len()), records.Dim
	sums := make([]transport.Sum, MomentsCount(dim))
	for i := range records.Len() {
		row, at := records.Row(i), dim
		for a, v := range row {
			sums[a].Add(float64(v) / n)
			// Off the diagonal an entry stands for two.
			for b := a; b < dim; b++ {
				weight := math.Sqrt2
				if a == b {
					weight = 1
				}
				sums[at].Add(weight * float64(v) * float64(row[b]) / radius / n)
				at++
			}
		}
	}
	values := transport.SumValues(sums)
	if err := release.Release(values, sensitivity, 0); err != nil {
		return nil, err
	}
	t := &Normal{Mean: values[:dim:dim], Covariance: mat.NewSymDense(dim, nil), Directions: directions}
	at := dim
	for a := range dim {
		for b := a; b < dim; b++ {
			weight := math.Sqrt2
			if a == b {
				weight = 1
			}
			t.Covariance.SetSym(a, b, values[at]*radius/weight-t.Mean[a]*t.Mean[b])
			at++
		}
	}
	t.Covariance, err = positive(t.Covariance)
	return t, err
}

// positive returns the nearest positive semi-definite matrix.
func positive(s *mat.SymDense) (*mat.SymDense, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(s, true) {
		return nil, fmt.Errorf("flow: the eigenvalues of a released covariance were not found; is the noise finite?")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	dim := s.SymmetricDim()
	p := mat.NewSymDense(dim, nil)
	for k, value := range eigen.Values(nil) {
		if value > 0 {
			p.SymRankOne(p, value, vectors.ColView(k))
		}
	}
	return p, nil
}
