package training

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Names are those of all settings.
func TestNamesAreAllSettings(t *testing.T) {
	text, err := json.Marshal(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(fields)), slices.Sorted(slices.Values(Names)); !slices.Equal(got, want) {
		t.Errorf("settings %v, names %v", got, want)
	}
}

// A step that would not fit into memory is refused before anything is paid for.
func TestSettingsBoundMemory(t *testing.T) {
	good := Settings{Batch: mostRows, Generated: mostRows, Debiasing: 0.4, Entropy: 1, Bound: 1, LearningRate: 1, Latent: 1, Width: widest}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Settings){
		"batch":     func(s *Settings) { s.Batch++ },
		"generated": func(s *Settings) { s.Generated++ },
		"width":     func(s *Settings) { s.Width++ },
		"latent":    func(s *Settings) { s.Latent = 100_000 },
	} {
		s := good
		change(&s)
		if err := s.Check(); err == nil || !strings.HasPrefix(err.Error(), name+" is ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
