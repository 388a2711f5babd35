package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"molehill/pkg/dataset"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/tables/pairs"
	"molehill/pkg/metric"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/viz"
)

// Diagnosis is how a synthetic table compares with the private one. It looks at the
// rows, and nothing is charged: it is for their keeper.
type Diagnosis struct {
	Rows     int     // private ones
	Columns  float64 // mean total variation of the columns
	Pairs    float64 // mean total variation of the pairs
	Copies   int     // synthetic rows that are a private row, in every column's group
	Repeated int     // private rows that are another private row in this sense
	Test     int     // held-out rows, 0 without
	synth.Accuracies
	Neighbours   *metric.Copies       // of the synthetic rows, beside held-out ones
	Disagreement []table.Disagreement // of the private table with its schema
	On           string               // what the classifiers were measured on; "" for not at all
	Unlearned    string               `json:",omitempty"` // why nothing was, where the schema names a target

	Report report.Document `json:"-"`

	compared pairs.Comparison
}

// Rows of the classifiers and of the search for neighbours, at most.
const (
	learnedRows    = 50_000
	mostFeatures   = 1 << 26 // numbers of all rows of a classifier
	neighbourRows  = 10_000
	neighbourTries = 2000
)

// Diagnose compares a finished run's table with the private one, and with held-out
// rows in the file test, "" for none. It leaves keeper-only/report.md, .html and
// values.json among the run's artefacts.
func Diagnose(ctx context.Context, r *run.Run, test string) (*Diagnosis, error) {
	var c Config
	if err := json.Unmarshal(r.Spec.Config, &c); err != nil {
		return nil, fmt.Errorf("synth: settings of %s: %w", r.ID, err)
	}
	if err := c.Recall(c.Inputs); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	if inputs, err := data.Inputs(ctx, &c.Terms); err != nil || inputs != c.Inputs {
		return nil, errors.Join(fmt.Errorf("synth: %s or %s has changed since %s; there is nothing to compare with", c.Data, c.Schema, r.ID), err)
	}
	schema, err := table.ReadSchema(c.Schema)
	if err != nil {
		return nil, err
	}
	private, disagreement, err := table.Read(ctx, c.Data, schema)
	if err != nil {
		return nil, err
	}
	synthetic, err := Made(r)
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{Rows: private.Len(), Disagreement: disagreement}
	var held *table.Table
	if test != "" {
		if held, _, err = table.Read(ctx, test, schema); err != nil {
			return nil, err
		}
		d.Test = held.Len()
	}
	layout, err := pairs.NewLayout(pairColumns(private.Columns), -1, 1, 1)
	if err != nil {
		return nil, err
	}
	sides, err := d.compare(layout, private, synthetic)
	if err != nil {
		return nil, err
	}
	if schema.Target != "" {
		if err := d.learn(ctx, private, synthetic, held); ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err != nil { // all else can still be told
			d.On, d.Unlearned = "", err.Error()
		}
	}
	if err := d.look(ctx, &c, private, synthetic, held); err != nil {
		return nil, err
	}
	d.Report = d.document(r, layout, private.Columns, sides)
	return d, synth.LeaveForKeeper(r, d.Report, d)
}

// compare compares columns and pairs, and counts rows that are the same.
func (d *Diagnosis) compare(l *pairs.Layout, private, synthetic *table.Table) (sides [2]*pairs.Repaired, err error) {
	for i, t := range []*table.Table{private, synthetic} {
		if sides[i], err = l.Of(t.Codes); err != nil {
			return sides, err
		}
	}
	d.compared = sides[0].Compare(sides[1])
	d.Columns, d.Pairs = pairs.Mean(d.compared.Columns), pairs.Mean(d.compared.Pairs)
	seen := map[string]int{}
	row := make([]byte, 2*len(private.Columns))
	key := func(t *table.Table, i int) []byte {
		for j, c := range t.Columns {
			g := c.Group(t.Codes[j][i])
			row[2*j], row[2*j+1] = byte(g), byte(g>>8)
		}
		return row
	}
	for i := range private.Len() {
		seen[string(key(private, i))]++
	}
	for _, count := range seen {
		if count > 1 {
			d.Repeated += count
		}
	}
	for i := range synthetic.Len() {
		if seen[string(key(synthetic, i))] > 0 {
			d.Copies++
		}
	}
	return sides, nil
}

