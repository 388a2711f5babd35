package privateflow

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gomlx/compute"

	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
)

// What follows a guide (Config.Learner).
const (
	Particles = "particles" // points that move
	Generator = "generator" // a network, whose output moves (models/generator)
)

// learner follows a guide, step by step.
type learner interface {
	step(step int) error
	// points are what has been learned, as many as Config.Particles.
	points() (transport.Points, error)
	save(to io.Writer, done int) error
	restore(from io.Reader, done int) error
	close()
}

func newLearner(ctx context.Context, c *Config, f flow.Flow, guide flow.Guide, dim int, b *backend.Backend, public noise.Source) (learner, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if c.Learner != Generator {
		return &particles{f, guide, f.Start(c.Particles, dim)}, nil
	}
	input, classed := dim, classesOf(guide)
	if classed != nil {
		input += classed.Classes()
	}
	g, done, err := newGenerator(ctx, b, generator.Config{Noise: input, Output: dim}, public.Stream("generator", 0).Uint64())
	if err != nil {
		return nil, err
	}
	return &generating{c, f, guide, classed, g, dim, public, done}, nil
}

// newGenerator returns a generator, which is the last run's where it is of the same
// design, so that it is not compiled again. done releases it.
func newGenerator(ctx context.Context, b *backend.Backend, design generator.Config, seed uint64) (g *generator.Generator, done func(), err error) {
	type made struct {
		of generator.Config
		on compute.Backend
		g  *generator.Generator
	}
	last, done, err := experiment.Last(ctx, "generator", func(last made) bool { return last.of == design && last.on == b.Engine }, func() (made, error) {
		g, err := generator.New(b, design, seed)
		return made{design, b.Engine, g}, err
	}, func(last made) { last.g.Close() })
	if err == nil {
		if err = last.g.Reset(seed); err != nil {
			done()
		}
	}
	return last.g, done, err
}

// particles move along the guide's drift.
type particles struct {
	flow  flow.Flow
	guide flow.Guide
	x     transport.Points
}

func (p *particles) step(step int) error               { return p.flow.Step(p.x, p.guide, step) }
func (p *particles) points() (transport.Points, error) { return p.x, nil }
func (p *particles) close()                            {}
func (p *particles) save(to io.Writer, _ int) error {
	return binary.Write(to, binary.LittleEndian, p.x.Data)
}
func (p *particles) restore(from io.Reader, _ int) error {
	return binary.Read(from, binary.LittleEndian, p.x.Data)
}

// generating is a generator whose output would move along the guide's drift.
type generating struct {
	config  *Config
	flow    flow.Flow
	guide   flow.Guide
	classed classed // the guide, if it has classes
	made    *generator.Generator
	dim     int
	public  noise.Source
	done    func()
}

func (n *generating) step(step int) error {
	z, err := n.noise(n.config.Generated, "generator input", step)
	if err != nil {
		return err
	}
	return n.made.Step(z, train.Cosine.Rate(n.config.LearningRate, step, n.config.Steps), func(x transport.Points) ([]float32, error) {
		return n.guide.Drift(n.flow, x, step)
	})
}

// points are those of one input, so that measurements on the way compare.
func (n *generating) points() (transport.Points, error) {
	z, err := n.noise(n.config.Particles, "generated", 0)
	if err != nil {
		return z, err
	}
	return n.made.Generate(z)
}

// noise is a generator's input, followed by the classes to make if the guide has
// some: it never touches a record and needs no secrecy.
func (n *generating) noise(rows int, label string, step int) (transport.Points, error) {
	z := transport.NewPoints(rows, n.dim)
	if err := n.public.Normal(z.Data, 1, label, step); err != nil {
		return z, fmt.Errorf("the generator's input: %w", err)
	}
	if n.classed == nil {
		return z, nil
	}
	return generator.Conditional(z, n.classed.Labels(rows), n.classed.Classes())
}

func (n *generating) save(to io.Writer, done int) error      { return n.made.Save(to, done) }
func (n *generating) restore(from io.Reader, done int) error { return n.made.Restore(from, done) }
func (n *generating) close()                                 { n.done() }

// Follow moves particles along a guide that is there, as a run does, and returns
// them where they are scored, with their labels if the guide has some.
func Follow(ctx context.Context, c *Config, guide flow.Guide, dim int, public noise.Source) (x transport.Points, labels []int, err error) {
	p := particles{flow: flow.Flow{StepSize: c.StepSize, Random: public}, guide: guide}
	if err := p.flow.Check(); err != nil {
		return x, nil, err
	}
	p.x = p.flow.Start(c.Particles, dim)
	for step := range c.Steps {
		if err := ctx.Err(); err != nil {
			return x, nil, err
		}
		if err := p.step(step); err != nil {
			return x, nil, fmt.Errorf("step %d: %w", step+1, err)
		}
	}
	return c.place(p.x), labelsOf(guide, p.x.Len()), nil
}
