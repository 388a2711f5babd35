package tables

import (
	"context"
	"crypto/sha256"
	"fmt"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// Experiment implements experiment.Experiment.
type Experiment struct{}

// Describe implements plugin.Plugin.
func (Experiment) Describe() plugin.Info {
	return plugin.Info{Name: "synth", Version: "2", Source: "Molehill: docs/own-data.md",
		Summary: "a synthetic table of a table of your own, with a privacy report; `molehill synth` runs it"}
}

// Config implements experiment.Experiment.
func (Experiment) Config(experiment.Preset) experiment.Config { return settings() }

// Run implements experiment.Experiment. It leaves the artefacts of synth.Run: what noisy
// counts or bin means were released, with the curve "distance to the release", or
// generator.npz (what noisy gradients have trained), with the curve "columns, moved since
// told last"; and codes.npz (the synthetic table, for Export) and synthetic.csv (or
// .parquet, of a single column).
func (Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (run.Result, error) {
	c := config.(*Config)
	schema, err := data.Open(ctx, &c.Terms)
	if err != nil {
		return run.Result{}, c.Unnamed(err)
	}
	return synth.Run(ctx, r, &c.Terms, known{c, schema}, c.Rows)
}

// known is what is public of a run before its release (synth.Kind).
type known struct {
	config *Config
	schema *table.Schema
}

func (k known) Name() string { return k.schema.Name }

func (k known) Read(ctx context.Context, r *run.Run) (*table.Table, error) {
	r.Say(run.Event{Message: "reading the table"})
	private, _, err := table.Read(ctx, k.config.Data, k.schema) // its keeper is told by Diagnose what disagrees
	return private, err
}

func (k known) Method(uint64) (method, error) {
	return k.config.method(k.schema.Modelled(), k.schema.TargetIndex())
}

func (k known) Promise(private *table.Table) experiment.Promise {
	return experiment.Promise{Labels: digest(private), NotCovered: notCovered(private.Len(), synth.Own+k.Name())}
}

// digest is a hash of the records, as numbers for experiment.Bind, which hashes them
// once more under the run's key.
func digest(t *table.Table) []int {
	h := sha256.New()
	buffer := make([]byte, 0, 1<<16)
	for _, column := range t.Codes {
		for len(column) > 0 {
			part := column[:min(len(column), cap(buffer)/2)]
			column = column[len(part):]
			buffer = buffer[:0]
			for _, code := range part {
				buffer = append(buffer, byte(code), byte(code>>8))
			}
			h.Write(buffer)
		}
	}
	var numbers []int
	for _, b := range h.Sum(nil) {
		numbers = append(numbers, int(b))
	}
	return numbers
}

// notCovered is what a promise about n rows does not cover, which the ledger books under such
// a name.
func notCovered(n int, name string) []string {
	return []string{
		fmt.Sprintf("the number of rows, %d, which is public", n),
		"the schema: its columns, ranges, decimals and categories were declared public by whoever confirmed it",
		"people with several rows: the promise is for a row; for k rows of one person ε is up to k times as large, and δ larger too",
		"what is true of everybody: that a group earns more than another is what a synthetic table is for, and it holds for people whose row is not in the data too",
		"that the file is well-formed, with the columns of the schema, and that `molehill synth` has not found most values of a column to disagree with it; single values that do are changed, and stop nothing",
		fmt.Sprintf("other runs on the same people: `molehill budget status %s` tells what all of them cost together", name),
		"what the keeper of the rows looks at to judge the result (" + synth.KeeperFolder + "): it is not private",
		experiment.TimeNotCovered,
		experiment.SettingsNotCovered,
	}
}
