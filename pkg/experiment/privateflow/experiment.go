package privateflow

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"time"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/metric"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/clip"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
)

// Experiment is the private flow of one estimator, registered under the
// estimator's name.
type Experiment struct{ Estimator }

// Describe implements plugin.Plugin.
func (e Experiment) Describe() plugin.Info { return e.Estimator.Describe() }

// Config implements experiment.Experiment.
func (e Experiment) Config(preset experiment.Preset) experiment.Config {
	c := e.Estimator.Config(preset)
	c.estimator, c.preset = e.Estimator, preset
	return c
}

// checkpointEvery is how much time a killed run may have to compute again.
const checkpointEvery = 2 * time.Second

// Run implements experiment.Experiment. It leaves the artefacts particles.npy
// ([N, dim], the generated latents), samples.npy and .png ([64, 32·32], decoded images),
// labels.npy ([N, 1], of particles that have some),
// release.npy (what was released, where that is once), held-out.npy and
// reconstructed.npy (real images, and what the autoencoder
// keeps of them), random.npy (uniform points of the sphere, decoded), and the
// curve "sliced W₂".
func (e Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	if err := latent.Unchanged(ctx, c.Dataset, c.Label, c.Weights, c.Inputs); err != nil {
		return result, err
	}
	data, err := latent.LoadWith(ctx, c.Dataset, latent.Options{Weights: c.Weights, Label: c.Label, PublicHalf: needsPublic(e.Estimator), Inputs: c.Inputs}, r.Say)
	if err != nil {
		return result, err
	}
	if err := cmp.Or(r.ComputedOn(data.Backend.String(), data.Origin), r.KeepSplit(data.Split)); err != nil {
		return result, err
	}
	public := noise.Seeded(r.Spec.Seed)
	guided := e.promised
	if c.Release != "" {
		guided = e.again
	}
	guide, plan, paid, err := guided(ctx, r, c, data)
	if err != nil {
		return result, err
	}
	f := c.flow(plan)
	f.Random = public
	if c.Diffusion > 0 {
		key, err := r.Key()
		if err != nil {
			return result, err
		}
		secret := noise.Keyed(key, r.Spec.Research)
		f.Secret = &secret
		if plan.Budget.Private() {
			f.Once = r.Once
		}
	}
	x, err := e.move(ctx, r, c, f, guide, data)
	if err != nil {
		return result, err
	}
	if result, err = e.finish(ctx, r, c, x, labelsOf(guide, x.Len()), data); err != nil {
		return result, err
	}
	return result, paid.Commit(ctx)
}

// flow is what the settings say of particles that follow a release of the plan; they get
// their random numbers from the caller.
func (c *Config) flow(plan privacy.Plan) flow.Flow {
	f := flow.Flow{StepSize: c.StepSize, Diffusion: c.Diffusion, CleanEvaluation: !c.NoisyEvaluation}
	if c.SmoothParticles {
		f.Smoothing = plan.NoiseStd
	}
	return f
}

// promised plans, pays, and makes the guide through the plan's releaser.
func (e Experiment) promised(ctx context.Context, r *run.Run, c *Config, data *latent.Data) (guide flow.Guide, plan privacy.Plan, paid experiment.Payment, err error) {
	public := noise.Seeded(r.Spec.Seed)
	records, err := c.records(data)
	if err != nil {
		return nil, plan, paid, err
	}
	plan, published, err := e.Plan(c, records.Len(), records.Dim, public)
	if err == nil {
		err = Rehearse(e.Estimator, c, records.Len(), records.Dim, public)
	}
	if err != nil {
		return nil, plan, paid, err
	}
	promised, err := experiment.Promise{Data: c.Dataset, Plan: plan, Rows: records.Data, Labels: records.Labels, Published: published,
		Beside: e.notCovered(c, data)}.Make(ctx, r)
	if err != nil {
		return nil, plan, paid, err
	}
	if releasesOnce(plan) {
		promised.Keep(r)
	}
	guide, err = e.Guide(c, records, promised.Releaser, public)
	return guide, plan, promised.Payment, err
}

