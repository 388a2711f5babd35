package generator

import (
	"fmt"
	"testing"

	"molehill/models/backend"
	"molehill/models/train"
	"molehill/transport"
)

// A step of the text's DCGAN with 50 images and 20 for the debiasing, at the paper's
// width and at a quarter. GFLOP/s counts what the definition of the layers takes: a
// product a layer forward, and two backward.
func BenchmarkStep(b *testing.B) {
	for _, width := range []int{16, 64} {
		c := MNISTText
		c.Width = width
		for _, candidate := range backend.Found() {
			for _, o := range []train.Optimizer{{}, {WeightDecay: 1e-5, Average: 0.999}} {
				name := fmt.Sprintf("%s/%d/%s/average=%v", c.Architecture, width, candidate.Kind, o.Average)
				b.Run(name, func(b *testing.B) { benchmarkStep(b, candidate, c, o, 70, (*Generator).Step) })
			}
			name := fmt.Sprintf("%s/%d/%s/parameters", c.Architecture, width, candidate.Kind)
			b.Run(name, func(b *testing.B) { benchmarkStep(b, candidate, c, train.Optimizer{}, 70, byParameters) })
		}
	}
}

type velocity = func(transport.Points) ([]float32, error)

func byParameters(g *Generator, noise transport.Points, rate float64, v velocity) error {
	return g.StepByParameters(noise, rate, v, func([]float32) error { return nil })
}

func benchmarkStep(b *testing.B, candidate backend.Candidate, c Images, o train.Optimizer, n int, step func(g *Generator, noise transport.Points, rate float64, v velocity) error) {
	on, err := candidate.Open()
	if err != nil {
		b.Fatal(err)
	}
	g, err := NewWith(on, c, o, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	_, output := c.Size()
	z := transport.NewPoints(n, c.Latent+c.Classes)
	for i := range z.Data {
		z.Data[i] = float32(i%7) / 7
	}
	v := make([]float32, n*output)
	run := func() {
		if err := step(g, z, 1e-4, func(transport.Points) ([]float32, error) { return v, nil }); err != nil {
			b.Fatal(err)
		}
	}
	run() // compiles
	for b.Loop() {
		run()
	}
	s, w := c.Side/4, c.Width
	products := (c.Latent+c.Embedding)*s*s*4*w + s*s*4*w*16*2*w + 4*s*s*2*w*16*w + 16*s*s*w*9*c.Channels
	b.ReportMetric(3*2*float64(products)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
