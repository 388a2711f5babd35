package tables

import (
	"fmt"

	"molehill/pkg/dataset"
	"molehill/pkg/dataset/table"
)

// Features are rows as a classifier sees them: all columns but the target, names as
// zeros and ones, numbers and days by their place in the range, and a one where a
// value is missing; the target for label. Rows without a target are left out. It is
// an error if the schema names no target.
func Features(t *table.Table) (*dataset.Dataset, error) {
	target := t.Schema.TargetIndex()
	if target < 0 {
		return nil, fmt.Errorf("synth: the schema of %s names no target; write one to measure what the table is good for", t.Schema.Name)
	}
	starts, width := features(t.Columns, target)
	d := &dataset.Dataset{Name: t.Schema.Name, Height: 1, Width: width, Channels: 1, Classes: t.Columns[target].Values}
	if width == 0 {
		return nil, fmt.Errorf("synth: the schema of %s has no column but the target", t.Schema.Name)
	}
	var rows []int
	for i, code := range t.Codes[target] {
		if code > 0 {
			rows = append(rows, i)
			d.Labels = append(d.Labels, int(code)-1)
		}
	}
	d.X = make([]float32, len(rows)*d.Width)
	for j, c := range t.Columns {
		if j == target {
			continue
		}
		names := c.Kind == table.Categorical || c.Kind == table.Ordinal
		for k, i := range rows {
			at, code := d.X[k*d.Width+starts[j]:], t.Codes[j][i]
			switch {
			case names:
				at[code] = 1
			case code == 0:
				at[1] = 1
			default:
				at[0] = float32(c.Place(code))
			}
		}
	}
	return d, nil
}

// features returns where the numbers of each column begin in a row, and how many all
// of them are.
func features(columns []table.Column, target int) (starts []int, width int) {
	for j, c := range columns {
		starts = append(starts, width)
		switch {
		case j == target:
		case c.Kind == table.Categorical || c.Kind == table.Ordinal:
			width += c.Levels() + 1
		default:
			width += 2
		}
	}
	return starts, width
}
