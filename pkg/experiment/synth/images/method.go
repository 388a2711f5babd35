package images

import (
	"fmt"
	"slices"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment/synth"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/viz"
)

// The ways to make synthetic images.
const (
	Harmonics = "harmonic-sketch" // means of spherical harmonics over each class, once, and a flow to them
	Sinkhorn  = synth.Sinkhorn    // a generator that learns by the noisy gradient of a Sinkhorn loss
)

// Methods are the names of the ways, the one that is taken first.
var Methods = []string{Harmonics, Sinkhorn}

// method makes synthetic points of the code's sphere.
type method = synth.Method[encoded, placed]

// placed are points of the code's sphere with their labels, in the order of these.
type placed struct {
	points transport.Points
	labels []int
}

func (c *Config) method(schema *pictures.Schema, dim int, public noise.Source) method {
	if c.Method == Sinkhorn {
		return newBySinkhorn(c, schema.Names(), dim)
	}
	return &byHarmonics{config: c, names: schema.Names(), dim: dim, directions: directions(dim, public)}
}

// inOrder sorts points by their labels.
func inOrder(x transport.Points, labels []int) placed {
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return labels[a] - labels[b] })
	sorted := make([]int, len(labels))
	for to, from := range order {
		sorted[to] = labels[from]
	}
	return placed{x.Subset(order), sorted}
}

// shares is a table of the classes: how often each occurs, as was released, and among
// what was made. Without classes there is none.
func (p placed) shares(names []string, frequencies []float64) []viz.Table {
	if len(names) < 2 {
		return nil
	}
	t := viz.Table{Title: "Classes", Header: []string{"class", "share, as released", "synthetic images"}}
	counts := make([]int, len(names))
	for _, label := range p.labels {
		counts[label]++
	}
	for k, name := range names {
		t.Add(name, fmt.Sprintf("%.2f %%", 100*frequencies[k]), counts[k])
	}
	return []viz.Table{t}
}
