package utility

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
	"molehill/pkg/dataset"
)

// bars are n images of 8×8 pixels in k classes: noise, and a bright line whose
// row tells the class.
func bars(n, k int, seed uint64) *dataset.Dataset {
	rng := rand.New(rand.NewPCG(seed, 5))
	d := &dataset.Dataset{Name: "bars", Origin: "a test", Height: 8, Width: 8, Channels: 1, Classes: make([]string, k)}
	for range n {
		label := rng.IntN(k)
		d.Labels = append(d.Labels, label)
		for y := range 8 {
			for range 8 {
				v := float32(rng.Float64()) / 4
				if y == 2*label {
					v += 0.75
				}
				d.X = append(d.X, v)
			}
		}
	}
	return d
}

// quick is a training for tests.
func quick(b *backend.Backend) Training {
	return Training{Rate: 0.01, Batch: 20, Holdout: 0.1, Patience: 3, Epochs: 12, Backend: b}
}

func networks(b *backend.Backend) map[string]Classifier {
	return map[string]Classifier{
		"mlp": MLP{Hidden: 16, Training: quick(b)},
		"cnn": CNN{Filters: [2]int{4, 8}, Dropout: 0.2, Training: quick(b)},
	}
}

// Networks learn what can be told apart, give the same losses for the same
// seed and others for another, and stop after the patience with the parameters of
// the best epoch.
func TestNetworksLearn(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		train, test := bars(240, 4, 1), bars(700, 4, 2) // more rows than are labelled at a time
		for name, c := range networks(b) {
			var losses [3][]float64
			seeds := []uint64{1, 1, 2}
			if b.Name == backend.XLA && os.Getenv("MOLEHILL_THOROUGH") == "" {
				seeds = seeds[:1] // it compiles for seconds
			}
			for i, seed := range seeds {
				var told []Progress
				fitted, err := c.Fit(context.Background(), train, seed, func(p Progress) { told = append(told, p) })
				if err != nil {
					t.Fatal(err)
				}
				m := fitted.(*NetworkModel)
				best := Progress{}
				for e, p := range told {
					losses[i] = append(losses[i], p.Loss)
					if p.Holdout > best.Holdout {
						best = p
					}
					if p.Step != e+1 || p.Limit != 12 || p.BestHoldout != best.Holdout {
						t.Errorf("%s: told %+v in epoch %d, best %+v", name, p, e+1, best)
					}
				}
				if last := len(told); m.Epochs != last || last != min(12, best.Step+3) || m.Epoch != best.Step || m.Holdout != best.Holdout {
					t.Errorf("%s: %d epochs, the best %d with %v; told of %+v", name, m.Epochs, m.Epoch, m.Holdout, told)
				}
				if i > 0 {
					continue
				}
				if held := m.Holdout * 24; !(math.Abs(held-math.Round(held)) <= 1e-9) {
					t.Errorf("%s: accuracy %v is not of 24 rows held out", name, m.Holdout)
				}
				a, err := Accuracy(m, test)
				if err != nil || !(a.Value >= 0.99) {
					t.Errorf("%s: accuracy %v (%v) on lines that do not overlap; held out %v", name, a, err, m.Holdout)
				}
				wide := *test
				wide.Height, wide.Width = 4, 16
				if _, err := m.Predict(&wide); err == nil || !strings.Contains(err.Error(), "4×16×1") {
					t.Errorf("%s: images of another layout: %v", name, err)
				}
			}
			if len(seeds) == 1 {
				continue
			}
			if !slices.Equal(losses[0], losses[1]) {
				t.Errorf("%s: losses %v and %v of the same seed", name, losses[0], losses[1])
			}
			if losses[0][0] == losses[2][0] {
				t.Errorf("%s: loss %v of two seeds", name, losses[0][0])
			}
		}
	})
}

// goldenNetworks holds what testdata/golden_networks.py has PyTorch learn.
//
//go:embed testdata/golden_networks.json
var goldenNetworks []byte

// On the first images of MNIST the networks are as good as PyTorch's, the CNN after a few epochs.
func TestNetworksOnMNIST(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("set MOLEHILL_THOROUGH=1: takes half a minute")
	}
	var g struct {
		N         int
		MLP, CNN  []float64
		CNNEpochs int `json:"cnn_epochs"`
	}
	if err := json.Unmarshal(goldenNetworks, &g); err != nil {
		t.Fatal(err)
	}
	train, test := mnist(t, g.N)
	short := DefaultCNN
	short.Training.Epochs = g.CNNEpochs
	for _, c := range []struct {
		name    string
		network Classifier
		golden  []float64
	}{{"mlp", DefaultMLP, g.MLP}, {"cnn", short, g.CNN}} {
		started := time.Now()
		m, err := c.network.Fit(context.Background(), train, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Accuracy(m, test)
		if err != nil {
			t.Fatal(err)
		}
		n := m.(*NetworkModel)
		t.Logf("%s: %.4f after %d of %d epochs, %v; PyTorch's %.4f", c.name, a.Value, n.Epoch, n.Epochs, time.Since(started), c.golden)
		// Seeds differ by up to one per cent, by the epoch that is the best.
		if least, most := slices.Min(c.golden)-0.005, slices.Max(c.golden)+0.01; !(a.Value >= least && a.Value <= most) {
			t.Errorf("%s: accuracy %.4f, want between %.4f and %.4f", c.name, a.Value, least, most)
		}
	}
}

