package synth

import (
	"embed"
	"maps"

	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/plugin"
	"molehill/privacy"
)

// Terms are the settings that every synthetic release has: of which data it is, what it
// promises, and by which method.
type Terms struct {
	Files
	Inputs  string          `json:"inputs"`  // what tells the content of both from others; see Pin
	Epsilon privacy.Epsilon `json:"epsilon"` // ε to be proved; inf for none
	Delta   float64         `json:"delta"`   // δ, below 1/n
	Method  string          `json:"method"`  // one of Methods
}

// Budget is what is to be proved.
func (t *Terms) Budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(t.Epsilon), Delta: t.Delta}
}

// Once is the plan of a single release of all of n records, of so many numbers.
func (t *Terms) Once(s privacy.Sensitivity, n, size int) (privacy.Plan, error) {
	return privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: n, Steps: 1, Budget: t.Budget(), Coordinates: size})
}

//go:embed files.go terms.go
var words embed.FS

// Meanings are those of the settings of synthetic data: of Terms, of trainings, and of own,
// the sources of a kind of data.
func Meanings(own embed.FS) map[string]string {
	all := training.Meanings()
	maps.Copy(all, plugin.Meanings(words))
	maps.Copy(all, plugin.Meanings(own))
	return all
}
