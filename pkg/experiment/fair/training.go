package fair

import (
	"fmt"
	"io"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport/sliced"
)

// training is a model on its way, and the one door to the records that it learns
// from.
type training struct {
	promise
	config  *Config
	model   matching.Model
	learner *matching.Learner
	records *Records
	target  []float32 // [n, …]
	release *privacy.Releaser
	secret  noise.Source
	public  noise.Source
}

// newTraining returns a model with parameters from the public source. Everything
// that can be wrong with records and settings is found here, where nothing has been
// spent.
func newTraining(c *Config, on *backend.Backend, r *Records, secret, public noise.Source) (*training, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if c.CommonNoise && !secret.Research() {
		return nil, fmt.Errorf("fair: common_noise is true for a run whose noise is secret; noise that runs have in common protects nobody: make research runs (--research)")
	}
	t := &training{config: c, model: c.kind.model(c, r.Dim), records: r, secret: secret, public: public}
	var err error
	if t.target, err = c.kind.target(r); err != nil {
		return nil, err
	}
	if t.promise, err = c.promise(r, layer.Size(t.model.Network()), t.model.Outputs); err != nil {
		return nil, err
	}
	start := layer.Init(t.model.Network(), public.Stream("parameters", 0).Uint64())
	t.learner, err = matching.New(on, t.model, start, train.Optimizer{Name: train.SGD})
	return t, err
}

// step makes the model learn once. What it returns beside values is of records, and has
// no noise.
func (t *training) step(step int) (*matching.Gradient, error) {
	batch, err := t.draw(step)
	if err != nil {
		return nil, err
	}
	g, err := t.learner.Gradient(batch, t.config.clipping())
	if err != nil {
		return nil, err
	}
	if err := t.sanitise(g.Values, g.Sensitivity, step); err != nil {
		return nil, err
	}
	return g, t.learner.Step(t.config.LearningRate, g.Values)
}

// sanitise makes values private, in place.
func (t *training) sanitise(values []float64, s privacy.Sensitivity, step int) error {
	if !t.config.CommonNoise || t.NoiseStd == 0 {
		return t.release.Release(values, s, step)
	}
	// A releaser names its noise by its plan, so that no two share it. Research may.
	if !(s.Value <= t.Sensitivity.Value) {
		return fmt.Errorf("fair: a query of sensitivity %v in a plan for %v; plan for the most sensitive query", s.Value, t.Sensitivity.Value)
	}
	return t.secret.Release(values, values, t.NoiseStd, 0, "common noise", step)
}

// draw returns the batch of a step, group by group.
func (t *training) draw(step int) (b matching.Batch, err error) {
	rows, err := t.release.Draw(step)
	if err != nil {
		return b, err
	}
	b.Alpha = t.config.Alpha
	d := t.model.Outputs
	b.Directions = sliced.Orthonormal(d, (t.config.Projections+d-1)/d, t.public.Stream("directions", step))
	width := len(t.target) / t.records.Len()
	b.X, b.Target = make([]float32, 0, len(rows)*t.records.Dim), make([]float32, 0, len(rows)*width)
	for _, i := range rows {
		b.X = append(b.X, t.records.X[i*t.records.Dim:(i+1)*t.records.Dim]...)
		b.Target = append(b.Target, t.target[i*width:(i+1)*width]...)
	}
	first := 0
	next := func(k int) []int {
		at := make([]int, t.taken[k])
		for i := range at {
			at[i] = first + i
		}
		first += len(at)
		return at
	}
	for k := 0; k < len(t.taken); k += 2 {
		b.Pairs = append(b.Pairs, matching.Pair{A: next(k), B: next(k + 1)})
	}
	return b, nil
}

// saved is what a file of the model says beside its parameters.
type saved struct {
	Experiment string `json:"experiment"`
	Hidden     int    `json:"hidden"`
	Steps      int    `json:"steps"`
}

func (t *training) save(to io.Writer, done int) error {
	return t.learner.Save(to, saved{t.config.kind.Name, t.config.Hidden, done})
}

func (t *training) restore(from io.Reader, done int) error {
	var found saved
	want := saved{t.config.kind.Name, t.config.Hidden, done}
	return t.learner.Restore(from, &found, func() error {
		if found != want {
			return fmt.Errorf("fair: the file has %+v, want %+v; start a new run", found, want)
		}
		return nil
	})
}
