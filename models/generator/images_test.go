package generator

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
	"molehill/transport"
)

// small are the architectures, as small as they get.
var small = []Images{
	{Architecture: DCGANText, Classes: 2, Latent: 3, Embedding: 2, Side: 8, Channels: 1, Width: 2},
	{Architecture: DCGANCode, Classes: 2, Latent: 3, Embedding: 2, Side: 8, Channels: 3, Width: 2},
	{Architecture: BigGAN, Classes: 2, Latent: 3, Embedding: 2, Side: 16, Channels: 1, Width: 1},
}

// Numbers of parameters, from what 001 says of the layers of images' generators
// and 003 (C.5) of the latents'.
func TestPapersNumbersOfParameters(t *testing.T) {
	for _, c := range []struct {
		design           Design
		learned, tracked int
	}{
		{Config{Noise: 8, Output: 8}, 8*256 + 256 +
			256*512 + 512 + 2*512 + // normalised: scales and offsets
			512*256 + 256 +
			256*8 + 8,
			2 * 512}, // means and variances
		{MNISTText, 10*4 + // embedding of 10 classes in 4 dimensions
			(12+4)*7*7*256 + 256 + // to 256 × 7 × 7
			256*4*4*128 + 128 + // to 128 × 14 × 14
			128*4*4*64 + 64 + // to 64 × 28 × 28
			64*3*3*1 + 1, // to 1 × 28 × 28
			0},
		{CelebADCGAN, 2*4 + (32+4)*8*8*256 + 256 + 256*4*4*128 + 128 + 128*4*4*64 + 64 + 64*3*3*3 + 3, 0},
		{MNISTCode, 10*8 + // embedding in 8 dimensions
			(16+8)*7*7*256 + 2*256 + // scales and offsets for biases
			256*4*4*128 + 2*128 +
			128*4*4*64 + 2*64 +
			64*3*3*1 + 1,
			2 * (256 + 128 + 64)}, // means and variances
		{CelebABigGAN, 2*4 + (32+4)*2*2*256 + 2*2*256 + // to 256 × 2 × 2
			4*(2*3*3*256*256+256*256) + // three convolutions in each of four blocks, without biases
			4*2*2*256 + // two normalisations in each
			2*256 + 256*3*3*3 + 3, // the last normalisation, and pixels
			2*2*256 + 4*3*256 + 3 + // u of the linear map and of 13 convolutions
				2*(4*2+1)*256}, // means and variances
	} {
		learned, tracked := 0, 0
		for _, spec := range c.design.Network().Params() {
			if spec.Tracked {
				tracked += spec.Size()
			} else {
				learned += spec.Size()
			}
		}
		if learned != c.learned || tracked != c.tracked {
			t.Errorf("%+v learns %d numbers and tracks %d; expected %d and %d", c.design, learned, tracked, c.learned, c.tracked)
		}
		if err := c.design.Check(); err != nil {
			t.Error(err)
		}
	}
	if n := countText(); n != 857129 {
		t.Errorf("the text's DCGAN has %d parameters, by hand 857,129", n)
	}
}

func countText() (n int) {
	for _, p := range layer.Init(MNISTText.Network(), 1) {
		n += len(p.Value)
	}
	return n
}

// pattern is a velocity that draws class 0 to an image that is bright above and dark
// below, class 1 to its negative, and BigGAN's all bright and all dark: from its one
// pixel it knows places only by what is missing at the borders.
func pattern(c Images, labels []int) func(transport.Points) ([]float32, error) {
	return func(x transport.Points) ([]float32, error) {
		v := make([]float32, len(x.Data))
		for i := range v {
			v[i] = wanted(c, labels[i/x.Dim], i%x.Dim) - x.Data[i]
		}
		return v, nil
	}
}

func wanted(c Images, label, at int) float32 {
	bright := float32(0.5)
	below := 2*at >= c.Side*c.Side*c.Channels && c.Architecture != BigGAN
	if below != (label == 1) {
		bright = -bright
	}
	return bright
}

func alternate(n int) []int {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = i % 2
	}
	return labels
}

func draw(t *testing.T, c Images, seed uint64, n int) transport.Points {
	t.Helper()
	z, err := c.Draw(rand.New(rand.NewPCG(3, seed)), alternate(n))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func madeImages(t *testing.T, b *backend.Backend, c Images, seed uint64) *Generator {
	t.Helper()
	g, err := New(b, c, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// unlessSlow leaves what XLA compiles for seconds to the thorough tests, but for one.
func unlessSlow(t *testing.T, b *backend.Backend, c Images) {
	if c.Architecture != DCGANCode && b.Name != backend.Go && os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("compiles for seconds; set MOLEHILL_THOROUGH")
	}
}

// Every architecture learns an image per class, stays within [−1, 1], and a saved one
// continues to the last bit, tracked statistics included.
func TestImagesLearnAndContinue(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range small {
			t.Run(c.Architecture, func(t *testing.T) {
				unlessSlow(t, b, c)
				learnAndContinue(t, b, c)
			})
		}
	})
}

