package tables

import (
	"context"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth/tables/pairs"
	"molehill/pkg/run"
	"molehill/privacy"
)

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
	columns  []table.Column
	layout   *pairs.Layout
	std      float64   // of the noise
	released []float64 // noisy counts
	repaired *pairs.Repaired
}

func (m *byPairs) Plan(n int) (privacy.Plan, error) {
	return m.config.Once(m.layout.Sensitivity(), n, m.layout.Size)
}

// Loudness is that of the counts with the least noise, of which none is above the number of
// records.
func (m *byPairs) Loudness(p privacy.Plan) (times float64, of string) {
	var weight float64
	for _, t := range m.layout.Tables {
		weight = max(weight, t.Weight)
	}
	return p.NoiseStd / weight / float64(p.Records), "each count"
}

func (m *byPairs) Learn(_ context.Context, _ *run.Run, t *table.Table, release *privacy.Releaser, _ int) error {
	counts, err := m.layout.Count(t.Codes)
	if err != nil {
		return err
	}
	m.released, m.std = counts, release.NoiseStd()
	return release.Release(m.released, m.layout.Sensitivity(), 0)
}

func (m *byPairs) Make(ctx context.Context, r *run.Run, n, rows int) ([][]table.Code, error) {
	c := m.config
	m.repaired = m.layout.Repair(m.released, n, m.std)
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

func (*byPairs) Close() {}

const (
	minFitRows   = 10_000
	distanceName = "distance to the release"
)
