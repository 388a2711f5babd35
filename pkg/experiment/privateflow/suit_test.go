package privateflow

import (
	"slices"
	"testing"

	"molehill/pkg/experiment"
)

// suited are the settings of a preset beside --set dataset=….
func suited(t *testing.T, e Estimator, preset experiment.Preset, more ...string) *Config {
	t.Helper()
	c := Experiment{e}.Config(preset).(*Config)
	if err := experiment.Apply(c, experiment.With(nil, more...)); err != nil {
		t.Fatal(err)
	}
	return c
}

func reads(e Estimator) []string {
	r, _ := as[Reader](e)
	return r.Reads()
}

// Directions of faces stack into bases of 48 dimensions.
func TestFacesHaveWholeBases(t *testing.T) {
	for _, e := range []Estimator{open{}, resampled{}, presampled{}, sketched{}, spherical{}, informed{}, normal{}, classes{}, dpswgen, once21, harmonicGenerator, sketchGenerator, classesGenerator} {
		c := suited(t, e, experiment.Paper, "dataset", "celeba")
		if perStep := slices.Contains(reads(e), "per_step"); c.Stack && (c.Directions%48 != 0 || perStep && c.PerStep%48 != 0) {
			t.Errorf("%s: %d directions, %d a step", e.Describe().Name, c.Directions, c.PerStep)
		}
	}
}

// Of CelebA the papers' methods have the paper's settings, 000 D and 30 epochs of ⌈81,385/250⌉
// batches, and those of MNIST stay where it has no others.
func TestPresetsFollowTheDataSet(t *testing.T) {
	for _, want := range []struct {
		e                         Estimator
		delta                     float64
		directions, perStep, step int
		size                      float64
	}{
		{resampled{}, 1e-6, 288, 72, 9780, 5},
		{dpswgen, 1e-6, 288, 72, 9780, 5},
		{presampled{}, 1e-6, 240, 192, 2000, 5},
		{once21, 1e-6, 240, 192, 2000, 5}, // steps of a generator to a release
		{open{}, 1e-6, 288, 72, 400, 5},
		{spherical{}, 1e-6, 144, 72, 400, 36},
		{informed{}, 1e-6, 144, 72, 400, 36},
		{harmonicGenerator, 1e-6, 144, 72, 2000, 6},
		{embedded{}, 1e-6, 72, 72, 150, 1},
	} {
		c := suited(t, want.e, experiment.Paper, "dataset", "celeba")
		got, name := want, want.e.Describe().Name
		got.delta, got.directions, got.perStep, got.step, got.size = c.Delta, c.Directions, c.PerStep, c.Steps, c.StepSize
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		quick := suited(t, want.e, experiment.Quick, "dataset", "celeba")
		if own := want.e.Config(experiment.Quick); quick.Steps != own.Steps || quick.Delta != 1e-6 {
			t.Errorf("%s: %d quick steps at δ = %v", name, quick.Steps, quick.Delta)
		}
		if c := suited(t, want.e, experiment.Paper, "dataset", "fashion-mnist"); c.Delta != 1e-5 || c.Directions != want.e.Config(experiment.Paper).Directions {
			t.Errorf("%s: Fashion-MNIST has δ = %v and %d directions", name, c.Delta, c.Directions)
		}
	}
}

// What was asked for stays, and what the data set brings counts as nothing that was asked.
func TestWhatFollowsTheDataSetIsNotAsked(t *testing.T) {
	c := suited(t, resampled{}, experiment.Paper, "dataset", "celeba", "directions", "48", "step_size", "2")
	if c.Directions != 48 || c.StepSize != 2 || c.Steps != 9780 {
		t.Errorf("%d directions, steps of %v, %d of them", c.Directions, c.StepSize, c.Steps)
	}
	if err := suited(t, dpswgen, experiment.Paper, "dataset", "celeba").CheckUnread(); err != nil {
		t.Error(err)
	}
	if err := suited(t, dpswgen, experiment.Paper, "dataset", "celeba", "per_step", "48").CheckUnread(); err == nil {
		t.Error("directions of a step that nobody reads were taken")
	}
}

// Who takes up a release of faces has what is for faces, but for what was set.
func TestWhoTakesUpAReleaseTakesItsDataSetsSettings(t *testing.T) {
	of := suited(t, spherical{}, experiment.Quick, "dataset", "celeba", "epsilon", "3")
	c := suited(t, spherical{}, experiment.Quick, "steps", "7")
	if err := c.take(of); err != nil || c.Dataset != "celeba" || c.StepSize != 36 || c.Delta != 1e-6 || c.Steps != 7 || c.Epsilon != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if c := suited(t, spherical{}, experiment.Quick, "step_size", "2"); c.take(of) != nil || c.StepSize != 2 {
		t.Errorf("a step size that was set is %v", c.StepSize)
	}
	if c := suited(t, spherical{}, experiment.Quick, "dataset", "fashion-mnist"); c.take(of) == nil {
		t.Error("a release of another data set was taken up")
	}
}
