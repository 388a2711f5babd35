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
		m := newBySinkhorn(c, schema.Names(), dim)
		m.Data = synth.Own + schema.Name
		return m
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

// shares is a table of the classes: how often each occurs, as estimated from a release
// in which shares have noise of such a standard deviation, and among what was made.
// Without classes there is none.
func (p placed) shares(names []string, frequencies []float64, noise float64) []viz.Table {
	if len(names) < 2 {
		return nil
	}
	t := viz.Table{Title: "Classes", Header: []string{"class", "share, estimated from the release", "synthetic images"}}
	if noise > 0 {
		t.Caption = fmt.Sprintf("The noise on a share has a standard deviation of %.2g %% of the images. Estimates are moved towards equal shares by as much as it asks for.", 100*noise)
		if noise > 1/float64(len(names)) {
			t.Caption += " That is more than the share of a class: these say next to nothing of the images."
		}
	}
	counts := make([]int, len(names))
	for _, label := range p.labels {
		counts[label]++
	}
	for k, name := range names {
		t.Add(name, fmt.Sprintf("%.2f %%", 100*frequencies[k]), counts[k])
	}
	return []viz.Table{t}
}
