package tables

import (
	"context"
	"fmt"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
)

// Preview implements experiment.Previewing.
func (c *Config) Preview(ctx context.Context, b experiment.Before) error {
	schema, err := data.ReadSchema(c.Schema)
	if err != nil {
		return err
	}
	found, err := Look(ctx, c.Data, schema)
	if err != nil {
		return err
	}
	method, err := known{c, schema}.Method(b.Spec.Seed)
	if err != nil {
		return err
	}
	defer method.Close()
	return c.Terms.Preview(ctx, b, schema.Name, found, method)
}

// Look reads a table for its keeper.
func Look(ctx context.Context, path string, schema *table.Schema) (seen synth.Seen, err error) {
	private, found, err := table.Read(ctx, path, schema)
	if err != nil {
		return seen, err
	}
	seen.Records, seen.Called = private.Len(), "rows"
	if seen.Records == 1 {
		seen.Called = "row"
	}
	for _, d := range found {
		seen.Faults = append(seen.Faults, d.String())
		if seen.Most == "" && 2*d.Count() > seen.Records {
			seen.Most = fmt.Sprintf("column %q: %d of %d values do not agree with the schema", d.Column, d.Count(), seen.Records)
		}
	}
	return seen, nil
}
