package images

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/generator"
	"molehill/models/layer"
	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
)

// bySinkhorn trains a generator of points by DP-Sinkhorn (package training), to which
// it is told of which class a point shall be.
type bySinkhorn struct {
	*training.Method
	names []string
}

func newBySinkhorn(c *Config, names []string, dim int) *bySinkhorn {
	classes := max(1, len(names))
	return &bySinkhorn{names: names, Method: &training.Method{Settings: c.Settings, Subject: sphere{dim, classes}, Budget: c.Budget(),
		Steps: c.Steps, Classes: classes, LabelScale: c.LabelScale}}
}

// Learn implements synth.Method.
func (m *bySinkhorn) Learn(ctx context.Context, r *run.Run, private encoded, release *privacy.Releaser, steps int) error {
	return m.Method.Learn(ctx, r, private, release, steps)
}

// Place implements training.Records.
func (e encoded) Place(to []float32, i int) int {
	copy(to, e.points.Row(i))
	return e.labels[i]
}

// sphere is the sphere that codes lie on, with so many classes.
type sphere struct{ dim, classes int }

// Network implements training.Subject.
func (s sphere) Network(c training.Settings) generator.Design {
	n := pointNetwork{Latent: c.Latent, Width: c.Width, Output: s.dim}
	if s.classes > 1 {
		n.Classes = s.classes
	}
	return n
}

// Dim implements training.Subject.
func (s sphere) Dim() int { return s.dim }

// Largest implements training.Subject.
func (sphere) Largest() float64 { return 4 }

// Meet implements training.Subject.
func (sphere) Meet(to, made []float32) { copy(to, made) }

// Pull implements training.Subject.
func (sphere) Pull(to, gradient []float32) { copy(to, gradient) }

// MovedName implements training.Subject.
func (sphere) MovedName() string { return "points, moved since told last" }

// Moved implements training.Subject: the root of the mean squared distance.
func (sphere) Moved(from, to transport.Points) float64 {
	var squares float64
	for i, v := range to.Data {
		d := float64(v - from.Data[i])
		squares += d * d
	}
	return math.Sqrt(squares / float64(to.Len()))
}

// Make implements synth.Method.
func (m *bySinkhorn) Make(ctx context.Context, r *run.Run, _, images int) (placed, error) {
	public := noise.Seeded(r.Spec.Seed)
	rng, labels := public.Stream("points", 0), make([]int, images)
	if len(m.names) > 1 {
		labels = (&flow.Labelled{Frequencies: m.Frequencies(), Directions: flow.Directions{Random: public}}).Labels(images)
	}
	x := transport.Points{Data: make([]float32, 0, images)}
	err := m.GenerateAll(ctx, images, labels, rng, func(_ int, made transport.Points) { x.Dim, x.Data = made.Dim, append(x.Data, made.Data...) })
	if err != nil {
		return placed{}, err
	}
	x.OnSphere()
	return inOrder(x, labels), nil
}

// Tell implements synth.Method.
func (m *bySinkhorn) Tell(statement privacy.Statement, p placed) (report.Section, run.Values, error) {
	return report.Section{Heading: "What was released, and what was made of it",
		Tables: p.shares(m.names, m.Frequencies(), m.FrequencyNoise()),
		Text: []string{
			m.Told(statement, "points"),
			"They trained a generator of points, and points that it made became the synthetic images. More can be made, at no cost in privacy. How far they are from the private ones was not released.",
		}}, run.Values{"images": float64(len(p.labels)), "steps": float64(statement.Steps)}, nil
}

// pointNetwork makes points of a sphere of noise, and of a class behind it: two hidden
// layers. It implements generator.Design.
type pointNetwork struct {
	Latent  int `json:"latent"`  // dimension of its noise
	Classes int `json:"classes"` // 0 for none
	Width   int `json:"width"`   // of its hidden layers
	Output  int `json:"output"`  // dimension of the points
}

// Check implements generator.Design.
func (n pointNetwork) Check() error {
	if n.Latent < 1 || n.Width < 1 || n.Output < 2 {
		return fmt.Errorf("latent is %d and width %d for points of %d dimensions; take at least 1, 1 and 2", n.Latent, n.Width, n.Output)
	}
	return nil
}

// Size implements generator.Design.
func (n pointNetwork) Size() (input, output int) { return n.Latent + n.Classes, n.Output }

// Network implements generator.Design.
func (n pointNetwork) Network() layer.Layer {
	return training.Layers(n, n.Width, func(x *graph.Node) *graph.Node {
		squares := graph.ReduceAndKeep(graph.Square(x), graph.ReduceSum, 1)
		return graph.Div(x, graph.Sqrt(graph.AddScalar(squares, shortest)))
	})
}

// shortest keeps the direction of nothing finite.
const shortest = 1e-12
