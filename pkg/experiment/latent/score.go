package latent

import (
	"math/rand/v2"

	"molehill/pkg/metric"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Distance is the sliced W₂ to the held-out latents over stacks orthonormal
// bases; the same seed measures along the same directions.
func (d *Data) Distance(x transport.Points, stacks int, seed uint64) (sliced.Distance, error) {
	return sliced.SW2(x, d.Test, sliced.Orthonormal(x.Dim, stacks, rand.New(rand.NewPCG(seed, 0x736c6963))))
}

// Told is how well the nearest neighbour tells x from the held-out latents.
func (d *Data) Told(x transport.Points, seed uint64) (metric.Value, error) {
	return metric.NearestNeighbour{Sample: metric.DefaultNeighbours}.Measure(x, d.Test, rand.New(rand.NewPCG(seed, 0x312d6e6e)))
}

// Floor is the distance from n real public latents to the held-out ones: what
// as many particles reach if they are as good as real. It is not 0, as samples
// differ, and those of MNIST's training and test images also in their writers.
func (d *Data) Floor(n int, seed uint64) (sliced.Distance, error) {
	rng := rand.New(rand.NewPCG(seed, 0x666c6f6f))
	chosen := rng.Perm(d.Public.Len())[:min(n, d.Public.Len())]
	return d.Distance(d.Public.Subset(chosen), metric.DefaultStacks, seed)
}
