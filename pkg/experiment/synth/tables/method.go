package tables

import (
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/tables/pairs"
)

// The ways to make a synthetic table.
const (
	Pairs     = "pairs"           // noisy counts of all pairs of columns, and the transport plan of most entropy that has them
	Quantiles = "quantile-sketch" // a quantile sketch of the encoded rows, and a flow to it
	Sinkhorn  = synth.Sinkhorn    // a generator that learns by the noisy gradient of a Sinkhorn loss
)

// Methods are the names of the ways.
var Methods = []string{Pairs, Quantiles, Sinkhorn}

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
