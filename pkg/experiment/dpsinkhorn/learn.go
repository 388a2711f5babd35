package dpsinkhorn

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/pkg/run"
	"molehill/transport/sliced"
)

// stage is so many steps with a guide.
type stage struct {
	open  func() (guide, error)
	steps int
}

// learn makes the steps of stages from the last checkpoint on. Each begins with an
// optimiser that remembers nothing.
func learn(ctx context.Context, r *run.Run, t *training, stages ...stage) error {
	done, _, err := r.Restore(func(done int, from io.Reader) error { return t.generator.Restore(from, done) })
	if err != nil {
		return err
	}
	p := &progress{Run: r}
	for _, s := range stages {
		p.total += s.steps
	}
	for _, s := range stages {
		if done < t.before+s.steps {
			if done == t.before && done > 0 {
				if err := t.restart(); err != nil {
					return err
				}
			}
			if err := t.run(ctx, p, s, done-t.before); err != nil {
				return err
			}
			done = t.before + s.steps
		}
		t.before += s.steps
	}
	return nil
}

// run makes the steps of a stage from one on.
func (t *training) run(ctx context.Context, p *progress, s stage, from int) error {
	g, err := s.open()
	if err != nil {
		return err
	}
	defer g.close()
	advance, apart, stop, err := t.stepper(g, s.steps)
	if err != nil {
		return err
	}
	defer stop()
	end := t.before + s.steps
	return run.Loop{Total: end, Later: p.total - end, Apart: apart, Save: t.generator.Save, Step: func(done int) (run.Values, error) {
		if err := advance(done - t.before); err != nil {
			return nil, err
		}
		return p.look(t, g, done+1)
	}}.Run(ctx, p.Run, t.before+from)
}

// joins says whether steps on a backend are joined; tests have others join, too.
var joins = func(b *backend.Backend) bool { return !b.OnCPU() }

// stepper is how steps of a stage are made, and every how many the training may be saved.
func (t *training) stepper(g guide, steps int) (advance func(step int) error, apart int, stop func(), err error) {
	if g, ok := g.(*byImages); ok && joins(t.rows.Backend) {
		j, err := t.join(g, steps)
		return j.step, j.every, j.close, err
	}
	return func(step int) error { return t.step(g, step, steps) }, 1, func() {}, nil
}

// progress is what a run tells and shows of its steps.
type progress struct {
	*run.Run
	total int       // steps
	shown time.Time // when images were, the last time
}

// look is what is told of a training after so many steps, if anything.
func (p *progress) look(t *training, g guide, done int) (run.Values, error) {
	if done%max(1, p.total/20) != 0 && done != p.total {
		return nil, nil
	}
	made, err := t.generate(min(progressRows, t.config.Samples)) // no more than in the end
	if err != nil {
		return nil, err
	}
	distance, err := t.distance(made, p.Spec.Seed)
	if err != nil {
		return nil, err
	}
	values := run.Values{"sliced W₂": distance}
	if looked, ok := g.(observer); ok && (p.Spec.Research || !t.config.budget().Private()) {
		values["marginal error, non-private"] = looked.marginalError()
	}
	if time.Since(p.shown) > previewEvery && done < p.total {
		if err := preview(p.Run, t, made); err != nil {
			return nil, err
		}
		p.shown = time.Now()
	}
	return values, nil
}

const (
	progressRows  = 1000            // generated for the distance that is shown on the way
	distanceLines = 128             // directions of it
	previewEvery  = 2 * time.Second // between images of what is learned, for those who watch
)

// distance is the sliced W₂ between generated and held-out rows, as many or all that there
// are, in their space.
func (t *training) distance(made semidebiased.Batch, seed uint64) (float64, error) {
	test := t.rows.Test
	test.Data = test.Data[:min(made.Len(), test.Len())*test.Dim]
	d, err := sliced.SW2(t.rows.place(made.Points), test, sliced.Uniform(test.Dim, distanceLines, rand.New(rand.NewPCG(seed, 0x736c6963))))
	return d.Value, err
}
