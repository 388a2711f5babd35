package dpsinkhorn

import (
	"math/rand/v2"

	"molehill/models/generator"
	"molehill/models/semidebiased"
	"molehill/privacy/noise"
	"molehill/transport"
)

// training is a generator in training.
type training struct {
	config    *Config
	rows      *Rows
	generator *generator.Generator
	public    noise.Source
	before    int // steps that were made before the present stage
}

// newTraining returns a generator with weights from the public source.
func newTraining(c *Config, rows *Rows, public noise.Source) (*training, error) {
	fresh, err := generator.NewWith(rows.Backend, c.design(rows), c.optimizer(), public.Stream("generator", 0).Uint64())
	return &training{config: c, rows: rows, generator: fresh, public: public}, err
}

// input is noise for rows with labels, which never touches a record.
func (t *training) input(labels []int, rng *rand.Rand) (transport.Points, error) {
	if images, ok := t.config.design(t.rows).(generator.Images); ok {
		return images.Draw(rng, labels)
	}
	z := transport.NewPoints(len(labels), t.config.Latent)
	for i := range z.Data {
		z.Data[i] = float32(rng.NormFloat64())
	}
	return generator.Conditional(z, labels, len(t.rows.Classes))
}

// draw is what the generator makes a step's rows of, and their labels: evenly drawn, or
// those that a guide wants.
func (t *training) draw(step int, g guide) (z transport.Points, labels []int, err error) {
	total, _ := t.config.loss(len(t.rows.Classes)).Split(t.config.Generated)
	rng := t.public.Stream("generator input", t.before+step)
	labels = make([]int, total)
	for i := range labels {
		labels[i] = rng.IntN(len(t.rows.Classes))
	}
	if g, ok := g.(labeller); ok {
		g.label(labels)
	}
	z, err = t.input(labels, rng)
	return z, labels, err
}

// step makes the generator learn once, at a step of so many of a stage.
func (t *training) step(g guide, step, steps int) error {
	z, labels, err := t.draw(step, g)
	if err != nil {
		return err
	}
	velocity := func(x transport.Points) ([]float32, error) {
		gradient, err := g.gradient(step, semidebiased.Batch{Points: x, Labels: labels})
		for i := range gradient {
			gradient[i] *= -float32(len(labels))
		}
		return gradient, err
	}
	rate := t.config.rate(step, steps)
	if private, ok := g.(sanitiser); ok {
		return t.generator.StepByParameters(z, rate, velocity, func(gradient []float32) error { return private.sanitise(step, gradient) })
	}
	return t.generator.Step(z, rate, velocity)
}

// generate returns rows of every class in turn, always the same ones.
func (t *training) generate(count int) (semidebiased.Batch, error) {
	labels := make([]int, count)
	for i := range labels {
		labels[i] = i % len(t.rows.Classes)
	}
	z, err := t.input(labels, t.public.Stream("samples", 0))
	if err != nil {
		return semidebiased.Batch{}, err
	}
	x, err := t.generator.Generate(z)
	return semidebiased.Batch{Points: x, Labels: labels}, err
}
