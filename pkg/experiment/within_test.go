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
	for _, value := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if err := experiment.Positive("rate", value); err == nil || !strings.Contains(err.Error(), "rate is") {
			t.Errorf("%v: %v", value, err)
		}
	}
	if err := experiment.Positive("rate", 1e-300); err != nil {
		t.Error(err)
	}
}
