// Package training has generators of synthetic records learn by DP-Sinkhorn (001,
// Algorithm 1): each step draws some records, and releases the gradient of a Sinkhorn
// loss by generated rows, clipped as a whole, with noise.
//
// Batches are of a fixed size and the promise is under replace-one, as that of the
// other methods of own data, where 001 has Poisson samples and add/remove. It takes
// hardly more noise, shows no number of records, and a step is never without any.
package training

import (
	"cmp"
	"embed"

	"molehill/pkg/experiment"
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
	const most = 1000.
	return cmp.Or(
		experiment.Within("batch", s.Batch, 1, mostRows),
		experiment.Within("generated", s.Generated, 1, mostRows),
		experiment.Within("latent", s.Latent, 1, 1000),
		experiment.Within("width", s.Width, 1, widest),
		experiment.Positive("entropy", s.Entropy, most),
		experiment.Positive("bound", s.Bound, most),
		experiment.Positive("learning_rate", s.LearningRate, most),
		experiment.Within("debiasing", s.Debiasing, 0, 1),
		experiment.Within("noise", s.Noise, 0, 1e6), // 0 for the least that proves ε
	)
}

//go:embed settings.go
var words embed.FS

// Meanings are those of Settings.
func Meanings() map[string]string { return plugin.Meanings(words) }
