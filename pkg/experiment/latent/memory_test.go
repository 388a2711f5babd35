package latent

import (
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"strings"
	"testing"

	"molehill/models"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// small28 is a model of images as large as MNIST's that takes next to no memory.
type small28 struct{ plain }

func (small28) Describe() plugin.Info { return plugin.Info{Name: "small28", Version: "1"} }
func (small28) Shape() models.Shape   { return models.Shape{Side: 32, Channels: 1, Code: 2} }
func (small28) Encode(_ context.Context, _ *backend.Backend, images []float32) ([]float32, error) {
	codes := make([]float32, len(images)/512)
	for i := range codes {
		codes[i] = images[i*512+300]
	}
	return codes, nil
}

// As many images as MNIST's take 209 MiB. Encoding them takes little more: not a copy
// of the private half (90), one that is padded (117), nor its bytes (117). The peak is
// that of a process of its own, by what the system counts.
func TestEncodingTakesLittleMoreThanTheImages(t *testing.T) {
	const child = "MOLEHILL_TEST_MEMORY"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEncodingTakesLittleMoreThanTheImages$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1", "GOMLX_BACKEND=go")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if strings.Contains(string(text), "SKIP") {
			t.Skip(string(text))
		}
		return
	}
	models.Registry.Register(small28{})
	var before int
	dataset.Register("many", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		splits := &dataset.Splits{}
		for i, part := range []**dataset.Dataset{&splits.Train, &splits.Test} {
			d := &dataset.Dataset{Name: "many", Origin: "the test", Height: 28, Width: 28, Channels: 1, X: make([]float32, []int{60_000, 10_000}[i]*784)}
			for k := range d.X {
				d.X[k] = float32((k*(i+1)*7919)%65_536) / 65_536
			}
			*part = d
		}
		before = experimenttest.MostMemory(t)
		return splits, nil
	})
	d, err := Load(t.Context(), "many", "small28", func(run.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if d.Private.Len() != 30_000 || d.Test.Len() != 10_000 || len(d.HeldOut) != 64*32*32 {
		t.Fatalf("%d private and %d held-out latents, %d pixels", d.Private.Len(), d.Test.Len(), len(d.HeldOut))
	}
	after := experimenttest.MostMemory(t)
	t.Logf("%d MiB with the images, %d MiB at most", before, after)
	if before < 209 || after > before+80 {
		t.Errorf("%d MiB with the images alone, %d MiB after they were encoded", before, after)
	}
}

// Latents are cached by the hash of the padded rows, which does not depend on how they
// are read.
func TestPiecesAreTheirImages(t *testing.T) {
	images := specks(2*imagesAtOnce+7, 1)
	var rows []int
	for i := images.Len() - 1; i >= 0; i -= 1 + i%2 {
		rows = append(rows, i)
	}
	for name, g := range map[string]gallery{"all": {images, nil, 10}, "some": {images, rows, 10}, "as they are": {images, rows[:10], 8}} {
		whole := images
		if g.rows != nil {
			whole = images.Subset(g.rows)
		}
		want := sha256.Sum256(bytesOf(nil, whole.Pad(g.side, g.side).X))
		if got := g.fingerprint(); string(got) != string(want[:]) {
			t.Errorf("%s: the pieces' hash is %x, that of all in one %x", name, got, want)
		}
		count := 0
		for from, piece := range g.pieces {
			if from != count || piece.Len() > imagesAtOnce {
				t.Errorf("%s: a piece of %d from %d, after %d", name, piece.Len(), from, count)
			}
			count += piece.Len()
		}
		if count != g.count() {
			t.Errorf("%s: %d of %d images", name, count, g.count())
		}
	}
}
