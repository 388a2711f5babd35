package images

import (
	"context"
	"errors"
	"fmt"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/noise"
	"molehill/transport"
)

// Name is the experiment's.
const Name = "synth-images"

// Experiment implements experiment.Experiment.
type Experiment struct{}

// Describe implements plugin.Plugin.
func (Experiment) Describe() plugin.Info {
	return plugin.Info{Name: Name, Version: "5", Source: "Molehill: docs/own-data.md",
		Summary: "synthetic images of a folder of your own, with a privacy report; `molehill synth` runs it"}
}

// Config implements experiment.Experiment.
func (Experiment) Config(experiment.Preset) experiment.Config { return settings() }

// Artefacts of a run, beside synth.ReportFile and, by Diagnose, synth.KeeperFile.
const (
	SchemaFile = "schema.json"
	SheetFile  = "sheet.png"
	pointsFile = "points.npy"
	labelsFile = "labels.npy"
)

// encodedAtOnce is how many images are in memory when they are encoded, at most so
// many values.
const encodedAtOnce = 1 << 24

func atOnce(schema *pictures.Schema) int {
	return min(1000, max(1, encodedAtOnce/schema.Images.Dim()))
}

// encoded are private images as points of the code's sphere.
type encoded struct {
	points transport.Points // of rows
	rows   []int            // records that were encoded
	labels []int            // of all records, 0 without classes
	faults []pictures.Disagreement
}

// encode reads all images of a source, and encodes most of them at most, evenly
// spaced.
func encode(ctx context.Context, source pictures.Source, schema *pictures.Schema, with code, most int, say func(done, all int)) (encoded, error) {
	n, size := source.Len(), schema.Images.Dim()
	count := min(n, most)
	e := encoded{points: transport.Points{Dim: with.dim(), Data: make([]float32, 0, count*with.dim())}, labels: make([]int, 0, n)}
	for k := range count {
		e.rows = append(e.rows, k*n/count)
	}
	var err error
	e.faults, err = pictures.Each(ctx, source, size, atOnce(schema), func(first int, images []float32, classes []int) error {
		e.labels = append(e.labels, classes...)
		var taken []float32
		for k := e.points.Len(); k < count && e.rows[k] < first+len(classes); k++ {
			at := (e.rows[k] - first) * size
			taken = append(taken, images[at:at+size]...)
		}
		if taken == nil {
			return nil
		}
		x, err := with.encode(ctx, taken)
		e.points.Data = append(e.points.Data, x.Data...)
		say(len(e.labels), n)
		return err
	})
	return e, err
}

// Run implements experiment.Experiment. It leaves the artefacts synthetic.zip,
// sheet.png (some of each class), schema.json, release.npy (what was released
// at once) or generator.npz (what noisy gradients have trained, with the curve "points,
// moved since told last"), points.npy and labels.npy (the synthetic images as points of
// the code), and report.md and report.html, which tell nothing that was not paid for.
func (Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	schema, with, private, err := c.read(ctx, r)
	if err != nil {
		return result, err
	}
	n := private.points.Len()
	method := c.method(schema, with.dim(), noise.Seeded(r.Spec.Seed))
	defer method.Close()
	paid, releases, err := c.promise(ctx, r, method, schema, with, private)
	if err != nil {
		return result, err
	}
	if err := method.Learn(ctx, r, private, paid.Releaser, releases); err != nil {
		return result, err
	}
	// From here on nothing looks at a record.
	private = encoded{}
	points, err := method.Make(ctx, r, n, c.images(n))
	if err != nil {
		return result, err
	}
	m := made{schema: schema, code: with, placed: points}
	if err := m.write(ctx, r); err != nil {
		return result, err
	}
	section, values, err := method.Tell(paid.Statement, points)
	if err != nil {
		return result, err
	}
	if err := m.tell(ctx, r, c, paid.Statement, section, n); err != nil {
		return result, err
	}
	return run.Result{Metrics: values, Note: "what looks at the private images is in the keeper's report, if their keeper has asked for it"}, paid.Commit(ctx)
}

// promise plans, binds and pays, before the first release.
func (c *Config) promise(ctx context.Context, r *run.Run, m method, schema *pictures.Schema, with code, private encoded) (paid experiment.Paid, steps int, err error) {
	n := private.points.Len()
	plan, err := m.Plan(n)
	if err != nil {
		return paid, 0, err
	}
	name, err := ledgerName(schema)
	if err != nil {
		return paid, 0, err
	}
	paid, err = experiment.Promise{Data: name, Plan: plan, Rows: private.points.Data, Labels: private.labels,
		NotCovered: experiment.NotCovered(name, append(c.notCovered(schema, with), experiment.RecordsNotCovered(n))...)}.Make(ctx, r)
	if err == nil && plan.Steps == 1 {
		synth.KeepRelease(r, paid.Releaser)
	}
	return paid, plan.Steps, err
}

// read reads and encodes the private images. What it says of them, others can read, and
// names no path.
func (c *Config) read(ctx context.Context, r *run.Run) (schema *pictures.Schema, with code, private encoded, err error) {
	defer func() { err = c.Unnamed(err) }()
	schema, with, source, err := c.open(ctx)
	if err != nil {
		return nil, nil, encoded{}, err
	}
	_ = r.Emit(run.Event{Message: "reading the images"}) // progress that cannot be told is no reason to stop
	// Their keeper is told by Diagnose what disagrees.
	private, err = encode(ctx, source, schema, with, source.Len(), func(done, all int) { _ = r.Emit(run.Event{Message: fmt.Sprintf("%d of %d images read", done, all)}) })
	if err = errors.Join(err, source.Close()); err != nil {
		return nil, nil, encoded{}, err
	}
	return schema, with, private, r.ComputedOn("", synth.Own+schema.Name)
}

// open opens the images, after it has seen that they are those that were asked for.
func (c *Config) open(ctx context.Context) (*pictures.Schema, code, pictures.Source, error) {
	schema, err := data.Open(ctx, &c.Terms)
	if err != nil {
		return nil, nil, nil, err
	}
	with, err := c.code(schema)
	if err != nil {
		return nil, nil, nil, err
	}
	source, err := pictures.Open(c.Data, schema)
	return schema, with, source, err
}

// ledgerName makes the images known to the ledger and returns their name there.
func ledgerName(schema *pictures.Schema) (string, error) { return synth.Enter(schema.Name) }
