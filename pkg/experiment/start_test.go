package experiment_test

import (
	"context"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

// loose is public, and no version fixes its rows.
type loose struct{}

func (loose) Describe() plugin.Info {
	return plugin.Info{Name: "loose", Version: "1", Summary: "rows of a test"}
}
func (loose) Public() bool { return true }
func (loose) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	return nil, nil
}

// What a network learns first is public, and stays what it is.
func TestAStartIsPublicAndFixed(t *testing.T) {
	dataset.Registry.Register(loose{})
	for _, c := range []struct {
		start string
		steps int
		want  string
	}{
		{"", 0, ""}, {"glyphs", 5, ""},
		{"", 5, "set both, or neither"}, {"glyphs", 0, "set both, or neither"}, {"glyphs", -1, "at least 0"},
		{"glyph", 5, "glyphs"}, {"mnist", 5, "not public by construction"}, {"loose", 5, "no version fixes"},
	} {
		if err := experiment.CheckStart(c.start, c.steps); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d steps on %q: %v; want it to say %q", c.steps, c.start, err, c.want)
		}
	}
}
