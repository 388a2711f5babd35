package swae

import (
	"math/rand/v2"
	"testing"

	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/privacy/noise"
)

// A step of the paper's training, 600 images, clipped by rows and by singular values; one
// without a prior; and one on public images, where nothing is clipped.
func BenchmarkStep(b *testing.B) {
	on, err := backend.Open()
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	images := &dataset.Dataset{Height: side, Width: side, Channels: 1, X: make([]float32, 2000*pixels)}
	for i := range images.X {
		images.X[i] = rng.Float32()
	}
	for _, name := range []string{"rows", "exact", "no prior", "public"} {
		b.Run(name, func(b *testing.B) {
			c := config(experiment.Paper)
			c.Exact, c.Steps, c.Published = name == "exact", max(5000, b.N+1), true
			if name == "no prior" {
				c.Alpha, c.Law, c.Latent = 0, 100, 8
			}
			t, err := newTraining(&c, &data{backend: on, private: images}, noise.Seeded(1))
			if err != nil {
				b.Fatal(err)
			}
			defer t.close()
			plan, _, err := c.plan(images.Len(), t.learner.Parameters())
			if err != nil {
				b.Fatal(err)
			}
			release := plan.Releaser(noise.Seeded(2))
			step := func(k int) error {
				_, err := t.learn(release, k)
				return err
			}
			if name == "public" {
				start := &pretraining{training: t, images: images}
				if start.trainer, err = newTrainer(t); err != nil {
					b.Fatal(err)
				}
				defer start.trainer.Close()
				if err := start.compile(c.model(0)); err != nil {
					b.Fatal(err)
				}
				step = start.learn
			}
			if err := step(0); err != nil { // compiles
				b.Fatal(err)
			}
			k := 1
			for b.Loop() {
				if err := step(k); err != nil {
					b.Fatal(err)
				}
				k++
			}
		})
	}
}
