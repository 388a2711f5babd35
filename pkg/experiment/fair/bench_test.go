package fair

import (
	"testing"

	"molehill/models/backend"
	"molehill/pkg/experiment"
	"molehill/privacy/noise"
)

// A step of each task at the paper's settings.
func BenchmarkStep(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.Name, func(b *testing.B) {
			on, err := backend.Open()
			if err != nil {
				b.Fatal(err)
			}
			c := Experiment{k}.Config(experiment.Paper).(*Config)
			c.Steps = 1_000_000
			c.Epsilon = 1e6 // noise costs as much time whatever its size
			r, _, err := biased(c)
			if err != nil {
				b.Fatal(err)
			}
			t, err := newTraining(c, on, r, noise.Seeded(1), noise.Seeded(1))
			if err != nil {
				b.Fatal(err)
			}
			defer t.learner.Close()
			t.release = t.Releaser(noise.Seeded(1))
			step := 1
			if _, err := t.step(0); err != nil { // compiles
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := t.step(step); err != nil {
					b.Fatal(err)
				}
				step++
			}
		})
	}
}
