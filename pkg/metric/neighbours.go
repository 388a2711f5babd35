package metric

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"molehill/pkg/plugin"
	"molehill/transport"
)

// DefaultNeighbours is how many points of each side a reported 1-NN accuracy
// takes.
const DefaultNeighbours = 5000

// NearestNeighbour is the accuracy of the two-sample test by nearest
// neighbours: the share of points, generated and real together, whose nearest
// other point is of their own side. 0.5 is ideal: the sides cannot be told
// apart. 1 means that they are apart, less than 0.5 that points of one side sit
// on those of the other, as copies do. Sample points of each side take part,
// drawn without replacement, or all of the smaller side and as many of the
// other.
type NearestNeighbour struct{ Sample int }

// Describe implements plugin.Plugin.
func (NearestNeighbour) Describe() plugin.Info {
	return plugin.Info{
		Name:    "1-nn",
		Summary: "two-sample accuracy of the nearest neighbour, of 5000 held-out points and as many others; 0.5 is ideal",
		Version: "1",
		Source:  "Lopez-Paz & Oquab 2017, Section 3; Xu et al. 2018",
	}
}

// Measure implements Metric.
func (m NearestNeighbour) Measure(generated, real transport.Points, rng *rand.Rand) (Value, error) {
	if m.Sample < 2 {
		return Value{}, fmt.Errorf("metric: subsamples of %d points; need two or more", m.Sample)
	}
	for _, p := range []transport.Points{generated, real} {
		if err := p.Check(); err != nil {
			return Value{}, err
		}
	}
	n := min(m.Sample, generated.Len(), real.Len())
	t, err := NearestNeighbourTest(draw(generated, n, rng), draw(real, n, rng), rng)
	if err != nil {
		return Value{}, err
	}
	return Value{
		Value:         t.Accuracy,
		StandardError: t.StandardError,
		Points:        n,
		Note:          fmt.Sprintf("of the generated points alone %.3f, of the real ones %.3f", t.Generated, t.Real),
	}, nil
}

// TwoSample is the outcome of a two-sample test by nearest neighbours, left one
// out.
type TwoSample struct {
	Accuracy      float64 // of all points; 0.5 is ideal for sides of equal size
	StandardError float64 // of Accuracy
	Generated     float64 // share of the generated points whose nearest is generated
	Real          float64 // share of the real points whose nearest is real
	Ideal         float64 // expected accuracy where both sides have the same law
}

// NearestNeighbourTest finds for every point, generated or real, its nearest
// other point in the Euclidean distance, and counts how often it is of the
// point's own side. Of equally near ones rng picks one.
//
// Two points that are each other's nearest are right or wrong together, so the
// standard error is that of independent points times √(1 + m), where m is the
// share of such points.
func NearestNeighbourTest(generated, real transport.Points, rng *rand.Rand) (TwoSample, error) {
	for _, p := range []transport.Points{generated, real} {
		if err := p.Check(); err != nil {
			return TwoSample{}, err
		}
		if p.Len() < 2 {
			return TwoSample{}, fmt.Errorf("metric: %d point on one side; need two or more of each", p.Len())
		}
	}
	if generated.Dim != real.Dim {
		return TwoSample{}, fmt.Errorf("metric: generated points of dimension %d, real ones of %d; need the same", generated.Dim, real.Dim)
	}
	n, m := generated.Len(), real.Len()
	all := transport.Points{Dim: generated.Dim, Data: slices.Concat(generated.Data, real.Data)}
	// The search takes the first of equally near points: in a random order that
	// is any of them.
	order := rng.Perm(n + m)
	all = all.Subset(order)
	found, err := nearest(context.Background(), all, all, 1, true)
	if err != nil {
		return TwoSample{}, err
	}
	var right [2]int // of the generated, of the real
	mutual := 0
	for i, its := range found {
		j := its[0].index
		side := 0
		if order[i] >= n {
			side = 1
		}
		if (order[j] >= n) == (side == 1) {
			right[side]++
		}
		if found[j][0].index == i {
			mutual++
		}
	}
	total := float64(n + m)
	t := TwoSample{
		Accuracy:  float64(right[0]+right[1]) / total,
		Generated: float64(right[0]) / float64(n),
		Real:      float64(right[1]) / float64(m),
		Ideal:     (float64(n)*float64(n-1) + float64(m)*float64(m-1)) / (total * (total - 1)),
	}
	t.StandardError = math.Sqrt(t.Accuracy * (1 - t.Accuracy) / total * (1 + float64(mutual)/total))
	return t, nil
}
