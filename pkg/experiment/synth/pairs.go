package synth

import (
	"context"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth/pairs"
	"molehill/pkg/run"
	"molehill/privacy"
)

// method is a way to make a synthetic table.
type method interface {
	// sensitivity is that of the release for n records, and how many numbers it has.
	sensitivity(n int) (privacy.Sensitivity, int, error)
	// look is the only part that sees records. It releases once.
	look(t *table.Table, release *privacy.Releaser) ([]float64, error)
	// make makes rows of what was released of n records with noise of standard
	// deviation std.
	make(ctx context.Context, released []float64, n, rows int, std float64, r *run.Run) ([][]table.Code, error)
	// tell writes the report of what may be told of a table made of n records, and
	// returns its numbers.
	tell(r *run.Run, c *Config, statement privacy.Statement, synthetic *table.Table, n int) (run.Values, error)
}

func (c *Config) method(t *table.Table) (method, error) {
	if c.Method == Quantiles {
		return newBySketch(c, t.Columns)
	}
	layout, err := pairs.NewLayout(pairColumns(t.Columns), t.Schema.TargetIndex(), c.Emphasis, c.Singles)
	if err != nil {
		return nil, err
	}
	return &byPairs{config: c, layout: layout}, nil
}

// pairColumns is how package pairs sees columns.
func pairColumns(columns []table.Column) []pairs.Column {
	out := make([]pairs.Column, len(columns))
	for j, c := range columns {
		p := pairs.Column{Groups: make([]uint16, c.Levels()+1), Size: c.Groups() + 1}
		for code := range p.Groups {
			p.Groups[code] = c.Group(table.Code(code))
		}
		if !c.Missing {
			p.Impossible = 1
		}
		out[j] = p
	}
	return out
}

// byPairs counts pairs of columns.
type byPairs struct {
	config   *Config
	layout   *pairs.Layout
	repaired *pairs.Repaired
	std      float64
}

func (m *byPairs) sensitivity(int) (privacy.Sensitivity, int, error) {
	return m.layout.Sensitivity(), m.layout.Size, nil
}

func (m *byPairs) look(t *table.Table, release *privacy.Releaser) ([]float64, error) {
	counts, err := m.layout.Count(t.Codes)
	if err != nil {
		return nil, err
	}
	return counts, release.Release(counts, m.layout.Sensitivity(), 0)
}

func (m *byPairs) make(ctx context.Context, released []float64, n, rows int, std float64, r *run.Run) ([][]table.Code, error) {
	c := m.config
	m.repaired, m.std = m.layout.Repair(released, n, std), std
	fit := pairs.Fit{Rows: min(c.FitRows, rows), Sweeps: c.Sweeps, Polish: c.Polish, Seed: r.Spec.Seed,
		Each: func(sweep, sweeps int, distance float64) error {
			return r.Emit(run.Event{Step: sweep, Total: sweeps, Values: run.Values{distanceName: distance}})
		}}
	fit.Rows = max(fit.Rows, min(minFitRows, c.FitRows)) // few rows cannot stand for a law
	model, err := fit.Run(ctx, m.repaired)
	if err != nil {
		return nil, err
	}
	return model.Sample(rows, c.Apart)
}

const (
	minFitRows   = 10_000
	distanceName = "distance to the release"
)
