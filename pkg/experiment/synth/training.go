package synth

import (
	"math"

	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/models/train"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/dpsinkhorn"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// training is a generator of rows that learns from records.
type training struct {
	*bySinkhorn
	program *dpsinkhorn.Program
	records *table.Table
	release *privacy.Releaser
	public  noise.Source
	steps   int

	// Since the last tell.
	shares  []float32 // of outcomes then
	lossSum float64
	count   int // of steps
}

// train starts a training, with weights from the public source.
func (m *bySinkhorn) train(b *backend.Backend, public noise.Source, t *table.Table, release *privacy.Releaser, steps int) (*training, error) {
	c := m.config
	design := rowNetwork{Latent: c.Latent, Width: c.Width, Outcomes: m.places.sizes()}
	var err error
	if m.made, err = generator.NewWith(b, design, train.Optimizer{Name: train.Adam}, public.Stream("generator", 0).Uint64()); err != nil {
		return nil, err
	}
	program, err := m.loss().Compile(b, c.Generated, c.Batch, m.places.dim)
	if err != nil {
		return nil, err
	}
	return &training{bySinkhorn: m, program: program, records: t, release: release, public: public, steps: steps}, nil
}

func (t *training) close() { t.program.Close() }

// step makes the generator learn once. What it draws depends on the step alone, so
// that a training that was killed goes on as if nothing had been.
func (t *training) step(step int) error {
	total, _ := t.loss().Split(t.config.Generated)
	z := t.input(total, t.public.Stream("generator input", step))
	rate := t.config.LearningRate / 2 * (1 + math.Cos(math.Pi*float64(step)/float64(t.steps)))
	return t.made.Step(z, rate, func(probabilities transport.Points) ([]float32, error) {
		gradient, err := t.gradient(step, t.means(probabilities))
		if err != nil {
			return nil, err
		}
		velocity := make([]float32, len(probabilities.Data))
		for i := range total {
			to := velocity[i*probabilities.Dim : (i+1)*probabilities.Dim]
			t.places.pull(to, gradient[i*t.places.dim:(i+1)*t.places.dim])
			for k := range to {
				to[k] *= -float32(total)
			}
		}
		return velocity, nil
	})
}

// means returns where rows of probabilities are on average. It is these that meet the
// records: rows drawn of them would bring noise of their own.
func (t *training) means(probabilities transport.Points) transport.Points {
	x := transport.NewPoints(probabilities.Len(), t.places.dim)
	for i := range x.Len() {
		t.places.mean(x.Row(i), probabilities.Row(i))
	}
	return x
}

// gradient returns the gradient of the loss by generated rows x, [total, dim], after
// noise. It is the only part of a step that sees records.
func (t *training) gradient(step int, x transport.Points) ([]float32, error) {
	rows, err := t.release.Draw(step)
	if err != nil {
		return nil, err
	}
	pull, err := t.against(x, rows)
	if err != nil {
		return nil, err
	}
	t.count++
	if !t.config.budget().Private() {
		t.lossSum += pull.Loss
		return pull.ByX, nil
	}
	return pull.ByX, t.sanitise(pull.ByX, step)
}

// against is the loss of generated rows against some records, before noise.
func (t *training) against(x transport.Points, rows []int) (dpsinkhorn.Pull, error) {
	y := transport.NewPoints(len(rows), t.places.dim)
	for k, i := range rows {
		t.places.of(y.Row(k), t.records, i)
	}
	return t.program.Gradient(dpsinkhorn.Batch{Points: x, Labels: make([]int, x.Len())}, dpsinkhorn.Batch{Points: y, Labels: make([]int, y.Len())})
}

// sanitise clips a gradient as a whole and adds the noise of a step, in place.
func (t *training) sanitise(gradient []float32, step int) error {
	return dpsinkhorn.Whole.Sanitise(gradient, t.config.Generated, t.places.dim, t.config.Bound, t.release, step)
}

// tell says how the training goes since the last time: how far the columns of what it
// generates have moved. The loss looks at records, and is told only where nothing is
// promised to them.
func (t *training) tell() (run.Values, error) {
	probabilities, err := t.made.Generate(t.input(generatedAtOnce, t.public.Stream("rows to tell of", 0)))
	if err != nil {
		return nil, err
	}
	shares := make([]float32, probabilities.Dim)
	for i := range probabilities.Len() {
		for k, v := range probabilities.Row(i) {
			shares[k] += v / generatedAtOnce
		}
	}
	values := run.Values{}
	if t.shares != nil {
		var apart float64
		for k, v := range shares {
			apart += math.Abs(float64(v-t.shares[k])) / 2
		}
		values[movedName] = apart / float64(len(t.places.corners))
	}
	if !t.config.budget().Private() && t.count > 0 {
		values[lossName] = t.lossSum / float64(t.count)
	}
	t.shares, t.lossSum, t.count = shares, 0, 0
	return values, nil
}
