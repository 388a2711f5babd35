package autoencoder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

// fresh is a small autoencoder with untrained weights.
func fresh(t testing.TB) *autoencoder.Autoencoder {
	t.Helper()
	a, err := autoencoder.New(autoencoder.DefaultConfig, 1)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// side is that of DefaultConfig.
const side = 32

// discs draws n images of a disc at a random place.
func discs(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	images := make([]float32, 0, n*side*side)
	for range n {
		x, y, r := 8+16*rng.Float64(), 8+16*rng.Float64(), 3+4*rng.Float64()
		for row := range side {
			for col := range side {
				d := r - math.Hypot(float64(col)-x, float64(row)-y)
				images = append(images, float32(min(1, max(0, d))))
			}
		}
	}
	return images
}

// farthest is the largest difference of two slices.
func farthest(t *testing.T, a, b []float32) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("lengths %d and %d", len(a), len(b))
	}
	var far float64
	for i := range a {
		far = max(far, math.Abs(float64(a[i]-b[i])))
	}
	return far
}

// Latents lie on the sphere, one row does not influence another, and all
// backends agree.
func TestEncodeAndDecode(t *testing.T) {
	ctx := context.Background()
	a := fresh(t)
	images := discs(3, 1)
	dim := a.Config.Dim()
	var reference [2][]float32
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		latents, err := a.Encode(ctx, b, images)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			var norm float64
			for _, z := range latents[8*i : 8*i+8] {
				norm += float64(z) * float64(z)
			}
			if !(math.Abs(norm-1) <= 1e-5) {
				t.Errorf("latent %d has squared norm %v", i, norm)
			}
		}
		alone, err := a.Encode(ctx, b, images[dim:2*dim])
		if err != nil {
			t.Fatal(err)
		}
		if d := farthest(t, alone, latents[8:16]); !(d <= 1e-6) {
			t.Errorf("the latent of an image changes by %.1e with its neighbours", d)
		}
		decoded, err := a.Decode(ctx, b, latents)
		if err != nil {
			t.Fatal(err)
		}
		if len(decoded) != len(images) || !(slices.Min(decoded) >= 0 && slices.Max(decoded) <= 1) {
			t.Errorf("%d pixels in [%v, %v]", len(decoded), slices.Min(decoded), slices.Max(decoded))
		}
		if reference[0] == nil {
			reference = [2][]float32{latents, decoded}
		}
		if d := max(farthest(t, latents, reference[0]), farthest(t, decoded, reference[1])); !(d <= 1e-5) {
			t.Errorf("backends differ by %.1e", d)
		}
	})
}

// A record of anything has a latent of norm at most 1 and leaves the others'
// alone; a latent of anything has an image in [0, 1].
func TestBadValuesStayBounded(t *testing.T) {
	ctx := context.Background()
	a := fresh(t)
	dim := a.Config.Dim()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		clean := discs(2, 1)
		images := append(slices.Repeat([]float32{nan}, dim), clean...)
		images = append(images, slices.Repeat([]float32{inf, -inf, 3e38, nan}, dim/4)...)
		latents, err := a.Encode(ctx, b, images)
		if err != nil {
			t.Fatal(err)
		}
		want, err := a.Encode(ctx, b, clean)
		if err != nil {
			t.Fatal(err)
		}
		if d := farthest(t, latents[8:24], want); !(d <= 1e-6) {
			t.Errorf("bad rows change good ones by %.1e", d)
		}
		for row := range slices.Chunk(latents, 8) {
			var norm float64
			for _, z := range row {
				norm += float64(z) * float64(z)
			}
			if !(norm <= 1+1e-6) {
				t.Errorf("squared norm %v of %v", norm, row)
			}
		}
		decoded, err := a.Decode(ctx, b, []float32{nan, inf, -inf, 0, 0, 0, 0, 0, 3e38, -3e38, 1, 1, 1, 1, 1, 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(decoded) != 2*dim {
			t.Fatalf("%d pixels of two images", len(decoded))
		}
		for i, v := range decoded {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("pixel %d of image %d is %v", i%dim, i/dim, v)
			}
		}
	})
}

