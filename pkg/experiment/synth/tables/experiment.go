package tables

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

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

// The ways to make a synthetic table.
const (
	Pairs     = "pairs"           // noisy counts of all pairs of columns, and the transport plan of most entropy that has them
	Quantiles = "quantile-sketch" // a quantile sketch of the encoded rows, and a flow to it
	Sinkhorn  = synth.Sinkhorn    // a generator that learns by the noisy gradient of a Sinkhorn loss
)

// Methods are the names of the ways.
var Methods = []string{Pairs, Quantiles, Sinkhorn}

// Run implements experiment.Experiment. It leaves the artefacts codes.npz (the
// synthetic table, for Export) and synthetic.csv (or .parquet, of a single column),
// schema.json, report.md and report.html, which tell nothing that was
// not paid for, and what was released: release.npy (noisy counts, or bin means) with
// the curve "distance to the release", or generator.npz (what noisy gradients have
// trained) with the curve "columns, moved since told last".
func (Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	private, err := c.read(ctx, r)
	if err != nil {
		return result, err
	}
	method, err := c.method(private.Columns, private.Schema.TargetIndex())
	if err != nil {
		return result, err
	}
	defer method.Close()
	paid, releases, err := c.promise(ctx, r, private, method)
	if err != nil {
		return result, err
	}
	if err := method.Learn(ctx, r, private, paid.Releaser, releases); err != nil {
		return result, err
	}
	// From here on nothing looks at a record.
	made := shape{n: private.Len(), schema: private.Schema, columns: private.Columns}
	private = nil
	codes, err := method.Make(ctx, r, made.n, c.rows(made.n))
	if err != nil {
		return result, err
	}
	synthetic := &table.Table{Schema: made.schema, Columns: made.columns, Codes: codes}
	if err := r.WriteFile(synth.SchemaFile, func(w io.Writer) error { return made.schema.Only().Encode(w) }); err != nil {
		return result, err
	}
	if err := leave(r, synthetic); err != nil {
		return result, err
	}
	section, values, err := method.Tell(paid.Statement, codes)
	if err != nil {
		return result, err
	}
	if err := publish(r, c, paid.Statement, synthetic, made.n, section); err != nil {
		return result, err
	}
	return run.Result{Metrics: values, Note: "these look at what was released and at nothing else; what looks at the records is in " + synth.KeeperFolder + ", if their keeper has asked for it"}, paid.Commit(ctx)
}

// shape is what is public of a table.
type shape struct {
	n       int
	schema  *table.Schema
	columns []table.Column
}

// read reads the table. What it says of it, others can read, and names no path.
func (c *Config) read(ctx context.Context, r *run.Run) (private *table.Table, err error) {
	defer func() { err = c.Unnamed(err) }()
	schema, err := data.Open(ctx, &c.Terms)
	if err != nil {
		return nil, err
	}
	_ = r.Emit(run.Event{Message: "reading the table"}) // progress that cannot be told is no reason to stop
	private, _, err = table.Read(ctx, c.Data, schema)   // its keeper is told by Diagnose what disagrees
	if err != nil {
		return nil, err
	}
	return private, r.ComputedOn("", synth.Own+schema.Name)
}

// promise plans, binds and pays, before the first release.
func (c *Config) promise(ctx context.Context, r *run.Run, private *table.Table, m method) (paid experiment.Paid, releases int, err error) {
	plan, err := m.Plan(private.Len())
	if err != nil {
		return paid, 0, err
	}
	name, err := synth.Enter(private.Schema.Name)
	if err != nil {
		return paid, 0, err
	}
	paid, err = experiment.Promise{Data: name, Plan: plan, Labels: digest(private), NotCovered: c.notCovered(private, name)}.Make(ctx, r)
	if err == nil && plan.Steps == 1 {
		synth.KeepRelease(r, paid.Releaser)
	}
	return paid, plan.Steps, err
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

// notCovered is what the promise does not cover.
func (c *Config) notCovered(t *table.Table, name string) []string {
	return []string{
		fmt.Sprintf("the number of rows, %d, which is public", t.Len()),
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