// Rehearse makes a guide of random points in place of n records, and follows it for a few
// steps: what settings cannot do shows before anything is paid.
func Rehearse(e Estimator, c *Config, n, dim int, public noise.Source) error {
	// Few points are soon rehearsed; what they are too few for takes as many as there are.
	if few := min(250, n); rehearse(e, c, few, dim, public) == nil {
		return nil
	}
	return rehearse(e, c, n, dim, public)
}

func rehearse(e Estimator, c *Config, n, dim int, public noise.Source) error {
	rng := public.Stream("rehearsal", 0)
	points := transport.NewPoints(n, dim)
	for i := range points.Data {
		points.Data[i] = float32(rng.NormFloat64())
	}
	points.OnSphere()
	records := Records{Points: points}
	if needsPublic(e) {
		records.Public = transport.Points{Dim: dim, Data: points.Data[:min(100, n)*dim]} // few tell of few degrees, soon
	}
	if c.Classes > 0 {
		for i := range points.Len() {
			records.Labels = append(records.Labels, i%c.Classes)
		}
	}
	plan, _, err := e.Plan(c, n, dim, public)
	if err != nil {
		return err
	}
	guide, err := e.Guide(c, records, plan.Releaser(noise.Seeded(0)), public)
	if err != nil {
		return err
	}
	f := c.flow(plan)
	f.Diffusion, f.Random = 0, public
	x := f.Start(len(records.Labels)+2, dim) // of classes each has a place
	if c.Learner == Generator {
		// It has a rate of its own.
		drift, err := guide.Drift(f, x, 0)
		if err == nil && (transport.Points{Dim: dim, Data: drift}).Check() != nil {
			err = fmt.Errorf("with these settings what a generator is to follow is not finite, of random points already; take a scale near 1, if there is one")
		}
		return err
	}
	for step := range min(c.Steps, rehearsed) {
		if err := f.Step(x, guide, step); err != nil {
			return err
		}
		if x.Check() != nil || clip.Norm(x.Data) > lost*(1+plan.NoiseStd*math.Sqrt(float64(dim)))*math.Sqrt(float64(x.Len())) {
			return fmt.Errorf("step_size is %v, and particles run away with it: of random points they were gone after %d steps; take a smaller one, the papers' is 3", c.StepSize, step+1)
		}
	}
	return nil
}

const (
	rehearsed = 60  // steps
	lost      = 1e4 // is how far particles are that do not come back, in what latents and noise reach
)

// move follows the guide from the last checkpoint to the last step.
func (e Experiment) move(ctx context.Context, r *run.Run, c *Config, f flow.Flow, guide flow.Guide, data *latent.Data) (transport.Points, error) {
	l, err := newLearner(ctx, c, f, guide, data.Private.Dim, data.Backend, f.Random)
	if err != nil {
		return transport.Points{}, err
	}
	defer l.close()
	done, _, err := r.Restore(func(done int, from io.Reader) error { return l.restore(from, done) })
	if err != nil {
		return transport.Points{}, err
	}
	shown, took := time.Time{}, time.Duration(0) // of previews, the last and what it took
	step := func(done int) (run.Values, error) {
		if err := l.step(done); err != nil {
			return nil, err
		}
		if done++; done%max(1, c.Steps/looks) != 0 && done != c.Steps {
			return nil, nil
		}
		x, err := l.points()
		if err != nil {
			return nil, err
		}
		d, err := data.Distance(c.place(x), r.Spec.Seed) // as at the end, so that a curve ends there
		if err != nil {
			return nil, err
		}
		// Decoded particles are of the releases alone, as those at the end are.
		if time.Since(shown) > max(previewEvery, 20*took) && done < c.Steps {
			start := time.Now()
			if err := preview(r, data, c.place(x), labelsOf(guide, x.Len())); err != nil {
				return nil, err
			}
			shown, took = time.Now(), time.Since(start)
		}
		return run.Values{"sliced W₂": d.Value}, nil
	}
	if err := (run.Loop{Total: c.Steps, Every: checkpointEvery, Step: step, Save: l.save}).Run(ctx, r, done); err != nil {
		return transport.Points{}, err
	}
	return l.points()
}

