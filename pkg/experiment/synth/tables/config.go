// Package tables makes a synthetic table of people's own table (package synth): private
// rows go in through private releases, and a table of the same columns comes out. A value
// that the schema does not allow becomes a defined one (package table), so no record can
// stop a run.
package tables

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"io"

	"molehill/pkg/dataset/schema"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/training"
)

func init() { experiment.Registry.Register(Experiment{}) }

// Config are the settings of a synthetic table.
type Config struct {
	synth.Terms
	Rows  int `json:"rows"`  // of the synthetic table; 0 for as many as the private one has
	Steps int `json:"steps"` // of the flow, or of the training, at most; 0 for as many as the method takes

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
	return &Config{Terms: synth.Terms{Epsilon: 1, Delta: 1e-6, Method: Pairs},
		Emphasis: 2, Singles: 1, FitRows: 40_000, Sweeps: 20, Polish: 5, Apart: 3,
		Stacks: 4, Bins: 16, StepSize: 1,
		Settings: training.Settings{Batch: 16, Generated: 8, Entropy: 1, Bound: 0.01, LearningRate: 1e-3, Latent: 8, Width: 128}}
}

// data are tables.
var data = synth.Data[*table.Schema]{Methods: Methods, Flags: "--data people.csv --schema people.schema.json", ReadSchema: table.ReadSchema, Sum: sum}

func sum(_ context.Context, path string, _ *table.Schema) ([]byte, error) {
	file, err := schema.Open(path)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	return h.Sum(nil), errors.Join(err, file.Close())
}

// Check implements experiment.Config.
func (c *Config) Check() error {
	const faint, loud = 1e-3, 1000. // far below, counts are lost in their own noise
	return data.Check(&c.Terms, cmp.Or(
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
	), nil)
}

const maxRows = 100_000_000

// CheckUnread implements experiment.Sparing.
func (c *Config) CheckUnread() error {
	return experiment.CheckRead(c, settings(), c.Method, reads)
}

// Pin implements experiment.Pinner.
func (c *Config) Pin() error { return data.Pin(&c.Terms) }

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return synth.Meanings(words) }
