package autoencoder_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/pkg/npy"
)

// tiny is the DCGAN architecture in small.
var tiny = autoencoder.Config{Architecture: autoencoder.DCGAN, Side: 16, Width: 4, Channels: 3, Latent: 6}

func newTiny(t testing.TB) *autoencoder.Autoencoder {
	t.Helper()
	a, err := autoencoder.New(tiny, 1)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// colours makes n images of 16×16 with a step from one colour to another.
func colours(n int) []float32 {
	images := make([]float32, 0, n*16*16*3)
	for i := range n {
		for row := range 16 {
			for range 16 {
				v := float32(i%5) / 5
				if row > i%11+2 {
					v = 1 - v
				}
				images = append(images, v, 1-v, v/2)
			}
		}
	}
	return images
}

// The parameters of the papers' networks by C.2, for MNIST and Fashion-MNIST and
// for CelebA: (channels, kernel) of each convolution, and what joins them.
func TestNetworksAreThePapers(t *testing.T) {
	for _, c := range []struct {
		config autoencoder.Config
		arrays int
		shapes map[string][]int
	}{
		{autoencoder.DefaultConfig, 2 * (5 + 5), map[string][]int{
			"encoder.conv1.weight":  {3, 3, 1, 3},
			"encoder.conv2.weight":  {4, 4, 3, 32},
			"encoder.conv3.weight":  {3, 3, 32, 32},
			"encoder.conv4.weight":  {3, 3, 32, 32},
			"encoder.latent.weight": {15 * 15 * 32, 8}, // 15 is (32 − 4)/2 + 1, without padding
			"decoder.latent.weight": {8, 8192},
			"decoder.conv1.weight":  {3, 3, 32, 32},
			"decoder.conv2.weight":  {3, 3, 32, 32},
			"decoder.up.weight":     {32, 2, 2, 32},
			"decoder.pixels.weight": {3, 3, 32, 1},
		}},
		{autoencoder.FacesConfig, 2*(5+5) + 4*4, map[string][]int{
			"encoder.conv1.weight":  {3, 3, 3, 64},
			"encoder.conv2.weight":  {4, 4, 64, 128},
			"encoder.conv3.weight":  {4, 4, 128, 256},
			"encoder.conv4.weight":  {4, 4, 256, 512},
			"encoder.latent.weight": {8 * 8 * 512, 48},
			"decoder.up1.weight":    {48, 4, 4, 512},
			"decoder.up2.weight":    {512, 4, 4, 256},
			"decoder.up3.weight":    {256, 4, 4, 128},
			"decoder.up4.weight":    {128, 4, 4, 64},
			"decoder.pixels.weight": {64, 4, 4, 3},
			"decoder.norm1.mean":    {512},
			"decoder.norm4.scale":   {64},
		}},
	} {
		a, err := autoencoder.New(c.config, 1)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := a.Save(&file); err != nil {
			t.Fatal(err)
		}
		shapes := shapesOf(t, file.Bytes())
		for name, want := range c.shapes {
			if !slices.Equal(shapes[name], want) {
				t.Errorf("%s: %s has shape %v, expected %v", c.config.Architecture, name, shapes[name], want)
			}
		}
		if len(shapes) != c.arrays {
			t.Errorf("%s has %d arrays, expected %d", c.config.Architecture, len(shapes), c.arrays)
		}
	}
}

// shapesOf lists the arrays of a saved autoencoder.
func shapesOf(t *testing.T, file []byte) map[string][]int {
	t.Helper()
	shapes := map[string][]int{}
	for name, content := range unzipped(t, file) {
		if array, ok := strings.CutSuffix(name, ".npy"); ok {
			shape, _, err := npy.Read(content)
			if err != nil {
				t.Fatal(err)
			}
			shapes[array] = shape
		}
	}
	return shapes
}

// What holds for the other architecture holds for this one: latents on the
// sphere, pixels in [0, 1], rows by themselves, backends alike.
func TestFacesEncodeAndDecode(t *testing.T) {
	ctx := context.Background()
	a := newTiny(t)
	images := colours(3)
	images[0] = float32(math.NaN())
	dim := tiny.Dim()
	var reference []float32
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		latents, err := a.Encode(ctx, b, images)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := a.Decode(ctx, b, latents)
		if err != nil {
			t.Fatal(err)
		}
		for row := range slices.Chunk(latents, tiny.Latent) {
			var norm float64
			for _, z := range row {
				norm += float64(z) * float64(z)
			}
			if !(math.Abs(norm-1) <= 1e-5) {
				t.Errorf("a latent has squared norm %v", norm)
			}
		}
		if len(decoded) != len(images) || !(slices.Min(decoded) >= 0 && slices.Max(decoded) <= 1) {
			t.Errorf("%d pixels in [%v, %v], expected %d in [0, 1]", len(decoded), slices.Min(decoded), slices.Max(decoded), len(images))
		}
		one, err := a.Encode(ctx, b, images[dim:2*dim])
		if err != nil {
			t.Fatal(err)
		}
		alone, err := a.Decode(ctx, b, one)
		if err != nil {
			t.Fatal(err)
		}
		if d := farthest(t, alone, decoded[dim:2*dim]); !(d <= 1e-6) {
			t.Errorf("a reconstruction changes by %.1e with its neighbours", d)
		}
		if reference == nil {
			reference = decoded
		}
		if d := farthest(t, decoded, reference); !(d <= 1e-5) {
			t.Errorf("backends differ by %.1e", d)
		}
	})
}