// place returns the particles where they are scored and decoded.
func (c *Config) place(x transport.Points) transport.Points {
	if c.OnSphere {
		x = x.Clone()
		x.OnSphere()
	}
	return x
}

const (
	looks        = 20              // at how far learning has come; a generator makes all points for each
	previewEvery = 2 * time.Second // between images of where the particles are, for those who watch
)

// preview leaves samples of a run that goes on, which its last ones replace. An
// interruption waits for them, so that Loop saves the step that they are of.
func preview(r *run.Run, data *latent.Data, placed transport.Points, labels []int) error {
	grid, err := data.Samples(context.Background(), placed, labels)
	if err != nil {
		return err
	}
	return r.WriteTable("samples.npy", grid.X, data.Pixels)
}

// finish measures, decodes and writes what the run leaves.
func (e Experiment) finish(ctx context.Context, r *run.Run, c *Config, x transport.Points, labels []int, data *latent.Data) (result run.Result, err error) {
	placed := c.place(x)
	d, err := data.Distance(placed, r.Spec.Seed)
	if err != nil {
		return result, err
	}
	onSphere := d
	if !c.OnSphere {
		sphere := x.Clone()
		sphere.OnSphere()
		if onSphere, err = data.Distance(sphere, r.Spec.Seed); err != nil {
			return result, err
		}
	}
	floor, err := data.Floor(placed.Len(), r.Spec.Seed)
	if err != nil {
		return result, err
	}
	nothing := flow.Flow{Random: noise.Seeded(r.Spec.Seed)}.Start(placed.Len(), placed.Dim)
	nothing.OnSphere()
	uniform, err := data.Distance(nothing, r.Spec.Seed)
	if err != nil {
		return result, err
	}
	told, err := data.Told(placed, r.Spec.Seed)
	if err != nil {
		return result, err
	}
	grid, err := data.Samples(ctx, placed, labels)
	if err != nil {
		return result, err
	}
	rebuilt, err := data.Decode(ctx, data.Test.Data[:len(data.HeldOut)/data.Pixels*data.Test.Dim])
	if err != nil {
		return result, err
	}
	random, err := data.Decode(ctx, nothing.Data[:min(latent.SampleImages, nothing.Len())*nothing.Dim])
	if err != nil {
		return result, err
	}
	for name, table := range map[string]transport.Points{
		"particles.npy":     placed,
		"samples.npy":       {Dim: data.Pixels, Data: grid.X},
		"held-out.npy":      {Dim: data.Pixels, Data: data.HeldOut},
		"reconstructed.npy": {Dim: data.Pixels, Data: rebuilt},
		"random.npy":        {Dim: data.Pixels, Data: random},
	} {
		if err := r.WriteTable(name, table.Data, table.Dim); err != nil {
			return result, err
		}
	}
	if err := r.WriteFile("samples.png", grid.PNG); err != nil {
		return result, err
	}
	result = run.Result{
		Metrics: run.Values{
			"sliced W₂": d.Value, "sliced W₂ error": d.StandardError,
			"sliced W₂ on the sphere": onSphere.Value, "sliced W₂ floor": floor.Value, "sliced W₂ of nothing learned": uniform.Value,
			"1-NN accuracy": told.Value, "1-NN accuracy error": told.StandardError,
		},
		Note: fmt.Sprintf("sliced W₂ of %d particles to %d held-out latents over %d orthonormal bases; the floor is that of real public latents, as many but no more than are held out, nothing learned that of uniform points on the sphere; 1-NN is how often the nearest neighbour tells particles and held-out latents apart, 0.5 if it cannot",
			placed.Len(), data.Test.Len(), metric.DefaultStacks),
	}
	if err := data.ScoreClasses(placed, result.Metrics); err != nil || labels == nil {
		return result, err
	}
	values, err := data.ScoreLabels(placed, labels, r.Spec.Seed)
	if err != nil {
		return result, err
	}
	maps.Copy(result.Metrics, values)
	result.Note += latent.LabelsNote
	column := make([]float32, len(labels))
	for i, label := range labels {
		column[i] = float32(label)
	}
	return result, r.WriteTable("labels.npy", column, 1)
}
