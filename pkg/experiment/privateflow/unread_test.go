package privateflow

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/privacy/noise"
	"molehill/transport"
)

// What an estimator says that it reads changes what it comes to, and nothing else of what
// is for some estimators only does.
func TestEstimatorsReadWhatTheySay(t *testing.T) {
	const n, dim = 300, 3
	public := noise.Seeded(5)
	rng := public.Stream("records", 0)
	points := transport.NewPoints(n, dim)
	for i := range points.Data {
		points.Data[i] = float32(rng.NormFloat64())
	}
	points.OnSphere()
	change := map[string]func(*Config){
		"batch":    func(c *Config) { c.Batch += 10 },
		"per_step": func(c *Config) { c.PerStep = 3 },
		"bins":     func(c *Config) { c.Bins++ },
		"degree":   func(c *Config) { c.Degree = 3 },
		"features": func(c *Config) { c.Features++ },
		"scale":    func(c *Config) { c.Scale++ },
	}
	for _, e := range Estimators.All() {
		reader, tells := as[Reader](e)
		if !tells {
			continue
		}
		drift := func(change func(*Config)) []float32 {
			t.Helper()
			c := e.Config(experiment.Quick)
			c.Directions, c.PerStep, c.Bins, c.Batch, c.Degree = 6, 6, 4, 50, 2
			records := Records{Points: points, Public: transport.Points{Dim: dim, Data: points.Data[:90*dim]}}
			if c.Classes > 0 {
				c.Classes = 2
				for i := range n {
					records.Labels = append(records.Labels, i%2)
				}
			}
			change(c)
			plan, _, err := e.Plan(c, n, dim, public)
			if err != nil {
				t.Fatalf("%s: %v", e.Describe().Name, err)
			}
			guide, err := e.Guide(c, records, plan.Releaser(noise.Seeded(1)), public)
			if err != nil {
				t.Fatalf("%s: %v", e.Describe().Name, err)
			}
			c.Particles, c.Steps = 10, 2
			x, _, err := Follow(t.Context(), c, guide, dim, public)
			if err != nil {
				t.Fatalf("%s: %v", e.Describe().Name, err)
			}
			return x.Data
		}
		usual := drift(func(*Config) {})
		for _, name := range slices.Sorted(maps.Keys(change)) {
			says, does := slices.Contains(reader.Reads(), name), !slices.Equal(usual, drift(change[name]))
			if says != does {
				t.Errorf("%s says that it reads %s: %v; it does: %v", e.Describe().Name, name, says, does)
			}
		}
	}
}

// A new run that changes what its estimator does not read is refused, by the name of the
// setting and of those that would read it.
func TestSettingsThatNothingReadsAreRefused(t *testing.T) {
	for _, c := range []struct{ experiment, set, to, want string }{
		{"harmonic-flow", "bins", "3", "sketch-flow"},
		{"sketch-flow", "batch", "77", "dpswflow-r"},
		{"sketch-flow", "degree", "3", "harmonic-flow"},
		{"sketch-flow", "learning_rate", "0.1", "sketch-generator"},
		{"sketch-flow", "bins", "24", ""},
		{"sketch-generator", "learning_rate", "0.1", ""},
		{"dp-merf", "scale", "0.9", ""},
		{"private-normal", "features", "10", "embedding-flow"},
	} {
		spec, err := experiment.Request{Experiment: c.experiment, Seed: 1, Research: true, Settings: map[string]string{"dataset": "glyphs", c.set: c.to}}.Spec()
		if err != nil {
			t.Fatal(err)
		}
		err = experiment.CheckUnread(spec)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.set) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %s=%s: %v; want %q in it", c.experiment, c.set, c.to, err, c.want)
		}
	}
}

// What comes from the run whose release is used again nobody has set.
func TestSettingsOfAReleaseAreNotRefused(t *testing.T) {
	for release, refused := range map[string]bool{"": true, "harmonic-flow-123456789abc": false} {
		c := Experiment{spherical{}}.Config(experiment.Quick).(*Config)
		c.Batch, c.Release = 100, release
		if err := c.CheckUnread(); (err != nil) != refused {
			t.Errorf("release %q: %v", release, err)
		}
	}
}
