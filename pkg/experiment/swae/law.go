package swae

import (
	"fmt"
	"math"

	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
)

// law is where codes lie on the sphere, as the means of their harmonics tell. 004 asks
// codes to lie like a prior, which is known; here they lie as they like, and what they
// come to is released once the autoencoder has learned (Config.Law). No sliced distance
// is in the loss then, and no noise is for one.
//
// The means are those over many batches, each released by a further step of the same
// plan: drawn as its batches are, scaled to its sensitivity, with its noise. The mean of
// k such releases has the noise of one, divided by √k.
type law struct {
	basis *harmonic.Basis
	scale float64   // of what a step releases: that of a batch's means has the plan's sensitivity
	std   float64   // of the noise of means
	means []float32 // nil before any are released
}

// newLaw returns what has not been learned, for a plan.
func (t *training) newLaw(plan privacy.Plan) (*law, error) {
	c := t.config
	many := math.Sqrt(float64(c.Law))
	degree, err := harmonic.Degree(c.Latent, c.Law*c.Batch, plan.NoiseStd/plan.Sensitivity.Value*many)
	if err != nil {
		return nil, err
	}
	of, err := harmonic.Sensitivity(c.Latent, degree, c.Batch)
	if err != nil {
		return nil, err
	}
	scale := plan.Sensitivity.Value / of.Value * (1 - 1e-12)
	basis, err := harmonic.NewBasis(c.Latent, degree, t.public.Stream("harmonics", 0))
	return &law{basis: basis, scale: scale, std: plan.NoiseStd / scale / many}, err
}

// query is what a step releases of a batch's codes.
func (l *law) query(codes []float32) ([]float64, error) {
	x := points(codes, l.basis.Dim)
	x.OnSphere() // to the last digit, and what is not finite too
	sketch, err := harmonic.NewSketch(x, l.basis)
	if err != nil {
		return nil, err
	}
	for i := range sketch.Means {
		sketch.Means[i] *= l.scale
	}
	return sketch.Means, nil
}

// learn makes the plan's last steps.
func (l *law) learn(t *training, release *privacy.Releaser, s privacy.Sensitivity, say func(done int) error) error {
	c := t.config
	sum := make([]float64, l.basis.Size())
	for k := range c.Law {
		step := c.Steps + c.Labels + k
		at, err := release.Draw(step)
		if err != nil {
			return err
		}
		codes, err := t.learner.Inner(rows(t.data.private, at))
		if err != nil {
			return err
		}
		values, err := l.query(codes)
		if err != nil {
			return err
		}
		if err := release.Release(values, s, step); err != nil {
			return fmt.Errorf("where codes lie, step %d: %w", k+1, err)
		}
		for i, v := range values {
			sum[i] += v / l.scale / float64(c.Law)
		}
		if err := say(k + 1); err != nil {
			return err
		}
	}
	l.means = make([]float32, len(sum))
	for i, v := range sum {
		l.means[i] = float32(v)
	}
	return nil
}

// save and restore keep the means in a run.
func (l *law) save(r *run.Run) error { return r.WriteTable(lawFile, l.means, len(l.means)) }

func (l *law) restore(r *run.Run) (err error) {
	width := 0
	l.means, width, err = r.Table(lawFile)
	if err == nil && (width != l.basis.Size() || len(l.means) != width) {
		return fmt.Errorf("swae: %s of %s has %d means in rows of %d; expected one row of %d", lawFile, r.ID, len(l.means), width, l.basis.Size())
	}
	return err
}

// How particles come to follow the law: steps, and bases of directions at each.
const (
	lawSteps   = 120
	lawBases   = 12
	leastDrawn = 2000 // particles that move together; fewer would be too coarse
)

// draw returns points that lie as the law says, always the same ones, [count, latent].
func (l *law) draw(t *training, count int) (transport.Points, error) {
	dim := t.config.Latent
	sketch := harmonic.Sketch{Basis: l.basis, Weights: harmonic.Weights(dim, l.basis.Degree), Records: t.config.Law * t.config.Batch, Means: make([]float64, len(l.means))}
	for i, v := range l.means {
		sketch.Means[i] = float64(v)
	}
	target := &flow.Spherical{Density: sketch.Density(l.std, t.public.Stream("atoms", 0)),
		Directions: flow.Directions{Count: lawBases * dim, Stack: true, Random: t.public}}
	f := flow.Flow{StepSize: 0.75 * float64(dim), Random: t.public}
	x := f.Start(max(count, leastDrawn), dim)
	for step := range lawSteps {
		if err := f.Step(x, flow.Slices{Target: target}, step); err != nil {
			return x, err
		}
	}
	x.OnSphere()
	x.Data = x.Data[:count*dim]
	return x, nil
}

// toLaw is the sliced W₂ between codes and as many points that are drawn to be decoded.
func (t *training) toLaw(codes []float32) (float64, error) {
	x := points(codes, t.config.Latent)
	drawn, err := t.draw(x.Len())
	if err != nil {
		return 0, err
	}
	distance, err := metric.SlicedW2{Stacks: metric.DefaultStacks}.Measure(x, drawn, t.public.Stream("prior for the distance", 0))
	return math.Max(0, distance.Value), err
}

// draw returns points to decode: the prior's, or those that lie as codes do.
func (t *training) draw(count int) (transport.Points, error) {
	if t.law != nil {
		return t.law.draw(t, count)
	}
	return prior(count, t.config.Latent, t.public.Stream("samples", 0)), nil
}
