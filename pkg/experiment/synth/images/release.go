package images

import (
	"context"
	"fmt"
	"slices"
	"time"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
)

// released is what a release tells, and what it cost.
type released struct {
	guide       flow.Guide
	labels      func(n int) []int // classes of n synthetic images
	frequencies []float64         // of the classes
	dim, degree int
	kept        []float64 // of each degree, the share that stands above the noise, in the mean over the classes
	paid        experiment.Payment
}

// sketch is which sketch of the points is released.
type sketch struct {
	classes, degree int
	sensitivity     privacy.Sensitivity
	size            int // numbers of it
}

// sketch chooses what to release from public numbers: how many points of how many
// dimensions and classes there are, and the budget.
func (c *Config) sketch(n, dim, classes int) (s sketch, err error) {
	s = sketch{classes: classes, degree: c.Degree}
	// The noise's multiplier of one release is that of any sensitivity.
	plan, err := privacy.Calibrate(privacy.Plan{Records: n, Steps: 1, Budget: c.budget(), Coordinates: 1, Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne}})
	if err != nil {
		return s, err
	}
	if s.degree == 0 {
		if s.degree, err = degree(dim, classes, n, plan.NoiseStd); err != nil {
			return s, err
		}
	}
	if s.labelled() {
		s.sensitivity, err = harmonic.LabelledSensitivity(dim, s.degree, classes, n)
	} else {
		s.sensitivity, err = harmonic.Sensitivity(dim, s.degree, n)
	}
	s.size = harmonic.LabelledSize(dim, s.degree, max(1, classes))
	if !s.labelled() {
		s.size-- // without the frequency of the only class
	}
	if err == nil && s.size > mostNumbers {
		err = fmt.Errorf("a release of %d numbers, of %d classes; at most %d fit, take a lower degree or fewer coefficients", s.size, classes, mostNumbers)
	}
	return s, err
}

// labelled reports whether there are labels to release: one class has none.
func (s sketch) labelled() bool { return s.classes > 1 }

// fewDimensions is up to how many dimensions harmonic.Degree knows what to choose.
const fewDimensions = 16

// degree is the highest degree to release. In many dimensions there are two to
// choose from, the means and the second moments.
func degree(dim, classes, n int, multiplier float64) (int, error) {
	if dim <= fewDimensions && classes > 1 {
		return harmonic.LabelledDegree(dim, classes, n, multiplier)
	}
	if dim <= fewDimensions {
		return harmonic.Degree(dim, n, multiplier)
	}
	if harmonic.Count(dim, 2) > harmonic.MaxSize || multiplier*float64(max(1, classes))/float64(n) > secondPays {
		return 1, nil
	}
	return 2, nil
}

// secondPays is the noise of a class' means, in units of what a record adds to them,
// up to which second moments are worth releasing. Measured on MNIST with 48
// coefficients: logistic regression on synthetic digits was 9 points better without
// them at 0.01; at 0.004 it was as good with them, and nearest neighbours 15 points
// better.
const secondPays = 0.007

// release plans, binds, pays, and looks at the points once.
func (c *Config) release(ctx context.Context, r *run.Run, schema *pictures.Schema, with code, private encoded) (*released, error) {
	n, dim := private.points.Len(), with.dim()
	what, err := c.sketch(n, dim, len(schema.Names()))
	if err != nil {
		return nil, err
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: what.sensitivity, Records: n, Steps: 1, Budget: c.budget(), Coordinates: what.size})
	if err != nil {
		return nil, err
	}
	name, err := ledgerName(schema)
	if err != nil {
		return nil, err
	}
	release, paid, err := experiment.Promise(ctx, r, name, plan, private.points.Data, private.labels, nil, c.notCovered(schema, with, n)...)
	if err != nil {
		return nil, err
	}
	release.Keep(keep(r))
	out, err := what.look(private, directions(dim, noise.Seeded(r.Spec.Seed)), release)
	if err != nil {
		return nil, err
	}
	out.paid = paid
	return out, nil
}

// directionsAtOnce is about how many directions a step of the flow takes.
const directionsAtOnce = 48

func directions(dim int, public noise.Source) flow.Directions {
	return flow.Directions{Count: max(1, directionsAtOnce/dim) * dim, Stack: true, Random: public}
}

// look releases the sketch.
func (s sketch) look(private encoded, u flow.Directions, release *privacy.Releaser) (*released, error) {
	out := &released{dim: private.points.Dim, degree: s.degree, frequencies: []float64{1}, labels: func(n int) []int { return make([]int, n) }}
	var densities []*harmonic.Density
	if s.labelled() {
		target, err := flow.NewLabelled(private.points, private.labels, s.classes, s.degree, u, release)
		if err != nil {
			return nil, err
		}
		out.guide, out.frequencies, out.labels, densities = target, target.Frequencies, target.Labels, target.Densities
	} else {
		target, err := flow.NewSpherical(private.points, s.degree, u, release)
		if err != nil {
			return nil, err
		}
		out.guide, densities = flow.Slices{Target: target}, []*harmonic.Density{target.Density}
	}
	out.kept = make([]float64, s.degree)
	for _, d := range densities {
		for l, kept := range d.Kept() {
			out.kept[l] += kept / float64(len(densities))
		}
	}
	return out, nil
}

// movedAtOnce is how many particles move together; more images than that are of
// several groups, which start elsewhere and go to the same release.
const movedAtOnce = 20_000

// follow moves particles to the release and returns them on the sphere, sorted by
// their labels.
func (t *released) follow(ctx context.Context, r *run.Run, c *Config, images int) (transport.Points, []int, error) {
	var all transport.Points
	var labels []int
	groups := (images + movedAtOnce - 1) / movedAtOnce
	began, total := time.Now(), groups*c.Steps
	for g := range groups {
		n := images*(g+1)/groups - images*g/groups
		f := flow.Flow{Random: noise.Seeded(r.Spec.Seed ^ uint64(g)<<32)}
		x := f.Start(n, t.dim)
		f.StepSize = c.StepSize * float64(x.Dim)
		for step := range c.Steps {
			if err := ctx.Err(); err != nil {
				return all, nil, err
			}
			if err := f.Step(x, t.guide, step); err != nil {
				return all, nil, err
			}
			done := g*c.Steps + step + 1
			if err := r.Emit(run.Event{Step: done, Total: total, Rate: float64(done) / time.Since(began).Seconds()}); err != nil {
				return all, nil, err
			}
		}
		x.OnSphere()
		all.Dim, all.Data, labels = x.Dim, append(all.Data, x.Data...), append(labels, t.labels(n)...)
	}
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return labels[a] - labels[b] })
	sorted := make([]int, len(labels))
	for to, from := range order {
		sorted[to] = labels[from]
	}
	return all.Subset(order), sorted, nil
}
