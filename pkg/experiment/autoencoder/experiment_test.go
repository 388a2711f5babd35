package autoencoder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// A training that is interrupted and continued ends with the weights of one
// that was not, and leaves a file that can be loaded.
func TestInterruptedTrainingContinues(t *testing.T) {
	t.Setenv(compute.ConfigEnvVar, backend.Go) // compiles in no time; the autoencoder has tests on all backends
	request := experiment.Request{Experiment: "autoencoder", Seed: 2, Settings: map[string]string{
		"dataset": "few-glyphs", "epochs": "1", "batch": "30", "latent": "2"}} // two steps
	whole, interrupted := experimenttest.Acquired(t, request), experimenttest.Acquired(t, request)
	if err := experiment.Compute(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := experiment.Compute(ended, interrupted); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if err := interrupted.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := experiment.Compute(t.Context(), interrupted); err != nil {
		t.Fatal(err)
	}
	_, losses, err := whole.Curve("loss")
	if err != nil || len(losses) != 2 {
		t.Fatalf("losses %v, %v; want two", losses, err)
	}
	if _, again, err := interrupted.Curve("loss"); err != nil || !slices.Equal(again, losses) {
		t.Errorf("interrupted and continued: losses %v, %v; want %v", again, err, losses)
	}
	curve := fmt.Sprintf("step,loss\n1,%.7g\n2,%.7g\n", losses[0], losses[1])
	for _, r := range []*run.Run{whole, interrupted} {
		if got := string(experimenttest.Read(t, r, "loss.csv")); got != curve {
			t.Errorf("loss.csv is %q, want %q", got, curve)
		}
		// Four rows of eight originals, and as many reconstructions, of 32×32.
		picture, err := png.Decode(bytes.NewReader(experimenttest.Read(t, r, "reconstruction.png")))
		if err != nil || picture.Bounds().Dx() < 8*32 || picture.Bounds().Dy() < 8*32 {
			t.Errorf("reconstruction.png: %v", err)
		}
	}
	f, err := whole.Artefact("weights.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	model, err := autoencoder.Load(f)
	if err != nil || model.Config.Latent != 2 || model.Meta.Dataset != "few-glyphs" || model.Meta.Steps != 2 || model.Meta.Images != 60 {
		t.Errorf("loaded %+v, %v; want 2 steps on the public 60 of 120 images", model.Meta, err)
	}
	if want := dataset.PublicPrivate(120, experiment.SplitSeed).Digest; model.Meta.Split != want {
		t.Errorf("trained on the split %s, want %s", model.Meta.Split, want)
	}
	experimenttest.NamesSplit(t, whole, 120)
}

// A data set brings its architecture, its width and its length of training, and
// what is set wins.
func TestSettingsComeFromTheDataSet(t *testing.T) {
	if _, err := dataset.Load(t.Context(), "celeba", dataset.Options{N: 1}); err != nil {
		t.Skip("goes without CelebA: ", err)
	}
	for _, c := range []struct {
		preset   experiment.Preset
		settings map[string]string
		want     string // architecture, side, width, latent, epochs, batch
	}{
		{experiment.Quick, nil, "conv 32 32 8 1 250"},
		{experiment.Paper, map[string]string{"dataset": "fashion-mnist"}, "conv 32 32 8 20 250"},
		{experiment.Quick, map[string]string{"dataset": "celeba"}, "dcgan 64 16 48 5 50"},
		{experiment.Paper, map[string]string{"dataset": "celeba", "latent": "24", "width": "8"}, "dcgan 64 8 24 20 250"},
		{experiment.Quick, map[string]string{"architecture": "dcgan", "side": "32"}, "dcgan 32 64 8 1 250"},
		{experiment.Quick, map[string]string{"dataset": "celeba", "architecture": "conv", "side": "64"}, "conv 64 32 48 5 50"},
	} {
		spec, err := experiment.Request{Experiment: "autoencoder", Preset: c.preset, Settings: c.settings}.Spec()
		if err != nil {
			t.Fatal(err)
		}
		var got Config
		if err := json.Unmarshal(spec.Config, &got); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s %d %d %d %d %d", got.Architecture, got.Side, got.Width, got.Latent, got.Epochs, got.Batch)
		if text != c.want {
			t.Errorf("%s %v: %s, want %s", c.preset, c.settings, text, c.want)
		}
		if (got.Inputs != "") != (got.Dataset == "celeba") {
			t.Errorf("inputs of %s: %q", got.Dataset, got.Inputs)
		}
	}
	for want, settings := range map[string]map[string]string{
		`is called "vae"`: {"architecture": "vae"},
		"multiples of 16": {"architecture": "dcgan", "side": "40"},
		"epochs -1":       {"epochs": "-1"},
	} {
		if _, err := (experiment.Request{Experiment: "autoencoder", Settings: settings}).Spec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want it to say %q", settings, err, want)
		}
	}
}

// Pictures of real people come with their terms, wherever they are shown.
func TestRestrictionsAreSaid(t *testing.T) {
	t.Setenv(compute.ConfigEnvVar, backend.Go)
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "autoencoder", Settings: map[string]string{
		"dataset": "portraits", "architecture": "dcgan", "side": "16", "width": "2", "latent": "3", "epochs": "1", "batch": "4"}})
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	result, err := r.Result()
	if err != nil || !strings.Contains(result.Note, "nobody may see them; that goes for reconstruction.png") {
		t.Errorf("%q, %v", result.Note, err)
	}
	if loss := result.Metrics["held-out loss"]; !(loss > 0 && loss < 1) {
		t.Errorf("a held-out loss of %v", loss)
	}
	small := experimenttest.Acquired(t, experiment.Request{Experiment: "autoencoder", Settings: map[string]string{
		"dataset": "portraits", "side": "8", "width": "2", "batch": "4"}})
	if err := experiment.Compute(t.Context(), small); err == nil || !strings.Contains(err.Error(), "--set side=16") {
		t.Errorf("images larger than the network's: %v", err)
	}
}

