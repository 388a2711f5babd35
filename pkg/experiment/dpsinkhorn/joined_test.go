package dpsinkhorn

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/generator"
	"molehill/models/semidebiased"
	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/noise"
)

// trained returns a training of tiny images and a guide on records of which one is not a
// number, whose batches are empty now and then.
func trained(t *testing.T, b *backend.Backend, change func(*Config)) (*training, *byImages) {
	t.Helper()
	const side, dim = 8, 64
	c := config(t, "dp-sinkhorn", experiment.Quick)
	c.Batch, c.Generated, c.Debiasing, c.LabelScale, c.Entropy, c.Bound, c.Width = 2, 6, 0.5, 2, 1, 0.5, 4
	c.Average, c.Tolerance = 0.9, 1e-5
	if change != nil {
		change(c)
	}
	private := rows(40, dim, 3, 1)
	for i := range private.Data {
		private.Data[i] = float32(math.Tanh(float64(private.Data[i])))
	}
	private.Data[7] = float32(math.NaN())
	d := &Rows{Private: private, Classes: make([]string, 3), Height: side, Width: side, Channels: 1, Backend: b}
	s, err := newTraining(c, d, noise.Seeded(4))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.generator.Close)
	plan := planned(t, c, private.Len(), c.Generated*dim, 0.05, 0.01)
	var solver semidebiased.Solver = compiled(t, b, c.loss(3), c.Generated, room(c.Batch), dim)
	if c.kind.exact {
		if solver, err = c.loss(3).Exact(c.Generated, room(c.Batch), dim); err != nil {
			t.Fatal(err)
		}
	}
	return s, &byImages{config: c, solver: solver, rows: d, public: s.public, release: plan.Releaser(noise.Seeded(3))}
}

func joint(t *testing.T, s *training, records *byImages, steps int) *joined {
	t.Helper()
	j, err := s.join(records, steps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.close)
	return j
}

func weights(t *testing.T, s *training) (all []float32) {
	t.Helper()
	params, err := s.generator.Trainer().Average()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		all = append(all, p.Value...)
	}
	return all
}

// Joined steps are the steps: with noise and without, by each clipping, with a pause
// anywhere, and where the text's network or the code's learns.
func TestJoinedStepsAreTheSteps(t *testing.T) {
	const steps = 12
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for name, change := range map[string]func(*Config){
			"private": nil,
			"exact, per image": func(c *Config) {
				c.kind, c.Clipping, c.Architecture = &kind{exact: true}, semidebiased.PerImage, generator.DCGANCode
			},
			"open": func(c *Config) { c.Epsilon, c.Optimizer, c.LearningRate = privacy.Epsilon(math.Inf(1)), "sgd", 0.1 },
		} {
			s, records := trained(t, b, change)
			start := weights(t, s)
			for step := range steps {
				if err := s.step(records, step, steps); err != nil {
					t.Fatal(err)
				}
			}
			want := weights(t, s)
			other, way := trained(t, b, change)
			j := joint(t, other, way, steps)
			j.every = 5
			for step := range steps {
				if err := j.step(step); err != nil {
					t.Fatal(err)
				}
			}
			var apart, gone float64
			for i, v := range weights(t, other) {
				apart = max(apart, math.Abs(float64(v-want[i])))
				gone = max(gone, math.Abs(float64(want[i]-start[i])))
			}
			if !(apart < 2e-3*gone) {
				t.Errorf("%s: joined steps end %v from the others, which go %v far", name, apart, gone)
			}
			if !(math.Abs(way.off-records.off) < 1e-4) {
				t.Errorf("%s: a marginal error of %v; one by one %v", name, way.off, records.off)
			}
		}
	})
}

