// Package metric measures how near generated points are to real ones.
package metric

import (
	"math/rand/v2"

	"molehill/pkg/plugin"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Value is a measured number and its uncertainty, where it has one.
type Value struct {
	Value         float64 `json:"value"`
	StandardError float64 `json:"standard_error,omitempty"`
	Note          string  `json:"note,omitempty"` // what to know when reading it, one line
}

// Metric compares generated points with real ones, both [·, dim]: latents,
// pixels, or what a network sees in images, as the metric says. Lower is better,
// unless the metric says otherwise. rng draws whatever the metric draws; the same state gives the same
// value.
type Metric interface {
	plugin.Plugin
	Measure(generated, real transport.Points, rng *rand.Rand) (Value, error)
}

// Registry holds the metrics.
var Registry = plugin.Registry[Metric]{Kind: "metric"}

// DefaultStacks is how many orthonormal bases of directions a reported distance
// takes.
const DefaultStacks = 64

func init() {
	Registry.Register(SlicedW2{Stacks: DefaultStacks})
	Registry.Register(W2{Sample: DefaultSample})
	Registry.Register(NearestNeighbour{Sample: DefaultNeighbours})
	Registry.Register(FID)
	Registry.Register(FID768)
}

// SlicedW2 is the sliced Wasserstein distance SW₂ over Stacks orthonormal bases
// of directions.
type SlicedW2 struct{ Stacks int }

// Describe implements plugin.Plugin.
func (SlicedW2) Describe() plugin.Info {
	return plugin.Info{
		Name:    "sliced-w2",
		Summary: "sliced Wasserstein distance to held-out points, over 64 orthonormal bases of directions",
		Version: "1",
		Source:  "003 Eq. 4; Rabin et al. 2012",
	}
}

// Measure implements Metric.
func (m SlicedW2) Measure(generated, real transport.Points, rng *rand.Rand) (Value, error) {
	if err := generated.Check(); err != nil {
		return Value{}, err
	}
	d, err := sliced.SW2(generated, real, sliced.Orthonormal(generated.Dim, m.Stacks, rng))
	return Value{Value: d.Value, StandardError: d.StandardError}, err
}
