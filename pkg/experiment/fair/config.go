package fair

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
)

// What fairness asks for.
const (
	Parity = "parity" // predictions are distributed alike in both groups (004 Eq. 8)
	Odds   = "odds"   // they are among those of each label (004 Eq. 9)
)

// Config are the settings of a training. 004's symbols stand beside each.
type Config struct {
	Dataset     string  `json:"dataset"`     // biased or adult
	Records     int     `json:"records"`     // n, records for training
	Held        int     `json:"held"`        // records for testing
	Probability float64 `json:"probability"` // p, with which A is Y
	// PublicSizes says that anybody may know how many records each group has.
	// Nothing can be claimed otherwise.
	PublicSizes bool `json:"public_sizes"`

	Criterion string          `json:"criterion"` // parity or odds
	Alpha     float64         `json:"alpha"`     // α, weight of fairness
	Epsilon   privacy.Epsilon `json:"epsilon"`   // ε to be proved; inf for none
	Delta     float64         `json:"delta"`     // δ, below 1/n
	// Published takes the noise for which 004's own accounting gives ε, whatever can
	// be proved of it; the statement says what can.
	Published bool `json:"published"`
	// CommonNoise gives runs of a seed the same standard normal noise, whatever α and
	// ε scale it by (004 C.6). It is for research runs.
	CommonNoise bool `json:"common_noise"`

	Steps        int     `json:"steps"`         // T, steps
	LearningRate float64 `json:"learning_rate"` // of the optimiser
	Share        float64 `json:"share"`         // n′/n, of each group that a step looks at
	LossLimit    float64 `json:"loss_limit"`    // C, to which the gradient of a record's loss is clipped
	Limit        float64 `json:"output_limit"`  // M, to which outputs are clipped
	Jacobian     float64 `json:"jacobian"`      // L, to which their Jacobians are clipped
	Exact        bool    `json:"exact"`         // clip singular values in place of rows
	// Unclipped leaves gradients as they are. It is for ε = ∞.
	Unclipped   bool `json:"unclipped"`
	Projections int  `json:"projections"` // directions of the sliced distance, at least
	Hidden      int  `json:"hidden"`      // width of hidden layers; 0 without any

	kind *kind
}

// fastest is the largest learning rate. Larger ones lead to where sigmoids are 0 or 1: a model
// that is sure of everything, whose losses are finite, and that has learned nothing.
const fastest = 100

// Check implements experiment.Config.
func (c *Config) Check() error {
	if _, ok := sources[c.Dataset]; !ok {
		return fmt.Errorf("dataset is %q; there are %s", c.Dataset, strings.Join(slices.Sorted(maps.Keys(sources)), ", "))
	}
	if err := c.budget().Check(); err != nil {
		return err
	}
	if !c.PublicSizes && c.budget().Private() {
		return fmt.Errorf("public_sizes is false; the sensitivity is for groups of known sizes, so that ε can be claimed only where the number of records of each group is public: set public_sizes=true if it is, or make a run that claims nothing, --epsilon inf")
	}
	if err := experiment.OneOf("criterion", c.Criterion, Parity, Odds); err != nil {
		return err
	}
	if c.Criterion == Odds && !c.kind.labels {
		return fmt.Errorf("criterion is %q, which compares groups label by label; %s predicts no label, take %q", c.Criterion, c.kind.Name, Parity)
	}
	if !(c.Alpha >= 0 && c.Alpha <= 1) {
		return fmt.Errorf("alpha is %v; it weighs fairness against the loss from 0 to 1", c.Alpha)
	}
	if err := experiment.Within("probability", c.Probability, 0, 1); err != nil {
		return err
	}
	if c.kind.labels && (c.Probability == 0 || c.Probability == 1) {
		return fmt.Errorf("probability is %v, with which each group has one label, so that there is nobody to measure odds by; take one between 0 and 1", c.Probability)
	}
	if !(c.Share > 0 && c.Share <= 1) {
		return fmt.Errorf("share is %v; a step looks at some of each group, above 0 and at most 1", c.Share)
	}
	if err := cmp.Or(
		experiment.Positive("learning_rate", c.LearningRate, fastest),
		experiment.Positive("loss_limit", c.LossLimit, experiment.Farthest),
		experiment.Positive("output_limit", c.Limit, experiment.Farthest),
		experiment.Positive("jacobian", c.Jacobian, experiment.Farthest),
	); err != nil {
		return err
	}
	if err := cmp.Or(
		experiment.Within("records", c.Records, 1, 1_000_000),
		experiment.Within("held", c.Held, 100, 1_000_000),
		experiment.Within("steps", c.Steps, 1, 1_000_000),
		experiment.Within("projections", c.Projections, 1, 10_000),
		experiment.Within("hidden", c.Hidden, c.kind.hidden, 4096),
	); err != nil {
		return err
	}
	if !c.budget().Private() {
		if c.Published {
			return fmt.Errorf("published is true and ε = ∞; without a budget nothing gets noise")
		}
		return nil
	}
	if c.Unclipped {
		return fmt.Errorf("unclipped is true and ε = %v; only what is clipped can be protected, leave it out or set --epsilon inf", c.Epsilon)
	}
	return nil
}

func (c *Config) budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(c.Epsilon), Delta: c.Delta}
}

// unclipped is beyond all that is ever clipped.
const unclipped = 1e6

func (c *Config) clipping() matching.Clipping {
	if c.Unclipped {
		return matching.Clipping{Output: unclipped, Jacobian: unclipped, Loss: unclipped, Exact: c.Exact}
	}
	return matching.Clipping{Output: c.Limit, Jacobian: c.Jacobian, Loss: c.LossLimit, Exact: c.Exact}
}

// classification are the settings of 004 C.3. The quick ones are the paper's too: its
// steps are cheap.
func classification(experiment.Preset) Config {
	const n = 30_000
	return Config{
		Dataset: "biased", Records: n, Held: 10_000, Probability: 0.7, PublicSizes: true,
		Criterion: Parity, Alpha: 0.5, Epsilon: 3, Delta: 0.1 / n,
		Steps: 500, LearningRate: 0.05, Share: 0.1, LossLimit: 5, Limit: 1, Jacobian: 1, Projections: 1,
	}
}

// regression are the settings of 004 C.4. The quick ones make half the steps.
func regression(preset experiment.Preset) Config {
	c := classification(preset)
	c.Steps, c.LearningRate, c.Hidden, c.Projections = 1000, 0.05, 64, 50
	c.LossLimit, c.Limit, c.Jacobian = 10, 1/math.Sqrt2, math.Sqrt2
	if preset == experiment.Quick {
		c.Steps /= 2
	}
	return c
}

// line are the settings of 004's Remark C.4. The quick ones are the same: its network
// has one output.
func line(experiment.Preset) Config {
	c := regression(experiment.Paper)
	c.Epsilon = 2 // 004's δ is 1/n, which only research may take
	c.LearningRate, c.Hidden, c.Jacobian, c.Projections = 0.02, 128, 1, 1
	return c
}

// representation are the settings of 004 C.5. The quick ones make half the steps.
func representation(preset experiment.Preset) Config {
	c := classification(preset)
	c.LearningRate, c.Hidden, c.Projections = 0.01, 62, 50
	c.LossLimit, c.Limit, c.Jacobian = 10, 2, math.Sqrt2
	if preset == experiment.Quick {
		c.Steps /= 2
	}
	return c
}

//go:embed config.go post.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return plugin.Meanings(words) }
