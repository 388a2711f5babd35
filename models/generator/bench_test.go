package generator

import (
	"fmt"
	"testing"

	"molehill/models/backend"
	"molehill/transport"
)

// A step of the text's DCGAN with 50 images and 20 for the debiasing, at the paper's
// width and at a quarter. GFLOP/s counts what the definition of the layers takes: two
// passes forward (one for the velocity), and two products a layer backward.
func BenchmarkStep(b *testing.B) {
	for _, width := range []int{16, 64} {
		c := MNISTText
		c.Width = width
		for _, candidate := range backend.Found() {
			b.Run(fmt.Sprintf("%s/%d/%s", c.Architecture, width, candidate.Kind), func(b *testing.B) { benchmarkStep(b, candidate, c, 70) })
		}
	}
}

func benchmarkStep(b *testing.B, candidate backend.Candidate, c Images, n int) {
	on, err := candidate.Open()
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(on, c, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	_, output := c.Size()
	z := transport.NewPoints(n, c.Latent+c.Classes)
	for i := range z.Data {
		z.Data[i] = float32(i%7) / 7
	}
	velocity := make([]float32, n*output)
	step := func() {
		if err := g.Step(z, 1e-4, func(transport.Points) ([]float32, error) { return velocity, nil }); err != nil {
			b.Fatal(err)
		}
	}
	step() // compiles
	for b.Loop() {
		step()
	}
	s, w := c.Side/4, c.Width
	products := (c.Latent+c.Embedding)*s*s*4*w + s*s*4*w*16*2*w + 4*s*s*2*w*16*w + 16*s*s*w*9*c.Channels
	b.ReportMetric(4*2*float64(products)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
