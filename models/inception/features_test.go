package inception

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
)

func TestLevels(t *testing.T) {
	for v, want := range map[float32]float32{
		0: 0, 1: 255, -0.1: 0, 1.5: 255, 0.5: 128, 1. / 255: 1, 1.49 / 255: 1, 1.51 / 255: 2, 254.4 / 255: 254,
		float32(math.Inf(1)): 255, float32(math.Inf(-1)): 0,
	} {
		if got := level(v); got != want {
			t.Errorf("%v becomes level %v, want %v", v, got, want)
		}
	}
	if got := level(float32(math.NaN())); got != 0 {
		t.Errorf("NaN becomes level %v, want 0", got)
	}
	for i := range 256 { // what was read from a file comes back
		if got := level(float32(i) / 255); got != float32(i) {
			t.Errorf("level %d becomes %v", i, got)
		}
	}
}

func TestFeaturesOfAnImageDoNotDependOnOthers(t *testing.T) {
	if !thorough() {
		t.Skip("35 images; set MOLEHILL_THOROUGH")
	}
	network := cutNetwork(t)
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	const n = 2*largestBatch + 3
	images := picture(n, 8, 8, 3)
	var calls []int
	all, err := network.Features(context.Background(), b, images, 8, 8, 3, func(done, total int) {
		if total != n {
			t.Errorf("%d images in all, want %d", total, n)
		}
		calls = append(calls, done)
	})
	if err != nil || all.Len() != n || all.Dim != Cut {
		t.Fatalf("%d points of %d, %v", all.Len(), all.Dim, err)
	}
	if len(calls) != 3 || !slices.IsSorted(calls) || calls[2] != n {
		t.Errorf("progress %v", calls)
	}
	for _, i := range []int{0, largestBatch, n - 1} {
		one, err := network.Features(context.Background(), b, images[i*192:(i+1)*192], 8, 8, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		for c, v := range one.Row(0) {
			if w := all.Row(i)[c]; !(math.Abs(float64(v-w)) <= 1e-5*(1+math.Abs(float64(v)))) {
				t.Fatalf("feature %d of image %d is %v alone and %v among others", c, i, v, w)
			}
		}
	}
}

func TestFeaturesRefuse(t *testing.T) {
	n := newNetwork(Cut, nil, "nowhere")
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for name, c := range map[string]struct {
		values                  int
		height, width, channels int
		says                    string
	}{
		"no images":      {0, 2, 2, 1, "0 pixel values"},
		"part":           {5, 2, 2, 1, "5 pixel values"},
		"two channels":   {8, 2, 2, 2, "2 channels"},
		"no height":      {4, 0, 4, 1, "0×4 pixels"},
		"negative width": {4, 4, -1, 1, "4×-1 pixels"},
		"large":          {4, 1 << 40, 1 << 40, 1, "expected sides of 1 to 4096"},
		"stopped":        {4, 2, 2, 1, "context canceled"},
	} {
		if _, err := n.Features(ctx, b, make([]float32, c.values), c.height, c.width, c.channels, nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestNetworksSayWhichTheyAre(t *testing.T) {
	whole, short := newNetwork(Full, nil, "here"), newNetwork(Cut, nil, "here")
	if whole.Metric() != "fid" || short.Metric() != "fid-768" || whole.Dim() != 2048 || short.Dim() != 768 || whole.Digest() == short.Digest() {
		t.Errorf("%s (%d) and %s (%d)", whole.Metric(), whole.Dim(), short.Metric(), short.Dim())
	}
}

func TestOpenFolderOfWeights(t *testing.T) {
	source := cutNetwork(t).Origin
	dir := t.TempDir()
	copied := filepath.Join(dir, folderName)
	if err := os.CopyFS(copied, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	n, err := Open(dir)
	if err != nil || n.Dim() != Cut || Installed(dir) != n.Metric() {
		t.Fatalf("%v, called %s, %v", n, Installed(dir), err)
	}
	change := func(name string, f func([]byte) []byte) {
		t.Helper()
		path := filepath.Join(copied, name)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Two input channels swapped: the same norm, another kernel.
	change("weights_mixed_5_conv.dat", func(b []byte) []byte {
		for i := 0; i < len(b); i += 8 {
			for j := range 4 {
				b[i+j], b[i+4+j] = b[i+4+j], b[i+j]
			}
		}
		return b
	})
	var mismatch *MismatchError
	if _, err := Open(dir); !errors.As(err, &mismatch) || mismatch.Parameter != "mixed_5/conv.weight" {
		t.Errorf("%v, want *MismatchError about mixed_5/conv.weight", err)
	}
	change("bias_conv.dat", func(b []byte) []byte { return b[:len(b)-1] })
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "bias_conv.dat: expected 128 bytes") {
		t.Errorf("%v, want an error about bias_conv.dat", err)
	}
	if err := os.Remove(filepath.Join(copied, "bias_conv.dat")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || errors.As(err, new(*NotFoundError)) {
		t.Errorf("%v, want an error about the missing file", err)
	}
}
