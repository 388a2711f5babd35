package dpsinkhorn

import (
	"math"
	"strings"
	"testing"

	"molehill/models/semidebiased"
	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/sampling"
)

// config returns settings of a kind that a test changes.
func config(t *testing.T, name string, preset experiment.Preset) *Config {
	t.Helper()
	e, err := experiment.Registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return e.Config(preset).(*Config)
}

// The text's training (σ = 1.5, rate 1/1200, 160,000 steps) has a noise multiplier of
// 0.75 once the gradient is clipped as a whole, and is within its budget; clipped
// image by image it has 0.75/√50, and its statement says so beside what is claimed.
func TestThePapersTraining(t *testing.T) {
	whole := config(t, "dp-sinkhorn", experiment.Paper)
	plan, claims, err := whole.Plan(60_000, 50*784)
	if err != nil {
		t.Fatal(err)
	}
	if m := plan.NoiseMultiplier(); !(math.Abs(m-0.75) <= 1e-4) || plan.Steps != 160_000 || plan.Sampler != (sampling.Poisson{Rate: 1. / 1200}) {
		t.Errorf("multiplier %v, %d steps of %v", m, plan.Steps, plan.Sampler)
	}
	if len(claims) != 2 || claims[0].Epsilon != 10 || claims[0].Label != "as published" || !(math.Abs(float64(claims[1].Epsilon)-3.49) <= 0.01) {
		t.Errorf("claims %+v; want the published 10, and 3.49 by the code's accounting", claims)
	}
	proved, err := accountant.Tightest{}.Epsilon(plan.Event(), privacy.AddRemove, 1e-5)
	if err != nil || !(math.Abs(proved.Epsilon-3.18) <= 0.01) {
		t.Errorf("proved: %v, %v, want 3.18", proved.Epsilon, err)
	}

	whole.Batch = 500 // was never published
	if _, claims, err := whole.Plan(60_000, 50*784); err != nil || len(claims) != 1 {
		t.Errorf("another rate: claims %+v, %v", claims, err)
	}

	faces := config(t, "dp-sinkhorn", experiment.Paper)
	faces.Noise, faces.Steps, faces.Delta = 1.9, 1_700_000, 1e-6
	for _, n := range []int{162_770, 131_579} { // CelebA's, and those of the rate that is printed
		if _, claims, err := faces.Plan(n, 50*3*32*32); err != nil || len(claims) != 2 || claims[0].Label != "as published" || claims[0].Epsilon != 10 {
			t.Errorf("%d faces: claims %+v, %v", n, claims, err)
		}
	}

	each := config(t, "dp-sinkhorn-text", experiment.Paper)
	if plan, _, err = each.Plan(60_000, 50*784); err != nil {
		t.Fatal(err)
	}
	if m := plan.NoiseMultiplier(); !(math.Abs(m-0.75/math.Sqrt(50)) <= 1e-4) || plan.Steps != 160_000 {
		t.Errorf("image by image: multiplier %v, %d steps", m, plan.Steps)
	}
}

// A training with noise of its own ends before the step that would spend more than
// its budget, and not earlier.
func TestTheBudgetEndsTheTraining(t *testing.T) {
	c := config(t, "dp-sinkhorn", experiment.Paper)
	c.Epsilon = 2
	plan, _, err := c.Plan(60_000, 50*784)
	if err != nil {
		t.Fatal(err)
	}
	epsilon := func(steps int) float64 {
		r, err := accountant.Tightest{}.Epsilon(composed(1./1200, plan.NoiseMultiplier(), steps), privacy.AddRemove, c.Delta)
		if err != nil {
			t.Fatal(err)
		}
		return r.Epsilon
	}
	if plan.Steps >= 160_000 || !(epsilon(plan.Steps) <= 2 && epsilon(plan.Steps+1) > 2) {
		t.Errorf("%d steps: ε = %v, one more: %v", plan.Steps, epsilon(plan.Steps), epsilon(plan.Steps+1))
	}
	c.Noise = 0.2
	if _, _, err := c.Plan(60_000, 50*784); err == nil || !strings.Contains(err.Error(), "one step alone") {
		t.Errorf("a budget too small for a step: %v", err)
	}
	c.Noise = 0
	if plan, _, err = c.Plan(60_000, 50*784); err != nil || plan.Steps != c.Steps || !(plan.NoiseStd > 0) {
		t.Errorf("calibrated: %+v, %v", plan, err)
	}
	c.Batch = 60_001
	if _, _, err := c.Plan(60_000, 50*784); err == nil || !strings.Contains(err.Error(), "at most all") {
		t.Errorf("a batch larger than the data: %v", err)
	}
}

