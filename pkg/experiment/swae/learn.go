package swae

import (
	"context"
	"fmt"
	"io"
	"math"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport/sliced"
)

// training is an autoencoder that learns.
type training struct {
	config  *Config
	data    *data
	learner *matching.Learner
	public  noise.Source
	classes int       // that the network tells; 0 without supervision
	labels  *labeller // nil with supervision
	law     *law      // nil with a prior
}

// prepare gives a training what learns after the autoencoder, by the last steps of a plan.
func (t *training) prepare(plan privacy.Plan) error {
	err := t.withLabels(plan.Sensitivity)
	if err == nil && t.config.Law > 0 {
		t.law, err = newLaw(t.config, plan)
	}
	return err
}

// coordinates is how many numbers the largest release has: a gradient of the autoencoder,
// or, with thousands of classes, of the labeller.
func (t *training) coordinates() int {
	labeller := 0
	if t.classes == 0 && t.config.Labels > 0 {
		labeller = layer.Size(Classifier(t.config.Latent, len(t.data.private.Classes)))
	}
	return max(t.learner.Parameters(), labeller)
}

// withLabels gives one without supervision an untrained labeller, whose gradients have
// the sensitivity s.
func (t *training) withLabels(s privacy.Sensitivity) (err error) {
	if t.classes == 0 {
		t.labels, err = newLabeller(t, s)
	}
	return err
}

func (t *training) close() {
	t.learner.Close()
	if t.labels != nil {
		t.labels.learner.Close()
	}
}

// newTraining returns an autoencoder with parameters from the public source.
func newTraining(c *Config, d *data, public noise.Source) (*training, error) {
	classes := 0
	if c.Supervision > 0 {
		classes = len(d.private.Classes)
	}
	m := c.model(classes)
	start := layer.Init(m.Network(), public.Stream("autoencoder", 0).Uint64())
	for _, p := range start {
		for i := range p.Value {
			if len(p.Shape) > 1 { // not of biases
				p.Value[i] *= float32(c.Gain)
			}
		}
	}
	learner, err := matching.New(d.backend, m, start, c.optimizer())
	return &training{config: c, data: d, learner: learner, public: public, classes: classes}, err
}

// batch is what a gradient is of: some images, fresh points of the prior, as many, and
// fresh directions. The step is counted over all that learn.
func (t *training) batch(d *dataset.Dataset, at []int, step int) matching.Batch {
	n, rng := len(at), t.public.Stream("prior and directions", step)
	source := make([]int, n)
	for i := range source {
		source[i] = i
	}
	return matching.Batch{
		X: rows(d, at), Target: targets(d, at, pixels, t.classes), Alpha: t.config.Alpha,
		Pairs:      []matching.Pair{{A: source, Points: prior(n, t.config.Latent, rng).Data, Public: true}},
		Directions: sliced.Orthonormal(t.config.Latent, t.config.stacks(), rng),
	}
}

// learn makes a step on records: a private one of the plan.
func (t *training) learn(release *privacy.Releaser, step int) (*matching.Gradient, error) {
	c := t.config
	at, err := release.Draw(step)
	if err != nil {
		return nil, err
	}
	release.Expect(step, t.learner.Parameters()) // noise is drawn while a device computes
	g, err := t.learner.Gradient(t.batch(t.data.private, at, c.StartSteps+step), c.clipping())
	if err != nil {
		return nil, err
	}
	return g, follow(t.learner, g, release, step, c.rate(step, c.Steps))
}

// follow releases a gradient and makes a step along what came out.
func follow(l *matching.Learner, g *matching.Gradient, release *privacy.Releaser, step int, rate float64) error {
	if err := release.Release(g.Values, g.Sensitivity, step); err != nil {
		return err
	}
	return l.Step(rate, g.Values)
}

