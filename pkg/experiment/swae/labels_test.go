package swae

import (
	"math"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/metric"
	"molehill/privacy/noise"
)

// Interpolations go from each end to each later one, both included.
func TestInterpolations(t *testing.T) {
	all := interpolate([][]float32{{0, 0}, {9, 0}, {0, 18}}, 2)
	if len(all) != 3*between*2 {
		t.Fatalf("%d numbers of 3 pairs", len(all))
	}
	for at, want := range map[int][2]float32{0: {0, 0}, 1: {1, 0}, 9: {9, 0}, 10: {0, 0}, 19: {0, 18}, 20: {9, 0}, 23: {6, 6}, 29: {0, 18}} {
		for k, v := range want {
			if got := all[2*at+k]; !(math.Abs(float64(got-v)) <= 1e-5) {
				t.Errorf("image %d: %v, want %v", at, all[2*at:2*at+2], want)
			}
		}
	}
}

// The classifier of codes learns which class is where, through the same releases.
func TestLabelsAreLearned(t *testing.T) {
	c := config(experiment.Quick)
	c.Latent, c.Batch, c.Steps, c.Labels, c.Epsilon = 3, 100, 1, 40, 10
	// Ten images, one a class, so that codes tell classes apart before any training.
	d := &data{backend: goBackend(t), private: &dataset.Dataset{Height: side, Width: side, Channels: 1, Classes: make([]string, 10)}}
	for i := range 1000 {
		x := make([]float32, pixels)
		for k := range 78 {
			x[78*(i%10)+k] = 1
		}
		d.private.X, d.private.Labels = append(d.private.X, x...), append(d.private.Labels, i%10)
	}
	tr := untrained(t, &c, d)
	spread(t, tr, 4)
	plan, _, err := c.plan(1000, tr.learner.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.prepare(plan); err != nil {
		t.Fatal(err)
	}
	if err := tr.labels.learn(tr, plan.Releaser(noise.Seeded(3)), func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	codes, err := tr.learner.Inner(d.private.X[:10*pixels])
	if err != nil {
		t.Fatal(err)
	}
	found, err := tr.label(codes)
	if err != nil {
		t.Fatal(err)
	}
	if share := metric.Agreement(found, d.private.Labels[:10]).Value; !(share >= 0.8) { // guessing has 0.1
		t.Errorf("labels %v: %v are right", found, share)
	}
}

// With thousands of classes gradients of the classifier are larger than the autoencoder's,
// and what was promised covers them too.
func TestThousandsOfClassesAreCovered(t *testing.T) {
	c := config(experiment.Quick)
	c.Latent, c.Batch, c.Steps, c.Labels, c.Epsilon = 3, 20, 1, 1, 10
	d := &data{backend: goBackend(t), private: &dataset.Dataset{Height: side, Width: side, Channels: 1, Classes: make([]string, 5000),
		X: make([]float32, 100*pixels), Labels: make([]int, 100)}}
	tr := untrained(t, &c, d)
	if got, want := tr.coordinates(), (3+1)*hidden+(hidden+1)*5000; got != want || got <= tr.learner.Parameters() {
		t.Errorf("%d numbers are planned for, want the classifier's %d", got, want)
	}
	d.private.Classes = make([]string, 10)
	if got := tr.coordinates(); got != tr.learner.Parameters() {
		t.Errorf("%d numbers are planned for, want the autoencoder's %d", got, tr.learner.Parameters())
	}
}

// spread gives a training an encoder whose codes are apart, for want of steps, by
// scaling its first weights: with √6 times these no layer with ReLU makes values
// smaller, with more they grow.
func spread(t *testing.T, tr *training, scale float32) {
	t.Helper()
	params, err := tr.learner.Params()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		for i := range p.Value {
			p.Value[i] *= scale
		}
	}
	if err := tr.set(params); err != nil {
		t.Fatal(err)
	}
}
