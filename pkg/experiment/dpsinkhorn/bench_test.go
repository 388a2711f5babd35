package dpsinkhorn

import (
	"testing"
	"time"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/privacy/noise"
)

// timed is a guide that adds up where the time of a step goes: drawing, the graph
// of the loss, and what makes its gradient private. The rest of a step is the
// generator's.
type timed struct {
	*byImages
	loss, private time.Duration
}

func (t *timed) gradient(step int, x semidebiased.Batch) ([]float32, error) {
	began := time.Now()
	p, err := t.pull(step, x)
	t.loss += time.Since(began)
	if err != nil {
		return nil, err
	}
	began = time.Now()
	defer func() { t.private += time.Since(began) }()
	return p.ByX, t.config.Clipping.Sanitise(p.ByX, t.config.Generated, x.Dim, t.config.Bound, t.release, step)
}

// timedSolver adds up the time of a solver on the host, for which a joined step waits.
type timedSolver struct {
	semidebiased.Solver
	took time.Duration
}

func (l *timedSolver) Gradient(x, real semidebiased.Batch) (semidebiased.Pull, error) {
	began := time.Now()
	defer func() { l.took += time.Since(began) }()
	return l.Solver.Gradient(x, real)
}

func (l *timedSolver) Unpack(packed []float32, rest func() ([]float32, error), in semidebiased.Fed) (semidebiased.Pull, error) {
	began := time.Now()
	defer func() { l.took += time.Since(began) }()
	return l.Solver.Unpack(packed, rest, in)
}

// A step of training: 50 real rows, and 70 generated ones of the text's network at a
// quarter of its channels (quick) and all of them (paper), by plans to a marginal error of
// 10⁻³ (exact), too, or 50 latents; by itself, and joined with the next.
func BenchmarkStep(b *testing.B) {
	on, err := backend.Open()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		config Config
		dim    int
		exact  bool
	}{
		{"quick", pixels(experiment.Quick), 28 * 28, false},
		{"paper", pixels(experiment.Paper), 28 * 28, false},
		{"exact", pixels(experiment.Paper), 28 * 28, true},
		{"latents", latents(experiment.Quick), 8, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			config := &c.config
			private := rows(60_000, c.dim, 10, 1)
			for i := range private.Len() { // within the space
				clampTo(private.Row(i), c.dim)
			}
			d := &Rows{Private: private, Held: &dataset.Dataset{}, Classes: make([]string, 10), Height: 28, Width: 28, Channels: 1, Backend: on}
			s, err := newTraining(config, d, noise.Seeded(1))
			if err != nil {
				b.Fatal(err)
			}
			defer s.generator.Close()
			config.Steps = 1_000_000
			plan, _, err := config.Plan(private.Len(), config.Generated*c.dim)
			if err != nil {
				b.Fatal(err)
			}
			var solver semidebiased.Solver
			var host timedSolver
			if c.exact {
				host.Solver, err = config.loss(10).Exact(config.Generated, room(config.Batch), c.dim)
				solver = &host
			} else {
				solver, err = config.loss(10).Compile(on, config.Generated, room(config.Batch), c.dim)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer solver.Close()
			t := &timed{byImages: &byImages{config: config, solver: solver, rows: &Rows{Private: private}, release: plan.Releaser(noise.Seeded(2))}}
			j, err := s.join(t.byImages, plan.Steps)
			if err != nil {
				b.Fatal(err)
			}
			defer j.close()
			step := 0
			for _, way := range []struct {
				name  string
				learn func(step int) error
			}{{"apart", func(step int) error { return s.step(t, step, plan.Steps) }}, {"joined", j.step}} {
				next := func(b *testing.B) {
					if err := way.learn(step); err != nil {
						b.Fatal(err)
					}
					step++
				}
				b.Run(way.name, func(b *testing.B) {
					next(b)
					j.every = 1
					next(b)
					j.every = pauseEvery
					next(b) // by now all is compiled, a pause's graphs, too
					t.loss, t.private, host.took = 0, 0, 0
					b.ResetTimer()
					for range b.N {
						next(b)
					}
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
					ms := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
					if host.took > 0 {
						b.ReportMetric(ms(host.took), "host-ms/op")
					}
					if t.loss > 0 {
						b.ReportMetric(ms(t.loss), "loss-ms/op")
						b.ReportMetric(ms(t.private), "private-ms/op")
					}
				})
			}
		})
	}
}

// clampTo brings a row into the space of images, or of latents.
func clampTo(row []float32, dim int) {
	for i, v := range row {
		if row[i] = min(1, max(-1, v)); dim == 8 {
			row[i] /= 3 // inside the unit sphere
		}
	}
}

// The loss of the text's sizes by exact plans, all of it on the host: the part of a joined
// step for which a device waits.
func BenchmarkExact(b *testing.B) {
	config := pixels(experiment.Paper)
	const dim = 28 * 28
	total, _ := config.loss(10).Split(config.Generated)
	loss, err := config.loss(10).Exact(config.Generated, room(config.Batch), dim)
	if err != nil {
		b.Fatal(err)
	}
	made, real := rows(total, dim, 10, 1), rows(config.Batch, dim, 10, 2)
	for _, x := range []semidebiased.Batch{made, real} {
		for i := range x.Len() {
			clampTo(x.Row(i), dim)
		}
	}
	for b.Loop() {
		if _, err := loss.Gradient(made, real); err != nil {
			b.Fatal(err)
		}
	}
}