// run makes the steps from the last checkpoint on, public ones first, and pays before
// the first of the others.
func (t *training) run(ctx context.Context, r *run.Run, pay func() (experiment.Paid, error)) error {
	c := t.config
	var start *pretraining
	defer func() {
		if start != nil {
			start.trainer.Close()
		}
	}()
	begin := func() (err error) {
		start, err = newPretraining(ctx, t, r.Say)
		return err
	}
	done, found, err := r.Restore(func(done int, from io.Reader) error {
		if done > c.StartSteps || c.StartSteps == 0 {
			return restore(t.learner, from, done)
		}
		if start == nil { // there may be an older checkpoint to try
			if err := begin(); err != nil {
				return err
			}
		}
		return start.restore(from, done)
	})
	if err == nil && !found && c.StartSteps > 0 {
		err = begin()
	}
	if err != nil {
		return err
	}
	save := func(to io.Writer, done int) error {
		if start != nil {
			return start.save(to, done)
		}
		return t.learner.Save(to, done)
	}
	step := func(done int) (run.Values, error) {
		if start != nil && done < c.StartSteps {
			return nil, start.learn(done)
		}
		if start != nil {
			if err := start.handOver(t); err != nil {
				return nil, err
			}
			start.trainer.Close()
			start = nil
		}
		paid, err := pay()
		if err != nil {
			return nil, err
		}
		private := done - c.StartSteps
		g, err := t.learn(paid.Releaser, private)
		if private++; err != nil || private%max(1, c.Steps/25) != 0 && private != c.Steps && private != 1 {
			return nil, err
		}
		values, err := t.quality(progressImages)
		if err == nil && (r.Spec.Research || !c.budget().Private()) {
			diagnose(values, g)
		}
		return values, err
	}
	return run.Loop{Total: c.StartSteps + c.Steps, Later: c.Labels + c.Law, Step: step, Save: save}.Run(ctx, r, done)
}

// diagnose adds what a batch of records was like. Nothing pays for that, so it is told
// only where the run protects nobody anyway: without a budget, or with noise from its
// seed.
func diagnose(values run.Values, g *matching.Gradient) {
	values["loss of records, non-private"] = g.Loss
	values["clipped outputs, non-private"] = g.ClippedOutput
	values["clipped Jacobians, non-private"] = g.ClippedJacobian
	values["clipped losses, non-private"] = g.ClippedLoss
}

// restore reads what a learner saved after so many steps.
func restore(l *matching.Learner, from io.Reader, steps int) error {
	var done int
	return l.Restore(from, &done, func() error { return expect(done, steps) })
}

func expect(done, steps int) error {
	if done != steps {
		return fmt.Errorf("these are the parameters after %d steps; expected those after %d", done, steps)
	}
	return nil
}

// progressImages are held out, for what is shown on the way.
const progressImages = 500

// quality is, on the first held-out images, the cross-entropy of a pixel as it is
// reconstructed, and, if there is a prior, the sliced W₂ between codes and as many points
// of it.
func (t *training) quality(count int) (run.Values, error) {
	x := first(t.data.held, count)
	codes, err := t.learner.Inner(x)
	if err != nil {
		return nil, err
	}
	odds, _, err := t.decode(codes)
	if err != nil {
		return nil, err
	}
	loss := perPixel(odds, x)
	if err := train.Finite("the loss", loss); err != nil {
		return nil, err
	}
	if t.law != nil { // which is not known yet
		return run.Values{Reconstruction: loss}, nil
	}
	dim, rng := t.config.Latent, t.public.Stream("prior for the distance", 0)
	distance, err := metric.SlicedW2{Stacks: metric.DefaultStacks}.Measure(points(codes, dim), prior(len(codes)/dim, dim, rng), rng)
	if err != nil {
		return nil, err
	}
	return run.Values{Reconstruction: loss, ToPrior: math.Max(0, distance.Value)}, nil
}

// perPixel is the mean cross-entropy of pixels in [0, 1] under log odds; see
// crossEntropy.
func perPixel(odds, x []float32) float64 {
	var sum float64
	for i, v := range odds {
		l := float64(v)
		sum += max(l, 0) - l*float64(x[i]) + math.Log1p(math.Exp(-math.Abs(l)))
	}
	return sum / float64(len(x))
}

// decode makes of codes images, as log odds, [n, 784], and, with supervision, scores of
// classes, [n, classes].
func (t *training) decode(codes []float32) (odds, scores []float32, err error) {
	values, err := t.learner.Outer(codes)
	if err != nil || t.classes == 0 {
		return values, nil, err
	}
	width := pixels + t.classes
	n := len(values) / width
	odds, scores = make([]float32, 0, n*pixels), make([]float32, 0, n*t.classes)
	for ; len(values) > 0; values = values[width:] {
		odds, scores = append(odds, values[:pixels]...), append(scores, values[pixels:width]...)
	}
	return odds, scores, nil
}

// images are those that the decoder makes of codes, with pixels in [0, 1].
func (t *training) images(codes []float32) ([]float32, error) {
	odds, _, err := t.decode(codes)
	return shade(odds), err
}

// autoencode returns images as the autoencoder makes them again.
func (t *training) autoencode(x []float32) ([]float32, error) {
	codes, err := t.learner.Inner(x)
	if err != nil {
		return nil, err
	}
	return t.images(codes)
}
