package tables

import (
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/tables/pairs"
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
