package dpsinkhorn

import (
	"testing"

	"molehill/models/generator"
	"molehill/models/semidebiased"
	"molehill/pkg/experiment"
)

// of are the settings of a kind's preset beside --set name=….
func of(t *testing.T, name string, preset experiment.Preset, more ...string) *Config {
	t.Helper()
	for _, k := range kinds {
		if k.Name == name {
			c := Experiment{k}.Config(preset)
			if err := experiment.Apply(c, experiment.With(nil, more...)); err != nil {
				t.Fatal(err)
			}
			return c.(*Config)
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// 001 D.4: m, σ, the learning rate and the steps of the three data sets, and the cost and
// entropy of faces; of the public code the commands of its README.
func TestPresetsAreThePapersForEachDataSet(t *testing.T) {
	type set struct {
		absolute, entropy, noise, rate, delta, bound float64
		steps, batch, generated                      int
		architecture                                 string
	}
	for _, c := range []struct {
		kind, dataset string
		want          set
	}{
		{"dp-sinkhorn", "mnist", set{1, 0.05, 1.5, 1e-4, 1e-5, 0.5, 160_000, 50, 50, generator.DCGANText}},
		{"dp-sinkhorn", "fashion-mnist", set{3, 0.05, 1.9, 1e-5, 1e-5, 0.5, 280_000, 50, 50, generator.DCGANText}},
		{"dp-sinkhorn-text", "fashion-mnist", set{3, 0.05, 1.9, 1e-5, 1e-5, 0.5, 280_000, 50, 50, generator.DCGANText}},
		{"dp-sinkhorn", "celeba", set{0, 5, 1.9, 1e-5, 1e-6, 0.5, 1_700_000, 50, 50, generator.BigGAN}},
		{"dp-sinkhorn-code", "mnist", set{1, 0.05, 2.2, 1e-5, 1e-5, 0.5, 160_000, 50, 50, generator.DCGANCode}},
		{"dp-sinkhorn-code", "fashion-mnist", set{1, 0.05, 1.8, 1e-5, 1e-5, 0.5, 160_000, 50, 50, generator.DCGANCode}},
		{"dp-sinkhorn-code", "celeba", set{0, 25, 1.6, 1e-5, 1e-5, 0.1, 160_000, 200, 200, generator.BigGAN}},
		{"sinkhorn", "fashion-mnist", set{3, 0.05, 0, 1e-5, 1e-5, 0.5, 160_000, 500, 500, generator.DCGANText}},
		{"sinkhorn-sketch", "fashion-mnist", set{0, 0.02, 0, 1e-3, 1e-5, 0.05, 5000, 250, 250, generator.DCGANText}},
		{"sinkhorn-sketch", "celeba", set{0, 0.02, 0, 1e-3, 1e-6, 0.05, 5000, 250, 250, generator.DCGANText}},
		{"dp-merf-images", "fashion-mnist", set{1, 0.05, 0, 1e-3, 1e-5, 0.5, 5000, 50, 500, generator.DCGANCode}},
	} {
		s := of(t, c.kind, experiment.Paper, "dataset", c.dataset)
		if got := (set{s.Absolute, s.Entropy, s.Noise, s.LearningRate, s.Delta, s.Bound, s.Steps, s.Batch, s.Generated, s.Architecture}); got != c.want {
			t.Errorf("%s on %s: %+v, want %+v", c.kind, c.dataset, got, c.want)
		}
	}
	if c := of(t, "dp-sinkhorn-text", experiment.Paper, "dataset", "fashion-mnist", "noise", "1.1"); c.Noise != 1.1 || c.Clipping != semidebiased.PerImage || c.Absolute != 3 {
		t.Errorf("noise asked for: %v, %v, %v", c.Noise, c.Clipping, c.Absolute)
	}
	for _, c := range []*Config{of(t, "dp-sinkhorn", experiment.Quick, "dataset", "celeba", "label", "Male"), of(t, "sinkhorn-sketch", experiment.Paper, "dataset", "celeba", "label", "Male")} {
		if err := c.CheckUnread(); err != nil {
			t.Error(err)
		}
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
}
