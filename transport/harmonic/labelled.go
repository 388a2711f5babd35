package harmonic

import (
	"fmt"
	"math"

	"molehill/privacy"
	"molehill/transport"
)

// Labelled is what a release holds of n points that have classes: for each class
// how often it occurs, and the means of the harmonics over its points as a part of
// all. With φ(x)_lm = w_l·Y_lm(x) as in a Sketch, a point x of class y adds
//
//	e_y ⊗ (w_0, φ(x)) / n,   w_0² = −min K,
//
// e_y a vector of zeros with a one for the class. w_0 is all that the sensitivity
// has room for.
//
// Names of classes have no meaning, so of all Gaussian mechanisms on linear
// statistics none is better than one whose noise looks the same whatever they are
// called: it has a variance for what all classes share and one for what tells each
// from the others. Equal ones are best for the mean error of the classes, by
// Cauchy and Schwarz as in Weights.
type Labelled struct {
	Basis   *Basis
	Weights []float64 // w_0 … w_L, [Degree+1]
	Classes int       // C, public
	Records int       // n, public
	Means   []float64 // [Classes, 1+Basis.Size()], of each row degree 0 first
}

// LabelledSize is the length of Labelled.Means.
func LabelledSize(dim, degree, classes int) int {
	return classes * (1 + Size(dim, degree))
}

// LabelledWeights returns w_0, which is explained at Labelled, and after it the weights
// that are best for points which are spread evenly (Weights). Steeper ones were better
// for classes of Fashion-MNIST at large ε and worse for those of MNIST at 1. It panics as
// Weights does.
func LabelledWeights(dim, degree int) []float64 {
	w := falling(dim, degree, even)
	lowest, _ := newKernel(dim, w).lowest()
	return append([]float64{math.Sqrt(-lowest)}, w...) // K is 0 in the mean, so min K < 0
}

// checkClasses returns an error for what no labelled sketch has.
func checkClasses(classes int) error {
	if classes < 2 {
		return fmt.Errorf("harmonic: a labelled sketch of %d classes; take at least 2, or a sketch without labels", classes)
	}
	return nil
}

// NewLabelled computes the labelled sketch of x, points of norm 1, with
// LabelledWeights. Labels, [n], are numbers from 0 to classes−1; others count as 0.
func NewLabelled(x transport.Points, labels []int, classes int, b *Basis) (*Labelled, error) {
	if err := checkClasses(classes); err != nil {
		return nil, err
	}
	if err := b.check(x); err != nil {
		return nil, err
	}
	if len(labels) != x.Len() {
		return nil, fmt.Errorf("harmonic: %d labels of %d points; give one each", len(labels), x.Len())
	}
	members := make([][]int, classes)
	for i, label := range labels {
		if label < 0 || label >= classes {
			label = 0
		}
		members[label] = append(members[label], i)
	}
	s := &Labelled{Basis: b, Weights: LabelledWeights(b.Dim, b.Degree), Classes: classes, Records: x.Len(),
		Means: make([]float64, classes*(1+b.Size()))}
	for c, rows := range members {
		if len(rows) == 0 {
			continue
		}
		means, err := b.Means(x.Subset(rows))
		if err != nil {
			return nil, err
		}
		part, row := float64(len(rows))/float64(x.Len()), s.row(c)
		row[0] = s.Weights[0] * part
		copy(row[1:], means)
		b.each(row[1:], func(l int, means []float64) {
			for j := range means {
				means[j] *= part * s.Weights[l]
			}
		})
	}
	return s, nil
}

// row returns what Means have of a class, [1+Basis.Size()].
func (s *Labelled) row(class int) []float64 {
	size := 1 + s.Basis.Size()
	return s.Means[class*size : (class+1)*size]
}

// LabelledSensitivity returns the ℓ₂-sensitivity of a labelled sketch of n points
// of the sphere of R^dim up to a degree, when one of them is replaced, its label
// included. It is that of a sketch without labels and with the same weights:
// replacing (x, y) by (x′, y′) moves n times the sketch by the root of
//
//	2·(K(1) − K(⟨x, x′⟩)) ≤ 2·(K(1) − min K)    if y′ = y,
//	2·(K(1) + w_0²)       = 2·(K(1) − min K)    if not,
//
// for what points of two classes add is orthogonal, of squared norm K(1) + w_0²
// each. Both are attained.
func LabelledSensitivity(dim, degree, classes, n int) (privacy.Sensitivity, error) {
	if err := checkClasses(classes); err != nil {
		return privacy.Sensitivity{}, err
	}
	s, err := sensitivityOf(dim, degree, n, even)
	if err != nil {
		return s, err
	}
	s.Query = fmt.Sprintf("sizes of %d classes, and means of the spherical harmonics of degrees 1 to %d over each", classes, degree)
	s.Source = "√(2·(K(1) − min K))/n, whether the label is replaced or not (docs/harmonic-sketch.md)"
	return s, nil
}

// LabelledDegree is Degree for a labelled sketch, whose means over a class of n
// records in classes have the noise of a sketch of n/classes.
func LabelledDegree(dim, classes, n int, noiseMultiplier float64) (int, error) {
	if err := checkClasses(classes); err != nil {
		return 0, err
	}
	return degreeFor(dim, max(1, n/classes), noiseMultiplier, even)
}
