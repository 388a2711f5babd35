package swae

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	basis       *harmonic.Basis
	sensitivity privacy.Sensitivity // of what a step releases
	scale       float64             // of that: a batch's means have the plan's sensitivity by it
	kept        keptLaw
	density     *harmonic.Density // nil before it is asked for
}

// keptLaw is what a run keeps of a law.
type keptLaw struct {
	Basis  string    `json:"basis"` // coordinates: those of earlier versions drew theirs
	Degree int       `json:"degree"`
	Std    float64   `json:"std"`   // of the noise of means; that records are drawn is not counted
	Means  []float64 `json:"means"` // of harmonics, each times its weight; nil before any are released
}

// coordinates is harmonic.Basis, by what it splits off.
const coordinates = "coordinates"

// newLaw returns what has not been learned, for a plan.
func newLaw(c *Config, plan privacy.Plan) (*law, error) {
	many := math.Sqrt(float64(c.Law))
	degree, err := harmonic.Degree(c.Latent, c.Law*c.Batch, plan.NoiseStd/plan.Sensitivity.Value*many)
	if err != nil {
		return nil, err
	}
	s, err := harmonic.Sensitivity(c.Latent, degree, c.Batch)
	if err != nil {
		return nil, err
	}
	l := &law{scale: plan.Sensitivity.Value / s.Value * (1 - 1e-12), sensitivity: s}
	l.sensitivity.Value *= l.scale
	l.kept = keptLaw{Basis: coordinates, Degree: degree, Std: plan.NoiseStd / l.scale / many}
	l.basis, err = harmonic.NewBasis(c.Latent, degree)
	return l, err
}

// query is what a step releases of a batch's codes.
func (l *law) query(codes []float32) ([]float64, error) {
	x := transport.Points{Dim: l.basis.Dim, Data: slices.Clone(codes)}
	x.OnSphere() // what is not finite too
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
func (l *law) learn(t *training, release *privacy.Releaser, say func(done int) error) error {
	c := t.config
	means := make([]float64, l.basis.Size())
	for k := range c.Law {
		step := c.Steps + c.Labels + k
		_, codes, err := t.drawCodes(release, step)
		if err != nil {
			return err
		}
		values, err := l.query(codes)
		if err != nil {
			return err
		}
		if err := release.Release(values, l.sensitivity, step); err != nil {
			return fmt.Errorf("where codes lie, step %d: %w", k+1, err)
		}
		for i, v := range values {
			means[i] += v / l.scale / float64(c.Law)
		}
		if err := say(k + 1); err != nil {
			return err
		}
	}
	l.kept.Means = means
	return nil
}

// save keeps the law in a run, and readLaw finds it there.
func (l *law) save(r *run.Run) error {
	return r.WriteJSON(lawFile, l.kept)
}

func (t *training) readLaw(r *run.Run) (*law, error) {
	l := &law{}
	err := r.ReadJSON(lawFile, &l.kept)
	if err != nil {
		return nil, err
	}
	if l.kept.Basis != coordinates {
		return nil, fmt.Errorf("swae: %s of %s is of an earlier version of molehill, whose harmonics were others; delete the run and begin anew", lawFile, r.ID)
	}
	if l.basis, err = harmonic.NewBasis(t.config.Latent, l.kept.Degree); err != nil {
		return nil, err
	}
	if got, want := len(l.kept.Means), l.basis.Size(); got != want {
		return nil, fmt.Errorf("swae: %s of %s has %d means; up to degree %d there are %d", lawFile, r.ID, got, l.kept.Degree, want)
	}
	return l, nil
}

// How particles come to follow the law: steps, and bases of directions at each.
const (
	lawSteps   = 120
	lawBases   = 12
	leastDrawn = 2000 // particles that move together; fewer would be too coarse
)

// draw returns points that lie as the law says, [count, latent], the same ones for the
// same count.
func (l *law) draw(ctx context.Context, t *training, count int) (transport.Points, error) {
	dim := t.config.Latent
	if l.density == nil {
		sketch := harmonic.Sketch{Basis: l.basis, Weights: harmonic.Weights(dim, l.kept.Degree), Records: t.config.Law * t.config.Batch, Means: l.kept.Means}
		l.density = sketch.Density(l.kept.Std, t.public.Stream("atoms", 0))
	}
	target := &flow.Spherical{Density: l.density, Directions: flow.Directions{Count: lawBases * dim, Stack: true, Random: t.public}}
	f := flow.Flow{StepSize: 0.75 * float64(dim), Random: t.public}
	x := f.Start(max(count, leastDrawn), dim)
	for step := range lawSteps {
		if err := ctx.Err(); err != nil {
			return x, err
		}
		if err := f.Step(x, flow.Slices{Target: target}, step); err != nil {
			return x, err
		}
	}
	x.OnSphere()
	x.Data = x.Data[:count*dim]
	return x, nil
}

// toLaw is the sliced W₂ between codes, as points of the sphere, and as many points that
// are drawn to be decoded.
func (t *training) toLaw(ctx context.Context, codes []float32) (float64, error) {
	x := transport.Points{Dim: t.config.Latent, Data: slices.Clone(codes)}
	x.OnSphere()
	drawn, err := t.draw(ctx, x.Len())
	if err != nil {
		return 0, err
	}
	distance, err := metric.SlicedW2{Stacks: metric.DefaultStacks}.Measure(x, drawn, t.public.Stream("prior for the distance", 0))
	return math.Max(0, distance.Value), err
}
