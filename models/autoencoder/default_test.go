package autoencoder_test

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/pkg/dataset"
)

// trainingImages loads the images that the shipped weights of a data set were
// trained on, and held-out ones.
func trainingImages(t *testing.T, name string, meta autoencoder.Meta) (train, test *dataset.Dataset) {
	t.Helper()
	options := dataset.Options{Seed: 1}
	if meta.Split == "" {
		options.N = meta.Images // generated
	}
	splits, err := dataset.Load(context.Background(), name, options)
	var missing *dataset.NotFoundError
	if errors.As(err, &missing) {
		t.Skipf("WITHOUT %s: %v", name, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	train = splits.Train
	if meta.Split != "" {
		partition := dataset.PublicPrivate(train.Len(), 1)
		if partition.Digest != meta.Split {
			t.Fatalf("the public half is not the one that the weights were trained on: digest %s, expected %s", partition.Digest, meta.Split)
		}
		train = train.Subset(partition.Public)
	}
	if train.Len() != meta.Images {
		t.Fatalf("%d training images, the weights were trained on %d", train.Len(), meta.Images)
	}
	return train.Pad(meta.Config.Side, meta.Config.Side), splits.Test
}

// Training again from the shipped metadata follows the shipped loss curve: its
// first steps on MNIST, and on the others if there is time.
func TestTrainingAgainFollowsTheShippedCurve(t *testing.T) {
	thorough := os.Getenv("MOLEHILL_THOROUGH") != ""
	for _, name := range autoencoder.Shipped() {
		t.Run(name, func(t *testing.T) {
			if name != "mnist" && !thorough {
				t.Skip("set MOLEHILL_THOROUGH=1: takes a minute")
			}
			shipped, err := autoencoder.Default(name)
			if err != nil {
				t.Fatal(err)
			}
			curve, err := autoencoder.Curve(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(curve) != shipped.Meta.Steps || !(math.Abs(curve[len(curve)-1].Loss-shipped.Meta.Loss) <= 1e-6) {
				t.Errorf("a curve of %d steps that ends at %v, expected %d and %v", len(curve), curve[len(curve)-1].Loss, shipped.Meta.Steps, shipped.Meta.Loss)
			}
			images, _ := trainingImages(t, name, shipped.Meta)
			backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
				// The weights were trained on XLA for the CPU, which goes on
				// like that. Other backends sum in another order, which Adam's
				// first steps amplify where a gradient is near 0; pure Go takes
				// two seconds a step.
				steps, tolerance := 5, 1e-4
				if b.Name == backend.Go {
					steps, tolerance = 3, 1e-3
				}
				a, err := autoencoder.New(shipped.Config, shipped.Meta.InitSeed)
				if err != nil {
					t.Fatal(err)
				}
				training, err := autoencoder.NewTraining(a, b, images.X, shipped.Meta.Training)
				if err != nil {
					t.Fatal(err)
				}
				defer training.Close()
				for _, want := range curve[:steps] {
					got, err := training.Step()
					if err != nil {
						t.Fatal(err)
					}
					if !(math.Abs(got.Loss/want.Loss-1) <= tolerance) {
						t.Errorf("step %d: loss %.6g, the shipped curve has %.6g", want.Step, got.Loss, want.Loss)
					}
				}
			})
		})
	}
}

// The shipped weights reconstruct held-out images better by far than the mean
// image does.
func TestDefaultReconstructs(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range autoencoder.Shipped() {
		t.Run(name, func(t *testing.T) {
			a, err := autoencoder.Default(name)
			if err != nil {
				t.Fatal(err)
			}
			splits, err := dataset.Load(context.Background(), name, dataset.Options{Seed: 1, N: 250})
			var missing *dataset.NotFoundError
			if errors.As(err, &missing) {
				t.Skipf("WITHOUT %s: %v", name, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			images := splits.Test.Pad(a.Config.Side, a.Config.Side).X[:100*a.Config.Dim()]
			latents, err := a.Encode(context.Background(), b, images)
			if err != nil {
				t.Fatal(err)
			}
			back, err := a.Decode(context.Background(), b, latents)
			if err != nil {
				t.Fatal(err)
			}
			mean := make([]float64, a.Config.Dim())
			for i, v := range images {
				mean[i%len(mean)] += float64(v) / 100
			}
			var wrong, spread float64
			for i, v := range images {
				wrong += math.Pow(float64(v-back[i]), 2)
				spread += math.Pow(float64(v)-mean[i%len(mean)], 2)
			}
			t.Logf("mean squared error %.4f on %d held-out images, variance %.4f", wrong/float64(len(images)), 100, spread/float64(len(images)))
			if !(wrong <= 0.4*spread) {
				t.Errorf("the reconstruction leaves %.0f %% of the variance", 100*wrong/spread)
			}
		})
	}
}

func TestDefaultNamesWhatShips(t *testing.T) {
	_, err := autoencoder.Default("teapots")
	if err == nil || !strings.Contains(err.Error(), "teapots") {
		t.Errorf("Default of an unknown data set: %v", err)
	}
	for _, name := range autoencoder.Shipped() {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}