// goBackend is the Go backend, which compiles in no time.
func goBackend(t *testing.T) *backend.Backend {
	t.Helper()
	for _, c := range backend.Found() {
		if c.Name == backend.Go {
			b, err := c.Open()
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatal("no Go backend")
	return nil
}

func TestNetworksStop(t *testing.T) {
	b := goBackend(t)
	ctx, cancel := context.WithCancel(context.Background())
	m, err := MLP{Hidden: 4, Training: quick(b)}.Fit(ctx, bars(60, 3, 3), 1, func(Progress) { cancel() })
	if !errors.Is(err, context.Canceled) || m != nil {
		t.Errorf("%v and error %v of a context that ended", m, err)
	}
	huge := bars(60, 3, 4)
	for i := range huge.X {
		huge.X[i] = 3e38 // some of 100 sums of 64 of them overflow
	}
	if m, err := (MLP{Hidden: 100, Training: quick(b)}).Fit(context.Background(), huge, 1, nil); err == nil || m != nil || !strings.Contains(err.Error(), "scale") {
		t.Errorf("rows of 3e38: %v", err)
	}
}

// Labels that have nothing to do with the rows teach nothing; see
// TestShuffledLabelsGiveChance. Standard deviation √(3/16/700) = 0.016.
func TestNetworksFindNothingInNoise(t *testing.T) {
	b := goBackend(t)
	train, test := bars(240, 4, 5), bars(700, 4, 6)
	rand.New(rand.NewPCG(7, 5)).Shuffle(240, func(i, j int) { train.Labels[i], train.Labels[j] = train.Labels[j], train.Labels[i] })
	rand.New(rand.NewPCG(8, 5)).Shuffle(700, func(i, j int) { test.Labels[i], test.Labels[j] = test.Labels[j], test.Labels[i] })
	m, err := MLP{Hidden: 16, Training: quick(b)}.Fit(context.Background(), train, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := Accuracy(m, test); err != nil || !(math.Abs(a.Value-0.25) <= 5*0.016) {
		t.Errorf("accuracy %v (%v), want 0.25", a, err)
	}
}

// What a network has learned is of the epoch that was the best on the rows held out, and
// not of the last: a training that ends with that epoch gives the same labels. What is
// learned of labels that have nothing to do with the rows changes with every epoch.
func TestNetworksKeepTheBestEpoch(t *testing.T) {
	train, test := bars(240, 4, 5), bars(700, 4, 6)
	rand.New(rand.NewPCG(7, 5)).Shuffle(240, func(i, j int) { train.Labels[i], train.Labels[j] = train.Labels[j], train.Labels[i] })
	labels := func(epochs int) (*NetworkModel, []int) {
		c := MLP{Hidden: 16, Training: quick(goBackend(t))}
		c.Training.Epochs = epochs
		fitted, err := c.Fit(context.Background(), train, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := fitted.Predict(test)
		if err != nil {
			t.Fatal(err)
		}
		return fitted.(*NetworkModel), found
	}
	m, whole := labels(100) // patience ends it
	if m.Epoch == m.Epochs {
		t.Fatalf("epoch %d of %d is the best, and the last", m.Epoch, m.Epochs)
	}
	if short, ended := labels(m.Epoch); short.Epoch != m.Epoch || !slices.Equal(ended, whole) {
		t.Errorf("the labels are others than those of a training of %d epochs, of which %d is the best", m.Epoch, short.Epoch)
	}
}

// Parameters of the networks for MNIST, by hand: 784·100 + 100 + 100·10 + 10, and
// 9·32 + 32 + 9·32·64 + 64 + 7·7·64·10 + 10.
func TestNetworksHaveTheirSizes(t *testing.T) {
	mnist := &dataset.Dataset{Height: 28, Width: 28, Channels: 1, Classes: make([]string, 10)}
	for want, l := range map[int]layer.Layer{79510: DefaultMLP.network(mnist), 50186: DefaultCNN.network(mnist, 1)} {
		size := 0
		for _, s := range l.Params() {
			if !s.Tracked {
				size += s.Size()
			}
		}
		if size != want {
			t.Errorf("%d parameters, want %d", size, want)
		}
	}
}

func BenchmarkMLP(b *testing.B) { benchmark(b, DefaultMLP) }
func BenchmarkCNN(b *testing.B) { benchmark(b, DefaultCNN) }

// benchmark measures an epoch of MNIST's layout, with what comes before it.
func benchmark(b *testing.B, c Classifier) {
	d := normals(1000, 784, 10, 3, 1)
	d.Height, d.Width = 28, 28
	for b.Loop() {
		var err error
		switch c := c.(type) {
		case MLP:
			c.Training.Epochs = 1
			_, err = c.Fit(context.Background(), d, 1, nil)
		case CNN:
			c.Training.Epochs = 1
			_, err = c.Fit(context.Background(), d, 1, nil)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
