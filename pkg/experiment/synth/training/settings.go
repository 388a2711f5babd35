// Package training has generators of synthetic records learn by DP-Sinkhorn (001,
// Algorithm 1): each step draws some records, and releases the gradient of a Sinkhorn
// loss by generated rows, clipped as a whole, with noise.
//
// Batches are of a fixed size and the promise is under replace-one, as that of the
// other methods of own data, where 001 has Poisson samples and add/remove. It takes
// hardly more noise, shows no number of records, and a step is never without any.
package training

import (
	"embed"
	"fmt"

	"molehill/pkg/plugin"
)

// Settings are those of a training that people may change.
type Settings struct {
	Batch     int     `json:"batch"`     // records of a step
	Generated int     `json:"generated"` // n, rows that meet them
	Debiasing float64 `json:"debiasing"` // p of 001 Eq. 6
	Entropy   float64 `json:"entropy"`   // λ, in the unit of the cost
	Bound     float64 `json:"bound"`     // that the gradient by the generated rows is clipped to: below most of them each step goes as far
	// Noise is the noise multiplier, and the training ends before the step that
	// would spend more than ε; 0 for the least noise that proves ε for all steps.
	Noise        float64 `json:"noise"`
	LearningRate float64 `json:"learning_rate"` // at the first step; it falls to 0 as a cosine does
	Latent       int     `json:"latent"`        // dimension of the generator's noise
	Width        int     `json:"width"`         // of its layers
}

// Names are what people call the settings.
var Names = []string{"batch", "generated", "debiasing", "entropy", "bound", "noise", "learning_rate", "latent", "width"}

// What a step takes with less than a gigabyte: costs are between all rows, and weights
// between all of a layer's outputs and those of the next.
const (
	mostRows = 2048
	widest   = 2048
)

// Check says what is wrong with settings.
func (s Settings) Check() error {
	for _, field := range []struct {
		name           string
		value, maximum int
	}{{"batch", s.Batch, mostRows}, {"generated", s.Generated, mostRows}, {"latent", s.Latent, 1000}, {"width", s.Width, widest}} {
		if field.value < 1 || field.value > field.maximum {
			return fmt.Errorf("%s is %d; expected 1 to %d", field.name, field.value, field.maximum)
		}
	}
	for _, field := range []struct {
		name  string
		value float64
	}{{"entropy", s.Entropy}, {"bound", s.Bound}, {"learning_rate", s.LearningRate}} {
		if !(field.value > 0 && field.value <= 1000) {
			return fmt.Errorf("%s is %v; expected a number above 0, up to 1000", field.name, field.value)
		}
	}
	if !(s.Debiasing >= 0 && s.Debiasing <= 1) {
		return fmt.Errorf("debiasing is %v; expected a number from 0 to 1", s.Debiasing)
	}
	if !(s.Noise >= 0 && s.Noise <= 1e6) {
		return fmt.Errorf("noise is %v; expected a multiplier above 0, or 0 for the least that proves ε", s.Noise)
	}
	return nil
}

//go:embed settings.go
var words embed.FS

// Meanings are those of Settings.
func Meanings() map[string]string { return plugin.Meanings(words) }