func TestWrongShapesAreErrors(t *testing.T) {
	ctx := context.Background()
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	a := fresh(t)
	if _, err := a.Encode(ctx, b, make([]float32, 28*28)); err == nil || !strings.Contains(err.Error(), "pad") {
		t.Errorf("28×28 images: %v", err)
	}
	if _, err := a.Decode(ctx, b, make([]float32, 9)); err == nil {
		t.Error("9 values were decoded as rows of 8")
	}
	if z, err := a.Encode(ctx, b, nil); err != nil || len(z) != 0 {
		t.Errorf("no images: %v, %v", z, err)
	}
	for _, c := range []autoencoder.Config{{}, {Channels: 2, Latent: 8}, {Channels: 1, Latent: 1}, {Channels: 1, Latent: 1 << 20}} {
		if _, err := autoencoder.New(c, 1); err == nil {
			t.Errorf("configuration %+v was accepted", c)
		}
	}
	good := autoencoder.TrainConfig{Epochs: 1, Batch: 2, LearningRate: 1e-3}
	for _, spoil := range []func(*autoencoder.TrainConfig){
		func(c *autoencoder.TrainConfig) { c.Epochs = 0 },
		func(c *autoencoder.TrainConfig) { c.Batch = 0 },
		func(c *autoencoder.TrainConfig) { c.Batch = 100 },
		func(c *autoencoder.TrainConfig) { c.LearningRate = math.NaN() },
		func(c *autoencoder.TrainConfig) { c.Decay = 2 },
	} {
		c := good
		spoil(&c)
		if training, err := autoencoder.NewTraining(a, b, discs(4, 1), c); err == nil {
			training.Close()
			t.Errorf("%+v was accepted", c)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := a.Encode(cancelled, b, discs(1000, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Encode returns %v", err)
	}
}

func TestSaveAndLoad(t *testing.T) {
	a := fresh(t)
	a.Meta.Dataset, a.Meta.Split = "discs", "no split"
	var file bytes.Buffer
	if err := a.Save(&file); err != nil {
		t.Fatal(err)
	}
	back, err := autoencoder.Load(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if back.Config != a.Config || back.Meta.Dataset != "discs" || back.Meta.Format != 2 {
		t.Errorf("metadata came back as %+v", back.Meta)
	}
	var again bytes.Buffer
	if err := back.Save(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Error("saving what was loaded gives another file")
	}
}

func TestDamagedFilesAreErrors(t *testing.T) {
	var file bytes.Buffer
	if err := fresh(t).Save(&file); err != nil {
		t.Fatal(err)
	}
	data := file.Bytes()
	for _, size := range []int{0, 1, 100, len(data) / 2, len(data) - 1} {
		if _, err := autoencoder.Load(bytes.NewReader(data[:size])); err == nil || !strings.Contains(err.Error(), "again") {
			t.Errorf("%d of %d bytes: %v", size, len(data), err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 { // the archive's checksums find any change of an array
		damaged := slices.Clone(data)
		i := len(data)/10 + rng.IntN(len(data)/2)
		damaged[i] ^= 0x55
		if _, err := autoencoder.Load(bytes.NewReader(damaged)); err == nil {
			t.Errorf("a change of byte %d of %d went unnoticed", i, len(data))
		}
	}
}

func TestNewerFormatsAreNamed(t *testing.T) {
	_, err := autoencoder.Load(bytes.NewReader(zipped(t, map[string]string{"metadata.json": `{"format": 7}`})))
	var format *autoencoder.FormatError
	if !errors.As(err, &format) || format.Found != 7 {
		t.Errorf("a file of format 7: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3, 1, 3), }"))
	f.Add([]byte("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999, 2), }\n"))
	f.Fuzz(func(t *testing.T, header []byte) {
		array := fmt.Sprintf("\x93NUMPY\x01\x00%c%c%s%s", len(header)%256, len(header)/256%256, header, strings.Repeat("\x00", 27*4))
		file := zipped(t, map[string]string{
			"metadata.json":            `{"format": 1, "config": {"channels": 1, "latent": 8}}`,
			"encoder.conv1.weight.npy": array,
		})
		if _, err := autoencoder.Load(bytes.NewReader(file)); err == nil {
			t.Error("an archive of one array was loaded")
		}
		_, _ = autoencoder.Load(bytes.NewReader(header)) // must not panic
	})
}
