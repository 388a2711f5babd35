package flow

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"molehill/privacy"
	"molehill/transport"
	"molehill/transport/harmonic"
)

// Labelled guides particles that have classes, each class towards where it is:
// from one release of means of spherical harmonics, of all records and of each
// class (harmonic.Labelled).
type Labelled struct {
	Frequencies []float64           // [classes], of sum 1
	Densities   []*harmonic.Density // [classes]
	Directions  Directions          // of a step, the same for all classes

	known    recurring
	released *harmonic.Labelled
	noiseStd float64
}

// Classes is how many there are.
func (t *Labelled) Classes() int { return len(t.Frequencies) }

// Labels returns the classes of n particles: as many of each as its frequency
// says, rounded by largest remainders, in a public random order. n alone decides
// how many there are in all, and the same n always gets the same answer. It panics for a
// guide of no classes, which NewLabelled does not make.
func (t *Labelled) Labels(n int) []int {
	n = max(0, n)
	if n > 0 && t.Classes() == 0 {
		panic("flow: expected a guide of one or more classes, found none; make it with NewLabelled")
	}
	labels := make([]int, 0, n)
	for class, count := range apportion(t.Frequencies, n) {
		for range count {
			labels = append(labels, class)
		}
	}
	rng := t.Directions.Random.Stream("labels", n)
	rng.Shuffle(n, func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}

// Classifier tells classes apart by the same release, and by particles that have followed
// it: where two classes overlap, a particle may lie where another class is likelier.
// It is an error of a guide that NewLabelled has not made.
func (t *Labelled) Classifier(particles transport.Points) (*harmonic.Classifier, error) {
	if t.released == nil {
		return nil, fmt.Errorf("flow: a classifier of densities without their release; make them with NewLabelled")
	}
	return t.released.Classifier(t.noiseStd, particles)
}

// apportion returns whole numbers of sum n ≥ 0 that are p·n, of sum n too, rounded
// down or up: up where most was lost (Hamilton's method).
func apportion(p []float64, n int) []int {
	counts, order, left := make([]int, len(p)), make([]int, len(p)), n
	lost := make([]float64, len(p))
	for c, v := range p {
		whole := math.Floor(v * float64(n))
		counts[c], lost[c], order[c] = int(whole), v*float64(n)-whole, c
		left -= counts[c]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost[b], lost[a]) })
	for i := 0; left > 0; i++ { // once around unless p does not add up to 1
		counts[order[i%len(order)]]++
		left--
	}
	for i := len(order) - 1; left < 0; i = (i + len(order) - 1) % len(order) {
		if counts[order[i]] > 0 {
			counts[order[i]]--
			left++
		}
	}
	return counts
}

// Drift implements Guide: particle i is of class Labels(x.Len())[i].
func (t *Labelled) Drift(f Flow, x transport.Points, step int) ([]float32, error) {
	now, err := t.known.at(t.Densities, t.Directions, step)
	if err != nil {
		return nil, err
	}
	if x.Dim != now.on.Dim {
		return nil, fmt.Errorf("flow: particles of dimension %d for densities of dimension %d; they must agree", x.Dim, now.on.Dim)
	}
	members := make([][]int, t.Classes())
	for i, class := range t.Labels(x.Len()) {
		members[class] = append(members[class], i)
	}
	drift := make([]float32, len(x.Data))
	for class, rows := range members {
		if len(rows) == 0 {
			continue
		}
		its, err := f.Drift(x.Subset(rows), now.on, now.quantiles[class], step)
		if err != nil {
			return nil, err
		}
		for k, i := range rows {
			copy(drift[i*x.Dim:(i+1)*x.Dim], its[k*x.Dim:(k+1)*x.Dim])
		}
	}
	return drift, nil
}

// NewLabelled releases the labelled sketch of records on the unit sphere up to a
// degree, once, with the noise of a plan made for harmonic.LabelledSensitivity.
// Records off the sphere are moved to the nearest point of it, those without a
// direction to its first basis vector, and those with a label outside
// 0 … classes−1 to class 0.
func NewLabelled(records transport.Points, labels []int, classes, degree int, directions Directions, release *privacy.Releaser) (*Labelled, error) {
	if err := drawsAll(records, release); err != nil {
		return nil, err
	}
	sensitivity, err := harmonic.LabelledSensitivity(records.Dim, degree, classes, records.Len())
	if err != nil {
		return nil, err
	}
	basis, err := harmonic.NewBasis(records.Dim, degree)
	if err != nil {
		return nil, err
	}
	onSphere := records.Clone()
	onSphere.OnSphere()
	sketch, err := harmonic.NewLabelled(onSphere, labels, classes, basis)
	if err != nil {
		return nil, err
	}
	if err := release.Release(sketch.Means, sensitivity, 0); err != nil {
		return nil, err
	}
	t := &Labelled{Directions: directions, released: sketch, noiseStd: release.NoiseStd()}
	t.Frequencies, t.Densities = sketch.Densities(t.noiseStd)
	return t, nil
}