// Without a budget there is no noise, and no claim.
func TestNoBudgetNoNoise(t *testing.T) {
	c := config(t, "sinkhorn", experiment.Quick)
	plan, claims, err := c.Plan(1000, 10)
	if err != nil || plan.NoiseStd != 0 || claims != nil {
		t.Errorf("%+v, %v, %v", plan, claims, err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		experiment, name, value, want string
	}{
		{"dp-sinkhorn", "batch", "0", "batch is 0"},
		{"dp-sinkhorn-exact", "generated", "2001", "up to 2000 rows"},
		{"dp-sinkhorn", "bound", "0", "bound is 0"},
		{"dp-sinkhorn", "bound", "1e38", "at most 1e+09"},
		{"dp-sinkhorn", "generated", "1000000", "costs of all pairs"},
		{"dp-sinkhorn", "noise", "-1", "noise is -1"},
		{"dp-sinkhorn", "clipping", "none", `"whole" or "per-image"`},
		{"dp-sinkhorn", "space", "outer", `"pixels" or "latents"`},
		{"dp-sinkhorn", "perturbed", "labels", `"images" or "parameters"`},
		{"dp-sinkhorn", "schedule", "falling", `"constant" or "cosine"`},
		{"dp-sinkhorn", "optimizer", "lbfgs", "no optimiser"},
		{"dp-sinkhorn", "debiasing", "1.5", "from 0 to 1"},
		{"dp-sinkhorn", "entropy", "0", "entropy is 0"},
		{"dp-sinkhorn", "label", "Male", "leave it out"},
		{"dp-sinkhorn", "dataset", "celeba", "label is not set"},
		{"dp-sinkhorn", "samples", "10", "from 100 to"},
		{"dp-sinkhorn-text", "noise", "0", "paper's σ"},
		{"dp-sinkhorn-text", "perturbed", "parameters", "no images to clip"},
		{"sinkhorn", "epsilon", "3", "keeps no privacy"},
		{"sinkhorn", "noise", "1", "leave it 0"},
		{"sinkhorn-sketch", "space", "pixels", "set space=latents"},
		{"sinkhorn-sketch", "noise", "1.5", "makes one release"},
		{"dp-merf-images", "perturbed", "parameters", "makes one release"},
		{"dp-merf-images", "features", "10000000", "features; a step holds"},
		{"dp-sinkhorn-latent", "latent", "0", "latent is 0"},
		{"dp-sinkhorn-latent", "multiplicity", "4", "images that are moved"},
		{"dp-merf-images", "multiplicity", "4", "makes one release"},
		{"dp-sinkhorn", "multiplicity", "0", "multiplicity is 0"},
		{"dp-sinkhorn-latent", "label", "Male", "leave it out"},
		{"sinkhorn-sketch", "dataset", "celeba", "label is not set"},
		{"dp-merf-images", "features", "-1", "features is -1"},
		{"dp-sinkhorn", "start", "glyphs", "set both, or neither"},
		{"dp-sinkhorn", "start_steps", "-1", "at least 0"},
		{"dp-sinkhorn-latent", "unsquared", "true", "is no cost"},
	} {
		_, err := experiment.Request{Experiment: c.experiment, Settings: map[string]string{c.name: c.value, "dataset": pick(c.name, c.value)}}.Spec()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s=%s: %v; want it to say %q", c.experiment, c.name, c.value, err, c.want)
		}
	}
}

// pick is the data set of a test, glyphs, which need no files, unless it is tested.
func pick(name, value string) string {
	if name == "dataset" {
		return value
	}
	return "glyphs"
}

// λ comes down from the largest cost by a factor of 4 every ten iterations; fewer
// than that are refused before anything is paid.
func TestTooFewIterationsAreRefused(t *testing.T) {
	l := semidebiased.Loss{Absolute: 1, LabelScale: 15, Classes: 10, Entropy: 0.05, Iterations: 80}
	largest := l.Largest(2*28, 2*784)
	if want := 4*784. + 2*784 + 450 + 30; largest != want {
		t.Fatalf("largest cost %v, want %v", largest, want)
	}
	if err := l.CheckIterations(largest); err == nil || !strings.Contains(err.Error(), "at least 90") {
		t.Errorf("80 iterations: %v", err)
	}
	l.Iterations = 90
	if err := l.CheckIterations(largest); err != nil {
		t.Error(err)
	}
	// Costs that single precision cannot hold are refused, however many there are.
	for _, l := range []semidebiased.Loss{{LabelScale: 1e300}, {Absolute: 1e300}, {LabelScale: 1e8}} {
		l.Classes, l.Entropy, l.Iterations = 10, 0.05, 1_000_000
		largest := l.Largest(56, 1568)
		for _, err := range []error{l.CheckIterations(largest), l.CheckCosts(largest)} {
			if err == nil || !strings.Contains(err.Error(), "single precision") {
				t.Errorf("costs of up to %v: %v", largest, err)
			}
		}
	}
}
