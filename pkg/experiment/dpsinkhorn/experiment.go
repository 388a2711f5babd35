package dpsinkhorn

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"molehill/models/backend"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/noise"
	"molehill/transport/sliced"
)

// Experiment trains a generator of labelled images in one of the ways that are
// registered.
type Experiment struct{ kind *kind }

func init() {
	for _, k := range kinds {
		experiment.Registry.Register(Experiment{k})
	}
}

// Describe implements plugin.Plugin.
func (e Experiment) Describe() plugin.Info { return e.kind.Info }

// Config implements experiment.Experiment.
func (e Experiment) Config(preset experiment.Preset) experiment.Config {
	c := e.kind.config(preset)
	c.kind = e.kind
	return &c
}

// checkpointEvery is how much time a killed training may have to compute again.
const checkpointEvery = 20 * time.Second

// Run implements experiment.Experiment. It leaves the artefacts generator.npz (the
// network), samples.npy and .png ([classes·8, pixels], a row of each class), and the
// curve "sliced W₂" of rows as they are generated to held-out ones; where it protects
// nobody also "marginal error, non-private" of the plans.
func (e Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	say := func(e run.Event) { _ = r.Emit(e) } // progress that cannot be told is no reason to stop
	rows, err := load(ctx, c, say)
	if err != nil {
		return result, err
	}
	if err := r.Describe(rows.Backend.String(), rows.Origin); err != nil {
		return result, err
	}
	s, err := newStudent(c, rows, noise.Seeded(r.Spec.Seed))
	if err != nil {
		return result, err
	}
	defer func() { s.made.Close() }() // another one after a restart
	start, err := s.startBatch(ctx, say)
	if err != nil {
		return result, err
	}
	plan, claims, enrol, err := e.kind.prepare(s)
	if err != nil {
		return result, err
	}
	release, pay, err := experiment.PromiseLater(ctx, r, c.Dataset, plan, rows.Private.Data, rows.Private.Labels, claims, rows.NotCovered...)
	if err != nil {
		return result, err
	}
	steps := c.Steps
	if plan.Sampler != nil { // every step is paid for
		steps = plan.Steps
	}
	private := course{steps: steps, enrol: func() (teacher, error) {
		if _, err := pay(); err != nil {
			return nil, err
		}
		return enrol(ctx, release, say)
	}}
	if err := learn(ctx, r, s, s.begin(start), private); err != nil {
		return result, err
	}
	paid, err := pay() // a run that had made all its steps leaves nothing before it has, either
	if err != nil {
		return result, err
	}
	if err := r.WriteFile(artefact, func(to io.Writer) error { return s.made.Save(to, steps) }); err != nil {
		return result, err
	}
	if result, err = finish(ctx, r, s, steps); err != nil {
		return result, err
	}
	return result, paid.Commit(ctx)
}

// artefact is the network of a finished run.
const artefact = "generator.npz"

// course is so many steps with a teacher.
type course struct {
	enrol func() (teacher, error)
	steps int
}

// learn makes the steps of courses from the last checkpoint on. Each begins with an
// optimiser that remembers nothing.
func learn(ctx context.Context, r *run.Run, s *student, courses ...course) error {
	done, _, err := r.Restore(func(done int, from io.Reader) error { return s.made.Restore(from, done) })
	if err != nil {
		return err
	}
	p := &progress{Run: r, began: time.Now(), saved: time.Now(), first: done, every: run.Interval(checkpointEvery)}
	for _, c := range courses {
		p.total += c.steps
	}
	for _, c := range courses {
		if done < s.before+c.steps {
			if done == s.before && done > 0 {
				if err := s.restart(); err != nil {
					return err
				}
			}
			if err := s.attend(ctx, p, c, done-s.before); err != nil {
				return err
			}
			done = s.before + c.steps
		}
		s.before += c.steps
	}
	return nil
}

// attend makes the steps of a course from one on.
func (s *student) attend(ctx context.Context, p *progress, c course, from int) error {
	t, err := c.enrol()
	if err != nil {
		return err
	}
	defer t.close()
	learn, every, end, err := s.way(t, c.steps)
	if err != nil {
		return err
	}
	defer end()
	for step := from; step < c.steps; step++ {
		done := s.before + step + 1
		if err := ctx.Err(); err != nil {
			return cmp.Or(p.rest(s, done-1), err)
		}
		if err := learn(step); err != nil {
			return fmt.Errorf("step %d: %w", done, err)
		}
		if err := p.tell(s, t, done); err != nil {
			return err
		}
		if done%every == 0 && p.due() || done == p.total {
			if err := p.save(s, done); err != nil {
				return err
			}
		}
	}
	return nil
}

// joins says whether steps on a backend are joined; tests have others join, too.
var joins = func(b *backend.Backend) bool { return !b.OnCPU() }

// way is how steps of a course are made, and every how many the student may be saved.
func (s *student) way(t teacher, steps int) (learn func(step int) error, every int, end func(), err error) {
	if t, ok := t.(*byImages); ok && joins(s.rows.Backend) {
		j, err := s.join(t, steps)
		return j.step, j.every, j.close, err
	}
	return func(step int) error { return s.step(t, step, steps) }, 1, func() {}, nil
}

// progress is what a run tells, shows and keeps of its steps.
type progress struct {
	*run.Run
	began, saved, shown time.Time
	first, total        int // steps
	every               time.Duration
}

func (p *progress) tell(s *student, t teacher, done int) error {
	event := run.Event{Step: done, Total: p.total, Rate: float64(done-p.first) / time.Since(p.began).Seconds()}
	if done%max(1, p.total/20) == 0 || done == p.total {
		made, err := s.generate(min(progressRows, s.config.Samples)) // no more than in the end
		if err != nil {
			return err
		}
		distance, err := s.distance(made, p.Spec.Seed)
		if err != nil {
			return err
		}
		event.Values = run.Values{"sliced W₂": distance}
		if looked, ok := t.(observer); ok && (p.Spec.Research || !s.config.budget().Private()) {
			event.Values["marginal error, non-private"] = looked.marginalError()
		}
		if time.Since(p.shown) > previewEvery && done < p.total {
			if err := preview(p.Run, s, made); err != nil {
				return err
			}
			p.shown = time.Now()
		}
	}
	return p.Emit(event)
}

// due says whether it is time to save the student.
func (p *progress) due() bool { return time.Since(p.saved) > p.every }

func (p *progress) save(s *student, done int) error {
	err := p.Checkpoint(done, func(to io.Writer) error { return s.made.Save(to, done) })
	p.saved = time.Now()
	return err
}

// rest saves the student as it is when a run is told to stop: no step is made twice then,
// whose numbers another device might round otherwise.
func (p *progress) rest(s *student, done int) error {
	if done == 0 {
		return nil
	}
	return p.Rest(done, func(to io.Writer) error { return s.made.Save(to, done) })
}

const (
	progressRows  = 1000            // generated for the distance that is shown on the way
	distanceLines = 128             // directions of it
	previewEvery  = 2 * time.Second // between images of what is learned, for those who watch
)

// distance is the sliced W₂ between generated and as many held-out rows, in their space.
func (s *student) distance(made Batch, seed uint64) (float64, error) {
	test := s.rows.Test
	test.Data = test.Data[:min(made.Len(), test.Len())*test.Dim]
	d, err := sliced.SW2(s.rows.place(made.Points), test, sliced.Uniform(test.Dim, distanceLines, rand.New(rand.NewPCG(seed, 0x736c6963))))
	return d.Value, err
}
