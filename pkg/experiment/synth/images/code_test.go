package images

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"molehill/models"
	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/pkg/dataset/pictures"
)

// random images with values of all kinds.
func random(n, dim int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 5))
	x := make([]float32, n*dim)
	for i := range x {
		switch x[i] = rng.Float32(); rng.IntN(40) {
		case 0:
			x[i] = float32(math.NaN())
		case 1:
			x[i] = float32(math.Inf(1))
		case 2:
			x[i] = -7
		}
	}
	return x
}

var shapes = []pictures.Shape{{Height: 8, Width: 8, Channels: 1}, {Height: 5, Width: 17, Channels: 3}, {Height: 28, Width: 28, Channels: 1}}

// Points lie on the sphere whatever the image is.
func TestPointsOfCosinesLieOnTheSphere(t *testing.T) {
	for _, shape := range shapes {
		for _, count := range []int{2, 20, 75} {
			c := newCosines(shape, count)
			images := random(50, shape.Dim(), 1)
			for i := range images[:shape.Dim()] {
				images[i], images[shape.Dim()+i] = 1, float32(i%2)
			}
			x, err := c.encode(t.Context(), images)
			if err != nil || x.Len() != 50 || x.Dim != c.dim() || c.dim() > 76 {
				t.Fatalf("%d points of %d dimensions, %v", x.Len(), x.Dim, err)
			}
			for i := range x.Len() {
				var squares float64
				for _, v := range x.Row(i) {
					squares += float64(v) * float64(v)
				}
				if !(math.Abs(squares-1) < 1e-6) {
					t.Fatalf("a point of norm %v", math.Sqrt(squares))
				}
			}
		}
	}
}

// An image made of the frequencies that are kept comes back, and the cosines are
// orthonormal: the code of the whole of an image has its norm.
func TestCosinesGiveBackWhatTheyKeep(t *testing.T) {
	for _, shape := range shapes {
		c := newCosines(shape, 12)
		image, back := make([]float32, shape.Dim()), make([]float32, shape.Dim())
		rng := rand.New(rand.NewPCG(2, 2))
		point := make([]float32, c.dim())
		for i := range c.waves {
			point[i] = float32(rng.NormFloat64()) * 0.03
		}
		c.toImage(image, point)
		c.toPoint(point, image)
		c.toImage(back, point)
		for i, v := range image {
			if !(math.Abs(float64(v-back[i])) <= 1e-5) {
				t.Fatalf("%v: a pixel of %v became %v", shape, v, back[i])
			}
		}
	}
	// All 16 frequencies of 4×4 pixels: Parseval's identity.
	c := newCosines(pictures.Shape{Height: 4, Width: 4, Channels: 1}, 16)
	image := make([]float32, 16)
	rng := rand.New(rand.NewPCG(4, 4))
	var squares, sum float64
	for i := range image {
		image[i] = rng.Float32()
		squares += (float64(image[i]) - 0.5) * (float64(image[i]) - 0.5)
	}
	for _, v := range c.transform(c.split(image))[0] {
		sum += v * v
	}
	if len(c.waves) != 16 || !(math.Abs(sum-squares) <= 1e-9) {
		t.Errorf("%d coefficients have the energy %v, the image has %v", len(c.waves), sum, squares)
	}
	// The lowest frequencies come first, as far apart in pixels both ways.
	wide := frequencies(8, 16)[:3]
	if got := fmt.Sprint(wide); got != "[{0 0 0 0} {0 0 1 0} {0 0 2 0}]" {
		t.Errorf("the lowest frequencies are %v", got)
	}
}

// A colour that is all over an image comes back.
func TestColoursComeBack(t *testing.T) {
	shape := pictures.Shape{Height: 6, Width: 6, Channels: 3}
	c := newCosines(shape, 6)
	for _, colour := range [][3]float32{{0.8, 0.3, 0.4}, {0.2, 0.6, 0.5}, {0.5, 0.5, 0.5}} {
		image := make([]float32, shape.Dim())
		for i := range image {
			image[i] = colour[i%3]
		}
		x, err := c.encode(t.Context(), image)
		if err != nil {
			t.Fatal(err)
		}
		back, err := c.decode(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range back {
			if !(math.Abs(float64(v-colour[i%3])) <= 1e-5) {
				t.Fatalf("%v became %v", colour, back[:3])
			}
		}
	}
}

// The code of an image does not depend on the others, to the last bit: what a record
// adds to a release is its own. Nor does it depend on its place among them, which a file
// changes with its class, but for the rounding of a network, whose matrix products round
// the last rows of a block otherwise on some processors.
func TestCodesOfImagesAreTheirOwn(t *testing.T) {
	alone := func(t *testing.T, c code, dim, n int, rounding float64) {
		images := random(n, dim, 3)
		all, err := c.encode(t.Context(), images)
		if err != nil {
			t.Fatal(err)
		}
		order := rand.New(rand.NewPCG(5, 5)).Perm(n)
		shuffled := make([]float32, 0, len(images))
		for _, i := range order {
			shuffled = append(shuffled, images[i*dim:(i+1)*dim]...)
		}
		x, err := c.encode(t.Context(), shuffled[:(n-1)*dim])
		if err != nil {
			t.Fatal(err)
		}
		for to := range n - 1 {
			for k, v := range x.Row(to) {
				if !(math.Abs(float64(v-all.Row(order[to])[k])) <= rounding) {
					t.Fatalf("image %d has another code in place %d: %v, %v", order[to], to, all.Row(order[to]), x.Row(to))
				}
			}
		}
		others := random(n, dim, 4)
		copy(others[7*dim:8*dim], images[7*dim:8*dim])
		if x, err = c.encode(t.Context(), others); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Row(7), all.Row(7)) {
			t.Errorf("an image has the code %v among others, %v before", x.Row(7), all.Row(7))
		}
	}
	shape := pictures.Shape{Height: 28, Width: 28, Channels: 1}
	alone(t, newCosines(shape, 48), shape.Dim(), 60, 0)
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("a model's codes take a few seconds; set MOLEHILL_THOROUGH=1")
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		model, err := models.Checked("autoencoder/glyphs")
		if err != nil {
			t.Fatal(err)
		}
		m, err := newModelled(model, shape)
		if err != nil {
			t.Fatal(err)
		}
		m.open = func() (*backend.Backend, error) { return b, nil }
		alone(t, m, shape.Dim(), 300, 1e-6)
	})
}

// Images stand in the middle of a model's frame, and come out of it.
func TestAModelSeesImagesInItsFrame(t *testing.T) {
	model, err := models.Checked("autoencoder/mnist")
	if err != nil {
		t.Fatal(err)
	}
	shape := pictures.Shape{Height: 28, Width: 20, Channels: 1}
	m, err := newModelled(model, shape)
	if err != nil {
		t.Fatal(err)
	}
	image := make([]float32, shape.Dim())
	for i := range image {
		image[i] = float32(i + 1)
	}
	framed := m.frame(image, shape.Dim(), 1024, func(to, from []float32) { copy(to, from) })
	if framed[2*32+6] != 1 || framed[2*32+5] != 0 || framed[29*32+25] != 560 || framed[1*32+6] != 0 {
		t.Error("the image is not in the middle")
	}
	if back := m.frame(framed, 1024, shape.Dim(), func(to, from []float32) { copy(from, to) }); !slices.Equal(back, image) {
		t.Error("the image does not come out of the frame")
	}
	if m.dim() != 8 {
		t.Error(m.dim())
	}
}
