package training

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/models/layer"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// plane is rows of two numbers from −1 to 1, of some classes.
type plane struct{ classes int }

func (p plane) Network(s Settings) generator.Design {
	n := planeNetwork{Input: s.Latent, Width: s.Width}
	if p.classes > 1 {
		n.Input += p.classes
	}
	return n
}
func (plane) Dim() int                    { return 2 }
func (plane) Largest() float64            { return 8 }
func (plane) Meet(to, made []float32)     { copy(to, made) }
func (plane) Pull(to, gradient []float32) { copy(to, gradient) }
func (plane) MovedName() string           { return "moved" }
func (plane) Moved(from, to transport.Points) (d float64) {
	for i, v := range to.Data {
		d += math.Abs(float64(v - from.Data[i]))
	}
	return d
}

type planeNetwork struct{ Input, Width int }

func (n planeNetwork) Check() error              { return nil }
func (n planeNetwork) Size() (input, output int) { return n.Input, 2 }
func (n planeNetwork) Network() layer.Layer {
	return layer.Sequence{
		layer.Dense{Name: "1", In: n.Input, Out: n.Width}, layer.ReLU,
		layer.Dense{Name: "2", In: n.Width, Out: 2}, layer.Func(graph.Tanh),
	}
}

// record is a point of the plane and its class.
type record struct {
	x, y  float32
	class int
}

type table []record

func (t table) Place(to []float32, i int) int {
	to[0], to[1] = t[i].x, t[i].y
	return t[i].class
}

// small is a method for a few records of some classes.
func small(classes int, change func(*Method)) *Method {
	m := &Method{Settings: Settings{Batch: 2, Generated: 3, Entropy: 0.1, Bound: 0.01, LearningRate: 1e-2, Latent: 2, Width: 16},
		Subject: plane{classes}, Budget: privacy.Budget{Epsilon: math.Inf(1), Delta: 1e-6}, Steps: 10, Classes: classes, LabelScale: 1}
	if change != nil {
		change(m)
	}
	return m
}

// started returns a training on the Go backend, with noise that is known.
func started(t *testing.T, m *Method, records table) (*Training, privacy.Plan) {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "go")
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := m.Plan(len(records))
	if err != nil {
		t.Fatal(err)
	}
	training, err := m.Start(b, noise.Seeded(1), records, plan.Releaser(noise.Seeded(2)), plan.Steps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { training.Close(); m.Close() })
	return training, plan
}

// atRandom are records at random places, of random classes.
func atRandom(n, classes int, rng *rand.Rand) table {
	records := make(table, n)
	for i := range records {
		records[i] = record{2*rng.Float32() - 1, 2*rng.Float32() - 1, rng.IntN(classes)}
	}
	return records
}
