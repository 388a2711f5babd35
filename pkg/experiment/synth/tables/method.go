package tables

import (
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/tables/pairs"
	"molehill/privacy"
)

// method makes a synthetic table: its codes, [columns][rows].
type method = synth.Method[*table.Table, [][]table.Code]

func (c *Config) method(columns []table.Column, target int) (method, error) {
	switch c.Method {
	case Quantiles:
		return newBySketch(c, columns)
	case Sinkhorn:
		return newBySinkhorn(c, columns)
	}
	layout, err := pairs.NewLayout(pairColumns(columns), target, c.Emphasis, c.Singles)
	if err != nil {
		return nil, err
	}
	return &byPairs{config: c, columns: columns, layout: layout}, nil
}

// once is the plan of a single release of all records.
func (c *Config) once(s privacy.Sensitivity, n, size int) (privacy.Plan, error) {
	return privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: n, Steps: 1, Budget: c.budget(), Coordinates: size})
}
