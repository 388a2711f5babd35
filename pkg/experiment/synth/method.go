package synth

import (
	"context"
	"io"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth/pairs"
	"molehill/pkg/npy"
	"molehill/pkg/run"
	"molehill/privacy"
)

// method is a way to make a synthetic table. It is for one run.
type method interface {
	// plan is what is promised to n records, with the noise that keeps it.
	plan(n int) (privacy.Plan, error)
	// learn is the only part that sees records. It makes as many releases as are
	// planned, and keeps what it has learned of them.
	learn(ctx context.Context, r *run.Run, t *table.Table, release *privacy.Releaser, releases int) error
	// make makes rows of what was learned of n records.
	make(ctx context.Context, r *run.Run, n, rows int) ([][]table.Code, error)
	// tell writes the report of what may be told of a table made of n records, and
	// returns its numbers.
	tell(r *run.Run, c *Config, statement privacy.Statement, synthetic *table.Table, n int) (run.Values, error)
	close()
}

func (c *Config) method(t *table.Table) (method, error) {
	switch c.Method {
	case Quantiles:
		return newBySketch(c, t.Columns)
	case Sinkhorn:
		return newBySinkhorn(c, t.Columns)
	}
	layout, err := pairs.NewLayout(pairColumns(t.Columns), t.Schema.TargetIndex(), c.Emphasis, c.Singles)
	if err != nil {
		return nil, err
	}
	return &byPairs{config: c, layout: layout}, nil
}

// once is the plan of a single release of all records.
func (c *Config) once(s privacy.Sensitivity, n, size int) (privacy.Plan, error) {
	return privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: n, Steps: 1, Budget: c.budget(), Coordinates: size})
}

// keepRelease leaves a single release among the run's artefacts: whoever has it can
// make tables of it in other ways, and spends nothing.
func keepRelease(r *run.Run, release *privacy.Releaser) {
	release.Keep(func(_ int, released []float64) error {
		return r.WriteFile(releaseFile, func(w io.Writer) error { return npy.WriteOf(w, []int{len(released)}, released) })
	})
}
