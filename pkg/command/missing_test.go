package command

import (
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
)

// Who lacks the files of a data set is told of glyphs, where the same run can be of them.
func TestRunsWithoutFilesAreToldOfGlyphs(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv("MOLEHILL_DATA", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		request experiment.Request
		told    bool
	}{
		{experiment.Request{Experiment: "sketch-flow"}, true},
		{experiment.Request{Experiment: "dp-sinkhorn", Settings: map[string]string{"steps": "3"}}, true},
		{experiment.Request{Experiment: "fair-adult"}, false},
		{experiment.Request{Experiment: "dpswflow", Settings: map[string]string{"published": "true", "stack": "false", "directions": "31", "per_step": "25"}}, false}, // 003 has no noise for glyphs
	} {
		err := experiment.Compute(t.Context(), experimenttest.Acquired(t, c.request))
		if err == nil || !strings.Contains(err.Error(), "molehill data fetch") || strings.Contains(err.Error(), "--set dataset=glyphs") != c.told {
			t.Errorf("%s: %v; told of glyphs: want %v", c.request.Experiment, err, c.told)
		}
	}
}
