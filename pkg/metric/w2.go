package metric

import (
	"fmt"
	"math/rand/v2"

	"molehill/pkg/plugin"
	"molehill/transport"
	"molehill/transport/assign"
)

// DefaultSample is how many points of each side a reported W2 compares.
const DefaultSample = 1000

// W2 is the Wasserstein distance W₂, exact by assignment, between subsamples of
// equal size: Sample points of each side, drawn without replacement, or all
// points of the smaller side where it has fewer. An assignment takes time that
// grows with the cube of the size, so more is not offered.
//
// The distance between samples of n points is larger on average than that
// between what they are drawn from, and in d dimensions it shrinks as slowly as
// n^(−1/d) (Dudley 1969): two samples of the same points do not measure 0.
// Compare values of equal sample sizes only, and with the value between two
// samples of real points.
type W2 struct{ Sample int }

// Describe implements plugin.Plugin.
func (W2) Describe() plugin.Info {
	return plugin.Info{
		Name:    "w2",
		Summary: "Wasserstein distance W₂ to held-out points, exact between random subsamples of 1000 of each",
		Version: "1",
		Source:  "Jonker & Volgenant 1987; Peyré & Cuturi 2019, Section 2.2",
	}
}

// Measure implements Metric.
func (m W2) Measure(generated, real transport.Points, rng *rand.Rand) (Value, error) {
	if m.Sample < 1 || m.Sample > assign.Limit {
		return Value{}, fmt.Errorf("metric: subsamples of %d points; want between 1 and %d", m.Sample, assign.Limit)
	}
	for _, p := range []transport.Points{generated, real} {
		if err := p.Check(); err != nil {
			return Value{}, err
		}
	}
	n := min(m.Sample, generated.Len(), real.Len())
	d, err := assign.Wasserstein(draw(generated, n, rng), draw(real, n, rng), 2)
	return Value{Value: d, Points: n}, err
}

// draw returns n of the points, without replacement; all of them as they are.
func draw(p transport.Points, n int, rng *rand.Rand) transport.Points {
	if n == p.Len() {
		return p
	}
	return p.Subset(rng.Perm(p.Len())[:n])
}
