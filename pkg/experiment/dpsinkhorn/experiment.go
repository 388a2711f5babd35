package dpsinkhorn

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

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
// curve "sliced W₂" of rows as they are generated to held-out ones.
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
	key, err := r.Key()
	if err != nil {
		return result, err
	}
	secret, public := noise.Keyed(key, r.Spec.Research), noise.Seeded(r.Spec.Seed)
	s, err := newStudent(c, rows, public)
	if err != nil {
		return result, err
	}
	defer s.made.Close()
	plan, claims, enrol, err := e.kind.prepare(s)
	if err != nil {
		return result, err
	}
	statement, err := plan.Statement(secret, claims, rows.NotCovered...)
	if err != nil {
		return result, err
	}
	if err := experiment.Bind(r, statement, rows.Private.Data, rows.Private.Labels); err != nil {
		return result, err
	}
	if err := r.WritePrivacy(statement); err != nil { // before the first release
		return result, err
	}
	paid, err := experiment.Reserve(ctx, r, c.Dataset, plan)
	if err != nil {
		return result, err
	}
	t, err := enrol(ctx, plan.Releaser(secret), say)
	if err != nil {
		return result, err
	}
	defer t.close()
	steps := c.Steps
	if plan.Sampler != nil { // every step is paid for
		steps = plan.Steps
	}
	if err := learn(ctx, r, s, t, steps); err != nil {
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

// learn makes the steps from the last checkpoint on.
func learn(ctx context.Context, r *run.Run, s *student, t teacher, steps int) error {
	done, _, err := r.Restore(func(done int, from io.Reader) error { return s.made.Restore(from, done) })
	if err != nil {
		return err
	}
	began, saved, shown, first, every := time.Now(), time.Now(), time.Time{}, done, run.Interval(checkpointEvery)
	for done < steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.step(t, done, steps); err != nil {
			return fmt.Errorf("step %d: %w", done+1, err)
		}
		done++
		event := run.Event{Step: done, Total: steps, Rate: float64(done-first) / time.Since(began).Seconds()}
		if done%max(1, steps/20) == 0 || done == steps {
			made, err := s.generate(progressRows)
			if err != nil {
				return err
			}
			distance, err := s.distance(made, r.Spec.Seed)
			if err != nil {
				return err
			}
			event.Values = run.Values{"sliced W₂": distance}
			if time.Since(shown) > previewEvery && done < steps {
				if err := preview(r, s, made); err != nil {
					return err
				}
				shown = time.Now()
			}
		}
		if err := r.Emit(event); err != nil {
			return err
		}
		if time.Since(saved) > every || done == steps {
			if err := r.Checkpoint(done, func(to io.Writer) error { return s.made.Save(to, done) }); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
	return nil
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