// learn measures what the table is good for.
func (d *Diagnosis) learn(ctx context.Context, private, synthetic, held *table.Table) error {
	on := held
	d.On = "held-out rows"
	if on == nil {
		on, d.On = private, "the private rows themselves"
	}
	test, err := labelled(on, d.On)
	if err != nil {
		return err
	}
	d.Accuracies, err = synth.Learn(ctx,
		func() (*dataset.Dataset, error) { return labelled(synthetic, "the synthetic rows") },
		func() (*dataset.Dataset, error) { return labelled(private, "the private rows") }, test)
	return err
}

// labelled are the Features of rows that have a target, and are called so: at least
// one, and some if all would not fit into memory.
func labelled(t *table.Table, called string) (*dataset.Dataset, error) {
	target := t.Schema.TargetIndex()
	var rows []int
	for i, code := range t.Codes[target] {
		if code > 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("synth: none of %s has a value of %q, the target, that the schema knows; compare how the file and the schema write it", called, t.Schema.Target)
	}
	_, width := features(t.Columns, target)
	if most := min(learnedRows, mostFeatures/max(1, width)); len(rows) > most {
		rand.New(rand.NewPCG(1, 0x6c6561726e)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		rows = rows[:most]
	}
	return Features(pick(t, rows))
}

// look looks whether synthetic rows are nearer to private rows than to held-out ones.
func (d *Diagnosis) look(ctx context.Context, c *Config, private, synthetic, held *table.Table) error {
	if held == nil {
		return nil
	}
	encoder, err := newBySketch(&Config{Stacks: 1}, private.Columns)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 0x6e656172))
	side := min(private.Len(), held.Len(), neighbourRows)
	d.Neighbours, err = synth.Nearness(ctx, encoder.encode(some(synthetic, neighbourTries, rng)), encoder.encode(some(private, side, rng)), encoder.encode(some(held, side, rng)))
	return err
}

// some draws up to n rows.
func some(t *table.Table, n int, rng *rand.Rand) *table.Table {
	return pick(t, rng.Perm(t.Len())[:min(n, t.Len())])
}

// pick returns some rows of a table.
func pick(t *table.Table, rows []int) *table.Table {
	out := &table.Table{Schema: t.Schema, Columns: t.Columns}
	for _, column := range t.Codes {
		codes := make([]table.Code, len(rows))
		for k, i := range rows {
			codes[k] = column[i]
		}
		out.Codes = append(out.Codes, codes)
	}
	return out
}

// document is the keeper's report.
func (d *Diagnosis) document(r *run.Run, l *pairs.Layout, columns []table.Column, sides [2]*pairs.Repaired) report.Document {
	likeness := report.Section{Heading: "How alike the tables are", NonPrivate: true,
		Text:    append([]string{fmt.Sprintf("Distances are total variations: the share of rows that would have to move. The mean over the columns is %.4f, over the pairs of columns %.4f.", d.Columns, d.Pairs)}, undrawn(columns)...),
		Figures: append(marginals(columns, sides[0], sides[1], "real"), associations(columns, l, d.compared, "real")),
		Tables:  []viz.Table{columnTable(columns, d.compared), pairTable(columns, l, d.compared, "real")},
	}
	agreement := synth.Agreement("Rows and schema", d.Disagreement, "All values agree with the schema.",
		"These values do not agree with the schema. The promise holds all the same; the synthetic table does not know them. If the schema is wrong, mend it, and pay for another run.")
	sections := append([]report.Section{agreement, likeness}, synth.Usefulness("What the table is good for", "synthetic rows", "real rows", d.On, d.Unlearned, d.Accuracies)...)
	return report.Document{Title: "For the keeper only: synthetic table of " + r.ID, Warning: "Do not publish this. It compares the synthetic table with the private rows, and nothing of that is differentially private.",
		Summary: "The report to publish is beside it: " + synth.ReportFile + ".html.", Sections: append(sections, d.nearness())}
}

func (d *Diagnosis) nearness() report.Section {
	s := report.Section{Heading: "Whether rows were copied", NonPrivate: true, Text: []string{
		fmt.Sprintf("%d synthetic rows are a private row in every column, or in its bin. Of %d private rows %d have a double in this sense, so most of these are people who are alike; what protects them is the noise, not their rarity here.", d.Copies, d.Rows, d.Repeated),
	}}
	if d.Neighbours == nil {
		s.Text = append(s.Text, "Give held-out rows (--test) to compare distances with those to rows that nothing could have copied.")
		return s
	}
	s.Tables = synth.Copied("synthetic rows nearer to a private than to a held-out row", d.Neighbours)
	return s
}