// A training that is saved in a pause goes on from there as the one that was not stopped,
// bit by bit, and what that has released in between is let through.
func TestJoinedStepsGoOnAfterAPause(t *testing.T) {
	const steps, every, killed = 11, 4, 7 // it goes on through another pause
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s, records := trained(t, b, nil)
		digests := map[string][32]byte{}
		remember := func(name string, digest [32]byte) error {
			if before, ok := digests[name]; ok && before != digest {
				return fmt.Errorf("%s was released of other values", name)
			}
			digests[name] = digest
			return nil
		}
		records.release.Remember(remember)
		j := joint(t, s, records, steps)
		j.every = every
		var saved bytes.Buffer
		for step := range steps {
			if err := j.step(step); err != nil {
				t.Fatal(err)
			}
			if step == every-1 {
				if err := s.generator.Save(&saved, every); err != nil {
					t.Fatal(err)
				}
			}
			if step == killed {
				releases := 0 // besides, that the key samples for this plan is remembered
				for name := range digests {
					if strings.HasPrefix(name, "release ") {
						releases++
					}
				}
				if releases != killed+1 {
					t.Fatalf("%d releases of %d steps: what is computed ahead must not be released", releases, killed+1)
				}
			}
		}
		again, guide := trained(t, b, nil)
		guide.release.Remember(remember)
		if err := again.generator.Restore(&saved, every); err != nil {
			t.Fatal(err)
		}
		j = joint(t, again, guide, steps)
		j.every = every
		for step := every; step < steps; step++ {
			if err := j.step(step); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(weights(t, s), weights(t, again)) {
			t.Error("the training that was stopped ended elsewhere")
		}
	})
}

// Behind the generator the loss is what it is by itself: whatever is real, rows that never
// met it have the same gradient, to the last bit; where nobody is there, too.
func TestJoinedRowsKnowOnlyWhatTheyMet(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, exact := range []bool{false, true} {
			s, records := trained(t, b, func(c *Config) { c.kind = &kind{exact: exact} })
			j := joint(t, s, records, 1000)
			_, labels, err := s.draw(3, records)
			if err != nil {
				t.Fatal(err)
			}
			dim := s.rows.Private.Dim
			var met [][]float32
			var others []float32
			for trial := range uint64(20) {
				real := rows(int(trial%5), dim, 3, 100+trial)
				for i := range real.Data {
					real.Data[i] *= float32(1 + trial*trial)
				}
				if trial%7 == 6 {
					real.Data[3] = float32(math.Inf(1))
				}
				in := j.prepare(3)
				if in.err != nil {
					t.Fatal(in.err)
				}
				in.fed.Free()
				if in.fed, err = records.solver.Feed(b, labels, real); err != nil {
					t.Fatal(err)
				}
				empty := trial%5 == 0 || trial == 6
				j.ahead = make(chan prepared, 1)
				j.ahead <- in
				if err := j.forward(3, j.passage.Forward); err != nil {
					t.Fatal(err)
				}
				by, count := j.pull.ByX, s.config.Generated*dim
				if others == nil {
					others = slices.Clone(by[count:])
				}
				if !slices.Equal(others, by[count:]) {
					t.Fatalf("exact %v: %d real rows moved rows that they never met", exact, real.Len())
				}
				if nothing := slices.Max(by[:count]) == 0 && slices.Min(by[:count]) == 0; nothing != empty {
					t.Errorf("exact %v: %d real rows: no pull is %v", exact, real.Len(), nothing)
				}
				met = append(met, slices.Clone(by[:count]))
			}
			if slices.Equal(met[1], met[2]) {
				t.Errorf("exact %v: real rows make no difference", exact)
			}
		}
	})
}

// What is no longer finite ends a training with what to do.
func TestJoinedStepsThatDiverge(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	s, records := trained(t, b, func(c *Config) { c.Optimizer, c.LearningRate = "sgd", 3e38 })
	j := joint(t, s, records, 50)
	for step := range 50 {
		if err = j.step(step); err != nil {
			break
		}
	}
	if !errors.Is(err, train.ErrDiverged) {
		t.Errorf("%v; want %v", err, train.ErrDiverged)
	}
}