func learnAndContinue(t *testing.T, b *backend.Backend, c Images) {
	const n, steps, half = 12, 60, 20
	g := madeImages(t, b, c, 1)
	labels := alternate(n)
	train := func(from, to int) {
		for k := from; k < to; k++ {
			if err := g.Step(draw(t, c, uint64(k), n), 2e-2, pattern(c, labels)); err != nil {
				t.Fatal(err)
			}
		}
	}
	generate := func() []float32 {
		x, err := g.Generate(draw(t, c, 1000, 2*n))
		if err != nil {
			t.Fatal(err)
		}
		return x.Data
	}
	train(0, half)
	var file bytes.Buffer
	if err := g.Save(&file, half); err != nil {
		t.Fatal(err)
	}
	train(half, steps)
	x := generate()
	if err := g.Restore(bytes.NewReader(file.Bytes()), half); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(generate(), x) {
		t.Error("nothing was restored, or nothing learned after")
	}
	train(half, steps)
	if !slices.Equal(generate(), x) {
		t.Error("a training that was interrupted went another way")
	}

	_, output := c.Size()
	if len(x) != 2*n*output {
		t.Fatalf("%d values of %d images of %d", len(x), 2*n, output)
	}
	var off float64
	for i, v := range x {
		if !(v >= -1 && v <= 1) {
			t.Fatalf("a pixel is %v; expected −1 to 1", v)
		}
		off += math.Pow(float64(v-wanted(c, i/output%2, i%output)), 2) / float64(len(x))
	}
	if !(off <= 0.1) { // without classes the best is 0.25
		t.Errorf("images are off by %.3f in the mean square", off)
	}
}

// The same seed gives the same weights on every backend, another seed others.
func TestImagesWeightsAreTheSeeds(t *testing.T) {
	c := small[1]
	var first layer.Params
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		params := func(seed uint64) layer.Params {
			p, err := madeImages(t, b, c, seed).Trainer().Params()
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		one, other := params(1), params(2)
		if first == nil {
			first = one
		}
		for i := range one {
			if !slices.Equal(one[i].Value, first[i].Value) {
				t.Errorf("%s differs between two generators of one seed", one[i].Name)
			}
			if one[i].FanIn > 0 && slices.Equal(one[i].Value, other[i].Value) {
				t.Errorf("%s is the same for two seeds", one[i].Name)
			}
		}
	})
}

// What is generated depends on its own row alone, in one run or in many.
func TestGenerateInBatches(t *testing.T) {
	c := Images{Architecture: DCGANCode, Classes: 2, Latent: 3, Embedding: 2, Side: 64, Channels: 16, Width: 1}
	_, output := c.Size()
	n := 2*(atOnce/output) + 1 // two runs and a bit
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		g := madeImages(t, b, c, 1)
		z := draw(t, c, 1, n)
		x, err := g.Generate(z)
		if err != nil {
			t.Fatal(err)
		}
		if x.Len() != n || x.Dim != output {
			t.Fatalf("%d images of %d values; expected %d of %d", x.Len(), x.Dim, n, output)
		}
		for _, i := range []int{0, 3, 4, n - 1} {
			one, err := g.Generate(transport.Points{Dim: z.Dim, Data: z.Row(i)})
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range one.Data {
				if !(math.Abs(float64(v-x.Row(i)[k])) <= 1e-5) {
					t.Fatalf("image %d is %v at %d; by itself %v", i, x.Row(i)[k], k, v)
				}
			}
		}
	})
}

// Latents are drawn as said: moments of 20,000 are within five standard errors, which
// fails by chance once in 10⁶ seeds.
func TestDraw(t *testing.T) {
	labels := alternate(20000)
	for _, c := range small {
		z, err := c.Draw(rand.New(rand.NewPCG(1, 1)), labels)
		if err != nil {
			t.Fatal(err)
		}
		const mean, variance = 0.5, 1.0 / 12
		var sum, squares float64
		count := float64(c.Latent * z.Len())
		for i := range z.Len() {
			for k, v := range z.Row(i) {
				if k < c.Latent {
					sum, squares = sum+float64(v)/count, squares+math.Pow(float64(v)-mean, 2)/count
				} else if one := k-c.Latent == labels[i]; one != (v == 1) || !one && v != 0 {
					t.Fatalf("row %d of class %d is %v", i, labels[i], z.Row(i))
				}
			}
		}
		if !(math.Abs(sum-mean) <= 5*math.Sqrt(variance/count) && math.Abs(squares-variance) <= 5*variance*math.Sqrt(2/count)) {
			t.Errorf("%s: mean %.4f and variance %.4f; expected %.4f and %.4f", c.Architecture, sum, squares, mean, variance)
		}
	}
	if _, err := small[0].Draw(rand.New(rand.NewPCG(1, 1)), []int{2}); err == nil {
		t.Error("a class that is not there was drawn")
	}
}

func TestImagesThatCannotBe(t *testing.T) {
	for says, change := range map[string]func(c *Images){
		"no architecture \"\"": func(c *Images) { c.Architecture = "" },
		"classes":              func(c *Images) { c.Classes = 0 },
		"latent":               func(c *Images) { c.Latent = -1 },
		"embedding":            func(c *Images) { c.Embedding = 0 },
		"channels":             func(c *Images) { c.Channels = 1 << 30 },
		"side of 30":           func(c *Images) { c.Side = 30 },
		"multiples of 16":      func(c *Images) { c.Architecture = BigGAN },
		"width of":             func(c *Images) { c.Width = 0 },
		"parameters":           func(c *Images) { c.Width, c.Side = 1024, 1024 },
	} {
		c := MNISTText
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v; want an error that says %q", c, err, says)
		}
		if _, err := New(nil, c, 1); err == nil {
			t.Errorf("%+v was made", c)
		}
	}
}
