package dpsinkhorn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/privacy"
	"molehill/privacy/clip"
	"molehill/privacy/noise"
	"molehill/transport"
)

// teacher says where generated labelled rows should go. What it answers is private
// already, unless it sanitises what is made of it.
type teacher interface {
	// gradient is that of the loss by the rows of x, [n, dim].
	gradient(step int, x Batch) ([]float32, error)
	close()
}

// sanitiser is a teacher whose answers must not be used but for a gradient by the
// generator's parameters, which sanitise makes private, in place.
type sanitiser interface {
	teacher
	sanitise(step int, byParameters []float32) error
}

// roll is a teacher that says which classes it wants rows of: it writes them to labels,
// [n+n′].
type roll interface{ call(labels []int) }

// observer is a teacher that tells how far the plan of its last step was from its
// marginals (Pull.MarginalError). That is of records, and nothing pays for it, so it is
// told only where a run protects nobody anyway: without a budget, or with noise from its
// seed.
type observer interface{ marginalError() float64 }

// look tells generated rows how they stand to real ones: a Program or Exact. By itself it
// takes both from the host; behind a generator (train.Head) it meets generated rows where
// they are made, beside what give puts there.
type look interface {
	Gradient(x, real Batch) (Pull, error)
	give(on *backend.Backend, labels []int, real Batch) (given, error)
	behind(x *graph.Node, more []*graph.Node) []*graph.Node
	// unpack takes behind's first result, but for the last number, and waits for the second.
	unpack(packed []float32, rest func() ([]float32, error), in given) (Pull, error)
	Close()
}

// byImages learns from records: a Poisson batch and noise at each step (001
// Algorithm 1).
type byImages struct {
	config  *Config
	look    look
	rows    *Rows
	public  noise.Source // of how images are moved
	release *privacy.Releaser
	places  places
	off     float64 // of the last step's marginals
}

// room is how many real rows a step looks at: more are drawn less than three times in
// ten thousand steps.
func room(batch int) int {
	return batch + int(4*math.Sqrt(float64(batch))) + 1
}

// draw is a step's real rows.
func (t *byImages) draw(step int) (Batch, error) {
	rows, err := t.release.Draw(step)
	if err != nil {
		return Batch{}, err
	}
	return t.rows.multiply(t.rows.Private.subset(rows), t.config.Multiplicity, t.public.Stream("copies", step)), nil
}

func (t *byImages) pull(step int, x Batch) (Pull, error) {
	real, err := t.draw(step)
	if err != nil {
		return Pull{}, err
	}
	p, err := t.look.Gradient(x, real)
	t.off = p.MarginalError
	return p, err
}

func (t *byImages) marginalError() float64 { return t.off }

func (t *byImages) gradient(step int, x Batch) ([]float32, error) {
	p, err := t.pull(step, x)
	if err != nil {
		return nil, err
	}
	settle, err := t.begin(step, p)
	if err != nil {
		return nil, err
	}
	return p.ByX, settle()
}

// begin makes what a step has learned private, in place, for those who go on computing
// until it is settled that it may be released.
func (t *byImages) begin(step int, p Pull) (settle func() error, err error) {
	if !t.config.budget().Private() {
		return func() error { return nil }, checkFinite(p.ByX)
	}
	return t.config.Clipping.begin(p.ByX, t.config.Generated, t.rows.Private.Dim, t.config.Bound, t.release, step, &t.places)
}

func (t *byImages) close() { t.look.Close() }

// byParameters learns from records, too, but its noise is that of DP-SGD: on the
// gradient by the generator's parameters, clipped as a whole (the ablation of 001
// Table 2).
type byParameters struct{ byImages }

func (t *byParameters) gradient(step int, x Batch) ([]float32, error) {
	p, err := t.pull(step, x)
	return p.ByX, err
}

func (t *byParameters) sanitise(step int, gradient []float32) error {
	if !t.config.budget().Private() {
		return checkFinite(gradient)
	}
	if err := clip.Joint(t.config.Bound, gradient); err != nil {
		return err
	}
	s, err := t.config.sensitivity()
	if err != nil {
		return err
	}
	return t.places.release(gradient, s, t.release, step)
}

// subset returns a copy of some rows.
func (b Batch) subset(rows []int) Batch {
	labels := make([]int, len(rows))
	for i, row := range rows {
		labels[i] = b.Labels[row]
	}
	return Batch{b.Points.Subset(rows), labels}
}

// checkFinite refuses a gradient that is not. One from records gets an answer in any
// case, as whether it has overflowed is private (privacy/clip makes it 0).
func checkFinite(gradient []float32) error {
	if !finite(gradient) {
		return fmt.Errorf("the loss is no longer finite; train with a smaller learning rate")
	}
	return nil
}

// student is a generator in training.
type student struct {
	config *Config
	rows   *Rows
	made   *generator.Generator
	public noise.Source
	before int // steps that were made before the present course
}

// newStudent returns a generator with weights from the public source.
func newStudent(c *Config, rows *Rows, public noise.Source) (*student, error) {
	made, err := generator.NewWith(rows.Backend, c.design(rows), c.optimizer(), public.Stream("generator", 0).Uint64())
	return &student{config: c, rows: rows, made: made, public: public}, err
}

// input is noise for rows with labels, which never touches a record.
func (s *student) input(labels []int, rng *rand.Rand) (transport.Points, error) {
	if images, ok := s.config.design(s.rows).(generator.Images); ok {
		return images.Draw(rng, labels)
	}
	z := transport.NewPoints(len(labels), s.config.Latent)
	for i := range z.Data {
		z.Data[i] = float32(rng.NormFloat64())
	}
	return generator.Conditional(z, labels, len(s.rows.Classes))
}

// draw is what the generator makes a step's rows of, and their labels: evenly drawn, or
// those that a teacher wants.
func (s *student) draw(step int, t teacher) (z transport.Points, labels []int, err error) {
	total, _ := s.config.loss(len(s.rows.Classes)).Split(s.config.Generated)
	rng := s.public.Stream("generator input", s.before+step)
	labels = make([]int, total)
	for i := range labels {
		labels[i] = rng.IntN(len(s.rows.Classes))
	}
	if t, ok := t.(roll); ok {
		t.call(labels)
	}
	z, err = s.input(labels, rng)
	return z, labels, err
}

// step makes the generator learn once, at a step of so many of a course.
func (s *student) step(t teacher, step, steps int) error {
	z, labels, err := s.draw(step, t)
	if err != nil {
		return err
	}
	velocity := func(x transport.Points) ([]float32, error) {
		gradient, err := t.gradient(step, Batch{x, labels})
		for i := range gradient {
			gradient[i] *= -float32(len(labels))
		}
		return gradient, err
	}
	rate := s.config.rate(step, steps)
	if private, ok := t.(sanitiser); ok {
		return s.made.StepByParameters(z, rate, velocity, func(gradient []float32) error { return private.sanitise(step, gradient) })
	}
	return s.made.Step(z, rate, velocity)
}

// generate returns rows of every class in turn, always the same ones.
func (s *student) generate(count int) (Batch, error) {
	labels := make([]int, count)
	for i := range labels {
		labels[i] = i % len(s.rows.Classes)
	}
	z, err := s.input(labels, s.public.Stream("samples", 0))
	if err != nil {
		return Batch{}, err
	}
	x, err := s.made.Generate(z)
	if err != nil {
		return Batch{}, err
	}
	if err := x.Check(); err != nil {
		return Batch{}, fmt.Errorf("what the generator makes is no longer finite (%w); train with a smaller learning_rate than %v", err, s.config.LearningRate)
	}
	return Batch{x, labels}, nil
}
