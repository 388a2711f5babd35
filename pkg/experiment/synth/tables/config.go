// Package tables makes a synthetic table of people's own table (package synth): private
// rows go in through private releases, and a table of the same columns comes out. A value
// that the schema does not allow becomes a defined one (package table), so no record can
// stop a run.
package tables

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"errors"
	"io"
	"slices"

	"molehill/pkg/dataset/schema"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/plugin"
	"molehill/privacy"
)

func init() { experiment.Registry.Register(Experiment{}) }

// Config are the settings of a synthetic table.
type Config struct {
	synth.Files
	Inputs  string          `json:"inputs"`  // what tells the content of both from others; see Pin
	Epsilon privacy.Epsilon `json:"epsilon"` // ε to be proved; inf for none
	Delta   float64         `json:"delta"`   // δ, below 1/n
	Method  string          `json:"method"`  // one of Methods
	Rows    int             `json:"rows"`    // of the synthetic table; 0 for as many as the private one has
	Steps   int             `json:"steps"`   // of the flow, or of the training, at most; 0 for as many as the method takes

	// Of the pairs' method.
	Emphasis float64 `json:"emphasis"` // weight of pairs with the target
	Singles  float64 `json:"singles"`  // weight of single columns
	FitRows  int     `json:"fit_rows"` // rows that the law is fitted with, at most
	Sweeps   int     `json:"sweeps"`   // of the fit
	Polish   int     `json:"polish"`   // sweeps that move rows to what is missing
	Apart    int     `json:"apart"`    // sweeps that part copies of rows, where more are made than were fitted

	// Of the quantile sketch's method.
	Stacks   int     `json:"stacks"`    // orthonormal bases of directions
	Bins     int     `json:"bins"`      // of each direction
	StepSize float64 `json:"step_size"` // of the flow, 1 for the whole way

	training.Settings // of DP-Sinkhorn; its costs are at most 1 a column
}

// reads are the settings that not all methods read.
var reads = map[string][]string{
	Pairs:     {"emphasis", "singles", "fit_rows", "sweeps", "polish", "apart"},
	Quantiles: {"steps", "stacks", "bins", "step_size"},
	Sinkhorn:  append([]string{"steps"}, training.Names...),
}

// settings are those of a preset. Both are the same: a table is paid for once, and the
// best there is takes seconds, or minutes by DP-Sinkhorn.
func settings() *Config {
	return &Config{Epsilon: 1, Delta: 1e-6, Method: Pairs,
		Emphasis: 2, Singles: 1, FitRows: 40_000, Sweeps: 20, Polish: 5, Apart: 3,
		Stacks: 4, Bins: 16, StepSize: 1,
		Settings: training.Settings{Batch: 16, Generated: 8, Entropy: 1, Bound: 0.01, LearningRate: 1e-3, Latent: 8, Width: 128}}
}

// Check implements experiment.Config. It also reads the schema: one that nobody has
// confirmed ends here, before anything looks at a record.
func (c *Config) Check() (err error) {
	if c.Inputs != "" { // in the process that computes, whose errors the run keeps
		defer func() { err = c.Unnamed(err) }()
	}
	if err := c.Recall(c.Inputs); err != nil {
		return err
	}
	if c.Data == "" || c.Schema == "" {
		return errors.New("data and schema name no files; give both, as with `molehill synth --data people.csv --schema people.schema.json`")
	}
	if err := c.budget().Check(); err != nil {
		return err
	}
	if !slices.Contains(Methods, c.Method) {
		return &plugin.UnknownError{Kind: "method", Name: c.Method, Nearest: Methods}
	}
	const faint, loud = 1e-3, 1000. // far below, counts are lost in their own noise
	if err := cmp.Or(
		experiment.Within("rows", c.Rows, 0, maxRows),
		experiment.Within("fit_rows", c.FitRows, 100, maxRows),
		experiment.Within("sweeps", c.Sweeps, 1, 10_000),
		experiment.Within("polish", c.Polish, 0, 10_000),
		experiment.Within("apart", c.Apart, 0, 1000),
		experiment.Within("stacks", c.Stacks, 1, 1000),
		experiment.Within("bins", c.Bins, 1, 1000),
		experiment.Within("steps", c.Steps, 0, 10_000_000),
		experiment.Within("emphasis", c.Emphasis, faint, loud),
		experiment.Within("singles", c.Singles, faint, loud),
		experiment.Within("step_size", c.StepSize, faint, loud),
		c.Settings.Check(),
	); err != nil {
		return err
	}
	schema, err := table.ReadSchema(c.Schema)
	if err == nil {
		err = schema.Confirmed()
	}
	return synth.Settled(c.Inputs, err)
}

const maxRows = 100_000_000

// CheckUnread implements experiment.Sparing.
func (c *Config) CheckUnread() error {
	return experiment.CheckRead(c, settings(), c.Method, reads)
}

// Pin implements experiment.Pinner: other rows or another schema are another run, however
// the schema's file is written (Hash).
func (c *Config) Pin() (err error) {
	if c.Inputs, err = c.inputs(); err != nil {
		return err
	}
	return c.Remember(c.Inputs)
}

func (c *Config) inputs() (string, error) {
	schema, err := table.ReadSchema(c.Schema)
	if err != nil {
		return "", synth.Settled(c.Inputs, err)
	}
	rows, err := fileSum(c.Data)
	if err != nil {
		return "", err
	}
	said, err := schema.Sum()
	if err != nil {
		return "", err
	}
	return synth.Hash(rows, said)
}

func fileSum(path string) ([]byte, error) {
	file, err := schema.Open(path)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	return h.Sum(nil), errors.Join(err, file.Close())
}

func (c *Config) budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(c.Epsilon), Delta: c.Delta}
}

// rows is how many rows the synthetic table of a table of n has.
func (c *Config) rows(n int) int {
	if c.Rows == 0 {
		return n
	}
	return c.Rows
}

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return synth.Meanings(words) }
