package experiment_test

import (
	"math"
	"strings"
	"testing"

	"molehill/pkg/experiment"
)

func TestSettingsAreWithin(t *testing.T) {
	for value, good := range map[int]bool{1: true, 3: true, 0: false, 4: false} {
		if err := experiment.Within("steps", value, 1, 3); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "it is from 1 to 3") {
			t.Errorf("%d: %v", value, err)
		}
	}
	for value, good := range map[float64]bool{0: true, 0.5: true, 1: true, 1.5: false, math.Inf(-1): false, math.NaN(): false} {
		if err := experiment.Within("alpha", value, 0, 1); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "it is from 0 to 1") {
			t.Errorf("%v: %v", value, err)
		}
	}
	if err := experiment.OneOf("space", "pixel", "pixels", "latents"); err == nil || err.Error() != `space is "pixel"; it is "pixels" or "latents"` {
		t.Error(err)
	}
	if err := experiment.OneOf("space", "latents", "pixels", "latents"); err != nil {
		t.Error(err)
	}
	for value, good := range map[float64]bool{1e-300: true, 1e6: true, 0: false, -1: false, 1e7: false, 1e300: false, math.NaN(): false, math.Inf(1): false} {
		if err := experiment.Positive("rate", value, experiment.Fastest); (err == nil) != good || err != nil && !strings.HasSuffix(err.Error(), "; it is above 0 and at most 1e+06") {
			t.Errorf("%v: %v", value, err)
		}
	}
}
