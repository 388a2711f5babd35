package latent

import (
	"math/rand/v2"
	"sync"

	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/sliced"
)

// known is what scores need of the held-out and public latents, made when first asked
// for. Of what depends on a seed the last one's is kept.
type known struct {
	sync.Mutex
	test      transport.Points // the held-out latents, which nobody changes
	reference reference
	classes   []int // of held-out latents, as public ones around them say
	real      realLabels
}

type realLabels struct {
	seed   uint64
	count  int
	values run.Values
}

type reference struct {
	seed              uint64
	*sliced.Reference // nil before the first
}

func bases(dim int, seed uint64) sliced.Directions {
	return sliced.Orthonormal(dim, metric.DefaultStacks, rand.New(rand.NewPCG(seed, 0x736c6963)))
}

// reference returns the held-out latents on orthonormal bases.
func (d *Data) reference(seed uint64) (*sliced.Reference, error) {
	d.known.Lock()
	defer d.known.Unlock()
	if last := d.known.reference; last.Reference != nil && last.seed == seed {
		return last.Reference, nil
	}
	made, err := sliced.NewReference(d.known.test, bases(d.known.test.Dim, seed))
	if err == nil {
		d.known.reference = reference{seed, made}
	}
	return made, err
}

// mostKept bounds the projections of held-out latents that are kept, in bytes.
var mostKept = 512 << 20

// Distance is the sliced W₂ to the held-out latents over metric.DefaultStacks orthonormal
// bases; the same seed measures along the same directions.
func (d *Data) Distance(x transport.Points, seed uint64) (sliced.Distance, error) {
	test := d.known.test
	if 4*test.Len()*test.Dim*metric.DefaultStacks > mostKept {
		return sliced.SW2(x, test, bases(test.Dim, seed))
	}
	r, err := d.reference(seed)
	if err != nil {
		return sliced.Distance{}, err
	}
	return r.SW2(x)
}

// Told is how well the nearest neighbour tells x from the held-out latents.
func (d *Data) Told(x transport.Points, seed uint64) (metric.Value, error) {
	return metric.NearestNeighbour{Sample: metric.DefaultNeighbours}.Measure(x, d.Test, rand.New(rand.NewPCG(seed, 0x312d6e6e)))
}

// Floor is the distance from n real public latents, or as many as are held out if that is
// fewer, to the held-out ones: what as many particles reach if they are as good as real. More
// of them can be nearer: what chance does to single ones averages out. It is not 0, as samples
// differ, and those of MNIST's training and test images also in their writers.
func (d *Data) Floor(n int, seed uint64) (sliced.Distance, error) {
	rng := rand.New(rand.NewPCG(seed, 0x666c6f6f))
	chosen := rng.Perm(d.Public.Len())[:min(n, d.Public.Len())]
	return d.Distance(d.Public.Subset(chosen), seed)
}
