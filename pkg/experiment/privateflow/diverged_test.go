package privateflow_test

import (
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
)

// A generator that diverges says so, and not that a record is to be dropped.
func TestGeneratorsThatDiverge(t *testing.T) {
	for _, name := range []string{"dpswgen", "harmonic-generator"} {
		experimenttest.Diverges(t, experiment.Request{Experiment: name, Research: true, Settings: map[string]string{
			"dataset": "tiles", "weights": "corners", "batch": "100", "learning_rate": "1e6", "steps": "6"}})
	}
}
