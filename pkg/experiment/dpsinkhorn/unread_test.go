package dpsinkhorn

import (
	"strings"
	"testing"

	"molehill/pkg/experiment"
)

// A new run that changes what its kind does not read is refused, by the name of the setting
// and of those that would read it; what it reads in the space that was chosen, or on the
// public rows that it starts with, is not.
func TestSettingsThatNothingReadsAreRefused(t *testing.T) {
	for _, c := range []struct {
		experiment string
		preset     experiment.Preset
		settings   map[string]string
		want       []string // nil where all is read
	}{
		{"sinkhorn-sketch", "", map[string]string{"bound": "3"}, []string{"bound", "dp-sinkhorn-latent"}},
		{"sinkhorn-sketch", "", map[string]string{"width": "-5"}, []string{"width", "dp-sinkhorn"}},
		{"sinkhorn-sketch", "", map[string]string{"architecture": "no such thing"}, []string{"architecture"}},
		{"sinkhorn-sketch", "", map[string]string{"batch": "50"}, nil},
		{"sinkhorn-sketch", experiment.Paper, nil, nil},
		{"sinkhorn-sketch", experiment.Paper, map[string]string{"features": "77"}, []string{"features", "dp-merf-images"}},
		{"dp-sinkhorn", "", map[string]string{"scale": "3"}, []string{"scale", "dp-merf-images"}},
		{"dp-sinkhorn", "", map[string]string{"weights": "/no/such/file"}, []string{"weights", "sinkhorn-sketch"}},
		{"dp-sinkhorn", "", map[string]string{"width": "24", "bound": "0.4"}, nil},
		{"dp-sinkhorn", "", map[string]string{"space": Latents, "width": "24"}, []string{"width"}},
		{"dp-sinkhorn", experiment.Paper, nil, nil},
		{"dp-sinkhorn-exact", "", map[string]string{"iterations": "300"}, []string{"iterations"}},
		{"dp-sinkhorn-exact", "", map[string]string{"iterations": "300", "start": "glyphs", "start_steps": "10"}, nil},
		{"dp-merf-images", "", map[string]string{"entropy": "0.1"}, []string{"entropy", "dp-sinkhorn"}},
		{"dp-merf-images", "", map[string]string{"entropy": "0.1", "start": "glyphs", "start_steps": "10"}, nil},
		{"dp-merf-images", "", map[string]string{"features": "300"}, nil},
		{"sinkhorn", "", map[string]string{"bound": "3"}, []string{"bound"}},
	} {
		settings := map[string]string{"dataset": "glyphs"}
		for name, value := range c.settings {
			settings[name] = value
		}
		spec, err := experiment.Request{Experiment: c.experiment, Preset: c.preset, Seed: 1, Research: true, Settings: settings}.Spec()
		if err != nil {
			t.Fatalf("%s %v: %v", c.experiment, c.settings, err)
		}
		err = experiment.CheckUnread(spec)
		if c.want == nil && err != nil {
			t.Errorf("%s %v: %v", c.experiment, c.settings, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %v: %v; want %q in it", c.experiment, c.settings, err, want)
			}
		}
	}
}
