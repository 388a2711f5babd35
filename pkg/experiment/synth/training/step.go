package training

import (
	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/models/semidebiased"
	"molehill/models/train"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// Training is a method at work: a generator that learns from records, step by step.
type Training struct {
	*Method
	// Release is what all that a step sees of records goes through.
	Release *privacy.Releaser

	program *semidebiased.Program
	records Records
	public  noise.Source
	steps   int

	// Since Tell.
	shown   transport.Points // what was generated then
	lossSum float64
	count   int // of steps
}

// Start starts a training of so many steps, with weights from the public source. Close
// the training, and then the method.
func (m *Method) Start(b *backend.Backend, public noise.Source, records Records, release *privacy.Releaser, steps int) (*Training, error) {
	var err error
	if m.made, err = generator.NewWith(b, m.Subject.Network(m.Settings), train.Optimizer{Name: train.Adam}, public.Stream("generator", 0).Uint64()); err != nil {
		return nil, err
	}
	program, err := m.loss().Compile(b, m.Generated, m.Batch, m.Subject.Dim())
	if err != nil {
		return nil, err
	}
	m.tally = tally{sums: make([]float64, m.Classes), batch: float64(m.Batch), noise: release.NoiseStd() / m.weight() / float64(m.Batch)}
	return &Training{Method: m, Release: release, program: program, records: records, public: public, steps: steps}, nil
}

// Close releases what the training holds, and leaves the generator.
func (t *Training) Close() { t.program.Close() }

// Step makes the generator learn once. What it draws depends on the step and on what
// was released before alone, so that a training that was killed goes on as if nothing
// had been.
func (t *Training) Step(step int) error {
	total, extra := t.loss().Split(t.Generated)
	classes := make([]int, total)
	if t.counts() {
		rng, frequencies := t.public.Stream("classes", step), t.Frequencies()
		copy(classes, draw(frequencies, total-extra, rng))
		copy(classes[total-extra:], draw(frequencies, extra, rng))
	}
	z := t.input(classes, t.public.Stream("generator input", step))
	return t.made.Step(z, train.Cosine.Rate(t.LearningRate, step, t.steps), func(made transport.Points) ([]float32, error) {
		gradient, counts, err := t.Gradient(step, semidebiased.Batch{Points: t.met(made), Labels: classes})
		if err != nil {
			return nil, err
		}
		t.tally.add(counts)
		velocity, dim := make([]float32, len(made.Data)), t.Subject.Dim()
		for i := range total {
			to := velocity[i*made.Dim : (i+1)*made.Dim]
			t.Subject.Pull(to, gradient[i*dim:(i+1)*dim])
			for k := range to {
				to[k] *= -float32(total)
			}
		}
		return velocity, nil
	})
}

// met returns where generated rows meet records.
func (t *Training) met(made transport.Points) transport.Points {
	x := transport.NewPoints(made.Len(), t.Subject.Dim())
	for i := range x.Len() {
		t.Subject.Meet(x.Row(i), made.Row(i))
	}
	return x
}

// Gradient returns the gradient of the loss by generated rows, [total, dim], and how
// many of the step's records are of each class, both as they are released. It is the
// only part of a step that sees records.
func (t *Training) Gradient(step int, x semidebiased.Batch) (gradient []float32, classes []float64, err error) {
	rows, err := t.Release.Draw(step)
	if err != nil {
		return nil, nil, err
	}
	pull, classes, err := t.against(x, rows)
	if err != nil {
		return nil, nil, err
	}
	t.count++
	if t.Budget.Private() {
		err = t.sanitise(pull.ByX, x.Dim, classes, t.Release, step)
	} else {
		t.lossSum += pull.Loss
	}
	return pull.ByX, classes, err
}

// against is the loss of generated rows against some records, and how many of these
// are of each class, before noise.
func (t *Training) against(x semidebiased.Batch, rows []int) (semidebiased.Pull, []float64, error) {
	y := semidebiased.Batch{Points: transport.NewPoints(len(rows), x.Dim), Labels: make([]int, len(rows))}
	classes := make([]float64, t.Classes)
	for k, i := range rows {
		class := t.records.Place(y.Row(k), i)
		if class < 0 || class >= t.Classes {
			class = 0
		}
		y.Labels[k] = class
		classes[class]++
	}
	pull, err := t.program.Gradient(x, y)
	return pull, classes, err
}

// Tell says how the training goes since the last time: how far what it generates has
// moved. The loss looks at records, and is told only where nothing is promised to them.
func (t *Training) Tell() (run.Values, error) {
	classes := make([]int, toldOf)
	for i := range classes {
		classes[i] = i % t.Classes
	}
	made, err := t.made.Generate(t.input(classes, t.public.Stream("rows to tell of", 0)))
	if err != nil {
		return nil, err
	}
	values := run.Values{}
	if t.shown.Dim > 0 {
		values[t.Subject.MovedName()] = t.Subject.Moved(t.shown, made)
	}
	if !t.Budget.Private() && t.count > 0 {
		values[lossName] = t.lossSum / float64(t.count)
	}
	t.shown, t.lossSum, t.count = made, 0, 0
	return values, nil
}