// Training learns, moves the running statistics towards those of the
// activations, and resumes exactly with them; the trained network, which uses
// them, reconstructs about as well as the last steps did.
func TestFacesTrainAndResume(t *testing.T) {
	config := autoencoder.TrainConfig{Epochs: 30, Batch: 8, LearningRate: 3e-3, Decay: 1, Seed: 1}
	images := colours(16)
	ctx := context.Background()
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		if b.Name != backend.Go && os.Getenv("MOLEHILL_THOROUGH") == "" {
			t.Skip("set MOLEHILL_THOROUGH=1: compiling twice takes XLA 10 s")
		}
		var state bytes.Buffer
		var losses []float64
		// train makes all steps, or those after a saved state, and saves its own
		// after seven.
		train := func(resume bool) *autoencoder.Autoencoder {
			a := newTiny(t)
			training, err := autoencoder.NewTraining(a, b, images, config)
			if err != nil {
				t.Fatal(err)
			}
			defer training.Close()
			if resume {
				if err := training.Restore(&state); err != nil {
					t.Fatal(err)
				}
			}
			for !training.Done() {
				s, err := training.Step()
				if err != nil {
					t.Fatal(err)
				}
				losses = append(losses, s.Loss)
				if s.Step == 7 {
					if err := training.Save(&state); err != nil {
						t.Fatal(err)
					}
				}
			}
			var end bytes.Buffer
			if err := errors.Join(training.Save(&end), training.Commit()); err != nil {
				t.Fatal(err)
			}
			for name := range unzipped(t, end.Bytes()) {
				if strings.Contains(name, "norm1.mean") && name != "decoder.norm1.mean.npy" {
					t.Errorf("the optimiser keeps %s of a statistic", name)
				}
			}
			return a
		}
		whole := train(false)
		first, last := losses[0], losses[len(losses)-1]
		latents, err := whole.Encode(ctx, b, images)
		if err != nil {
			t.Fatal(err)
		}
		back, err := whole.Decode(ctx, b, latents)
		if err != nil {
			t.Fatal(err)
		}
		var applied float64
		for i, v := range images {
			applied += math.Pow(float64(v-back[i]), 2) / float64(len(images))
		}
		t.Logf("the loss falls from %.4f to %.4f, with the stored statistics it is %.4f", first, last, applied)
		if !(last < first/2) || !(applied < 2*last) {
			t.Errorf("the loss falls from %.4f to %.4f, with the stored statistics it is %.4f", first, last, applied)
		}
		if !bytes.Equal(saved(t, train(true)), saved(t, whole)) {
			t.Error("the resumed training ended with other weights")
		}
	})
}

func TestFacesSaveAndLoad(t *testing.T) {
	file := saved(t, newTiny(t))
	back, err := autoencoder.Load(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if back.Config != tiny || !bytes.Equal(saved(t, back), file) {
		t.Errorf("came back as %+v, or with other weights", back.Config)
	}
	// A network whose statistics are missing, or of another shape, is refused.
	content := unzipped(t, file)
	text := map[string]string{}
	for name, bytes := range content {
		text[name] = string(bytes)
	}
	variance := text["decoder.norm2.variance.npy"]
	delete(text, "decoder.norm2.variance.npy")
	if _, err := autoencoder.Load(bytes.NewReader(zipped(t, text))); err == nil || !strings.Contains(err.Error(), "decoder.norm2.variance") {
		t.Errorf("without a variance: %v", err)
	}
	text["decoder.norm2.variance.npy"] = variance
	text["decoder.norm1.variance.npy"] = variance
	if _, err := autoencoder.Load(bytes.NewReader(zipped(t, text))); err == nil || !strings.Contains(err.Error(), "shape") {
		t.Errorf("with a variance of another layer: %v", err)
	}
}

// Files that name architecture, side and width are not needed: the first format
// had none of them.
func TestFirstFormatLoads(t *testing.T) {
	content := unzipped(t, saved(t, fresh(t)))
	text := map[string]string{}
	for name, bytes := range content {
		text[name] = string(bytes)
	}
	text["metadata.json"] = `{"format": 1, "config": {"channels": 1, "latent": 8}, "init_seed": 1}`
	a, err := autoencoder.Load(bytes.NewReader(zipped(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	if a.Config != autoencoder.DefaultConfig || a.Meta.Config != a.Config {
		t.Errorf("loaded as %+v", a.Config)
	}
}

func TestConfigsAreChecked(t *testing.T) {
	for want, c := range map[string]autoencoder.Config{
		`is called "vae"`:      {Architecture: "vae", Channels: 1, Latent: 8},
		"multiples of 16":      {Architecture: autoencoder.DCGAN, Side: 40, Channels: 3, Latent: 8},
		"multiples of 2":       {Side: 33, Channels: 3, Latent: 8},
		"from 8 to 256":        {Side: 1 << 20, Channels: 3, Latent: 8},
		"from 16 to 256":       {Architecture: autoencoder.DCGAN, Side: -64, Channels: 3, Latent: 8},
		"a width of -1":        {Width: -1, Channels: 3, Latent: 8},
		"million parameters":   {Architecture: autoencoder.DCGAN, Width: 512, Channels: 3, Latent: 8},
		"2 channels":           {Architecture: autoencoder.DCGAN, Channels: 2, Latent: 8},
		"the papers take 8 fo": {Channels: 3},
	} {
		if _, err := autoencoder.New(c, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want it to say %q", c, err, want)
		}
	}
	a, err := autoencoder.New(autoencoder.Config{Architecture: autoencoder.DCGAN, Width: 8, Channels: 3, Latent: 48}, 1)
	if err != nil || a.Config.Side != 64 || a.Config.Dim() != 64*64*3 {
		t.Errorf("%+v, %v", a, err)
	}
}

// unzipped returns the files of an archive.
func unzipped(t *testing.T, file []byte) map[string][]byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for _, entry := range archive.File {
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		content[entry.Name] = b.Bytes()
	}
	return content
}
