package metric

import (
	"context"
	"fmt"
	"math"

	"molehill/transport"
)

// Histograms compares how often classes occur among generated and real points.
type Histograms struct {
	// TotalVariation is ½ Σ |p − q|: the share of points that would have to
	// change class. Floor is its expectation where both sides have the same
	// law, in the normal approximation.
	TotalVariation, Floor float64
}

// CompareHistograms compares the labels of generated and real points, numbers
// below classes.
func CompareHistograms(generated, real []int, classes int) (Histograms, error) {
	p, err := shares(generated, classes)
	if err != nil {
		return Histograms{}, fmt.Errorf("metric: generated points: %w", err)
	}
	q, err := shares(real, classes)
	if err != nil {
		return Histograms{}, fmt.Errorf("metric: real points: %w", err)
	}
	var h Histograms
	n, m := float64(len(generated)), float64(len(real))
	for c := range classes {
		h.TotalVariation += math.Abs(p[c]-q[c]) / 2
		// Under one law the difference is about normal, of mean absolute value
		// √(2/π) standard deviations.
		pooled := (n*p[c] + m*q[c]) / (n + m)
		h.Floor += math.Sqrt(2/math.Pi*pooled*(1-pooled)*(1/n+1/m)) / 2
	}
	return h, nil
}

func shares(labels []int, classes int) ([]float64, error) {
	if classes < 1 || len(labels) == 0 {
		return nil, fmt.Errorf("%d labels of %d classes; need at least one of each", len(labels), classes)
	}
	counts := make([]float64, classes)
	for i, label := range labels {
		if label < 0 || label >= classes {
			return nil, fmt.Errorf("point %d has the label %d; expected 0 to %d", i, label, classes-1)
		}
		counts[label]++
	}
	for c := range counts {
		counts[c] /= float64(len(labels))
	}
	return counts, nil
}

// KNN classifies a point as most of its K nearest labelled points are, in the
// Euclidean distance; among classes that occur equally often, as the one with
// the nearest point.
type KNN struct {
	K      int
	Points transport.Points // labelled, public
	Labels []int            // [n], numbers from 0 on
}

// Classes is one more than the largest label.
func (c KNN) Classes() (classes int) {
	for _, label := range c.Labels {
		classes = max(classes, label+1)
	}
	return classes
}

// Classify returns the class of each point.
func (c KNN) Classify(p transport.Points) ([]int, error) {
	for _, p := range []transport.Points{c.Points, p} {
		if err := p.Check(); err != nil {
			return nil, err
		}
	}
	if len(c.Labels) != c.Points.Len() || c.K < 1 || c.K > c.Points.Len() {
		return nil, fmt.Errorf("metric: %d labels of %d points, %d of which vote; need a label for each, and at least one voter", len(c.Labels), c.Points.Len(), c.K)
	}
	if _, err := shares(c.Labels, c.Classes()); err != nil {
		return nil, fmt.Errorf("metric: labelled points: %w", err)
	}
	found, err := nearest(context.Background(), p, c.Points, c.K, false)
	if err != nil {
		return nil, err
	}
	labels := make([]int, p.Len())
	for i, voters := range found {
		votes := make(map[int]int, c.K)
		most := 0
		for _, v := range voters {
			votes[c.Labels[v.index]]++
			most = max(most, votes[c.Labels[v.index]])
		}
		for _, v := range voters { // nearest first
			if votes[c.Labels[v.index]] == most {
				labels[i] = c.Labels[v.index]
				break
			}
		}
	}
	return labels, nil
}