// portraits is a data set of colour images with terms.
type portraits struct{}

func (portraits) Describe() plugin.Info { return plugin.Info{Name: "portraits", Version: "1"} }
func (portraits) Public() bool          { return false }
func (portraits) Restriction() string   { return "nobody may see them" }
func (portraits) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	plain := func(n, of int) *dataset.Dataset {
		d := &dataset.Dataset{Name: "portraits", Origin: "the test", Height: 16, Width: 16, Channels: 3}
		for i := range n * d.Dim() {
			d.X = append(d.X, float32(i%of)/float32(of))
		}
		return d
	}
	return &dataset.Splits{Train: plain(16, 7), Test: plain(3, 11)}, nil
}

func init() {
	dataset.Registry.Register(portraits{})
	dataset.Register("few-glyphs", "120 glyphs, taken to be private", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		return dataset.Load(ctx, "glyphs", dataset.Options{Seed: o.Seed, N: 120})
	})
}

// What the weights say that they learned from is what they did.
func TestRowsThatHaveChangedAreRefused(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	level := float32(0.25)
	dataset.Register("shifting", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		of := func(level float32) *dataset.Dataset {
			d := &dataset.Dataset{Name: "shifting", Origin: "the test", Height: 4, Width: 4, Channels: 1, X: make([]float32, 20*16)}
			for i := range d.X {
				d.X[i] = level
			}
			return d
		}
		return &dataset.Splits{Train: of(level), Test: of(1)}, nil
	})
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "autoencoder", Settings: map[string]string{"dataset": "shifting"}})
	level = 0.5
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "have changed since") {
		t.Errorf("other rows: %v", err)
	}
}

// A training sees the public half of rows that are somebody's, each padded, and no other.
func TestOnlyThePublicHalfIsSeen(t *testing.T) {
	const n, side = 120, 32
	splits, err := dataset.Load(t.Context(), "few-glyphs", dataset.Options{Seed: experiment.SplitSeed})
	if err != nil {
		t.Fatal(err)
	}
	r := experimenttest.Prepared(t, experiment.Request{Experiment: "autoencoder", Settings: map[string]string{"dataset": "few-glyphs"}})
	seen, err := load(t.Context(), r, &Config{Dataset: "few-glyphs", Side: side})
	if err != nil {
		t.Fatal(err)
	}
	partition := dataset.PublicPrivate(n, experiment.SplitSeed)
	if want := splits.Train.Subset(partition.Public).Pad(side, side); !slices.Equal(seen.public.X, want.X) || seen.split.Digest != partition.Digest {
		t.Errorf("%d images are seen, of split %s, and not the public half", seen.public.Len(), seen.split)
	}
	private := splits.Train.Subset(partition.Private).Pad(side, side)
	for i := range private.Len() {
		for k := range seen.public.Len() {
			if slices.Equal(private.Row(i), seen.public.Row(k)) {
				t.Fatalf("private image %d is seen", partition.Private[i])
			}
		}
	}
}
