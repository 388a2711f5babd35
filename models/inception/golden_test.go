package inception

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/pkg/dataset"
)

// cutNetwork returns the network up to mixed_7, or skips the test.
func cutNetwork(t testing.TB) *Network {
	t.Helper()
	for _, folder := range dataset.Folders("") {
		n, err := openFolder(filepath.Join(folder, folderName))
		if err == nil {
			return n
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Skip("no weights of the network here: expected ", folderName, "/weights_*.dat in a data folder")
	return nil
}

func thorough() bool { return os.Getenv("MOLEHILL_THOROUGH") != "" }

// picture is what testdata/golden.py computes: waves of some lengths, and a
// block.
func picture(n, height, width, channels int) []float32 {
	var values []float32
	for i := range n {
		for y := range height {
			for x := range width {
				for c := range channels {
					v := (3*x*(i+1) + 5*y*(c+1) + x*y/4) % 256
					if y >= height/4 && y < height/2 && x >= width/4 && x < width/2 {
						v = 250
					}
					values = append(values, float32(v)/255)
				}
			}
		}
	}
	return values
}

// The features of PyTorch with the same weights, in double precision, its
// convolutions and its pools (testdata/golden.py).
func TestFeaturesAreThoseOfAnotherImplementation(t *testing.T) {
	var golden struct {
		Cases []struct {
			Images   [4]int
			Mean     []float64
			Channels map[string][]float64
		}
	}
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &golden); err != nil || len(golden.Cases) < 3 {
		t.Fatalf("%d cases, %v", len(golden.Cases), err)
	}
	for _, c := range golden.Cases {
		if len(c.Mean) != c.Images[0] || len(c.Channels) < 10 {
			t.Fatalf("%v: %d means, %d channels", c.Images, len(c.Mean), len(c.Channels))
		}
	}
	network := cutNetwork(t)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for i, c := range golden.Cases {
			if !thorough() && (i > 0 || b.Name == backend.Go) {
				continue
			}
			n, height, width, channels := c.Images[0], c.Images[1], c.Images[2], c.Images[3]
			features, err := network.Features(context.Background(), b, picture(n, height, width, channels), height, width, channels, nil)
			if err != nil {
				t.Fatal(err)
			}
			if features.Dim != Cut || features.Len() != n {
				t.Fatalf("%d features of %d images", features.Dim, features.Len())
			}
			var worst float64
			for i := range n {
				var sum float64
				for _, v := range features.Row(i) {
					sum += float64(v)
				}
				worst = max(worst, math.Abs(sum/Cut-c.Mean[i])/c.Mean[i])
				for name, want := range c.Channels {
					channel, err := strconv.Atoi(name)
					if err != nil {
						t.Fatal(err)
					}
					// Features are 0.06 on average; one thousandth of that counts
					// as much for the small ones.
					worst = max(worst, math.Abs(float64(features.Row(i)[channel])-want[i])/(want[i]+0.06))
				}
			}
			t.Logf("%v: largest relative difference %.1e", c.Images, worst)
			// Single precision through 40 layers.
			if !(worst < 1e-4) {
				t.Errorf("%v: features differ by %v", c.Images, worst)
			}
		}
	})
}
