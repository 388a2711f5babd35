// Package metric measures how near generated points are to real ones.
package metric

import (
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/pkg/plugin"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Value is a measured number and its uncertainty, where it has one.
type Value struct {
	Value         float64 `json:"value"`
	StandardError float64 `json:"standard_error,omitempty"`
	Points        int     `json:"points,omitempty"` // of each side that took part, 0 for all
	Note          string  `json:"note,omitempty"`   // what to know when reading it, one line
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
var Registry = plugin.Registry[Metric]{Kind: kind}

const kind = "metric"

// Measure measures by a metric that somebody else may have made: one that
// panics, or whose value is no number, gives an error with its name.
func Measure(name string, generated, real transport.Points, rng *rand.Rand) (v Value, err error) {
	m, err := Registry.Lookup(name)
	if err != nil {
		return v, err
	}
	for side, p := range []transport.Points{generated, real} {
		if err := p.Check(); err != nil {
			return v, fmt.Errorf("metric %q: %s points: %w", name, [...]string{"generated", "real"}[side], err)
		}
	}
	if generated.Dim != real.Dim {
		return v, fmt.Errorf("metric %q: generated points of dimension %d and real ones of %d; compare those of one space", name, generated.Dim, real.Dim)
	}
	err = plugin.Guard(kind, name, "Measure", func() error {
		v, err = m.Measure(generated, real, rng)
		return err
	})
	switch {
	case err != nil:
		return Value{}, fmt.Errorf("metric %q: %w", name, err)
	case math.IsNaN(v.Value) || math.IsInf(v.Value, 0):
		return Value{}, fmt.Errorf("metric %q measured %v; expected a finite number", name, v.Value)
	case !(v.StandardError >= 0) || math.IsInf(v.StandardError, 0):
		return Value{}, fmt.Errorf("metric %q measured %v with a standard error of %v; expected one that is finite and not negative", name, v.Value, v.StandardError)
	}
	return v, nil
}

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
