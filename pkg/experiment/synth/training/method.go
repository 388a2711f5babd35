package training

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/models/layer"
	"molehill/models/semidebiased"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
)

// Subject is what a generator learns to make.
type Subject interface {
	// Network is the generator's, from noise of Latent dimensions, with the class as
	// zeros and a one behind it where there are classes.
	Network(s Settings) generator.Design
	// Dim is that of the space where generated rows meet records, and Largest the
	// largest squared distance there.
	Dim() int
	Largest() float64
	// Meet writes where a generated row is in that space.
	Meet(to, made []float32)
	// Pull writes the gradient by a generated row of a function with this gradient by
	// where it is.
	Pull(to, gradient []float32)
	// Moved is how far generated rows have moved, and what that is called.
	Moved(from, to transport.Points) float64
	MovedName() string
}

// Layers are those of a generator's network: two hidden ones of a width, and last.
func Layers(of generator.Design, width int, last func(*graph.Node) *graph.Node) layer.Layer {
	input, output := of.Size()
	return layer.Sequence{
		layer.Dense{Name: "generator.dense1", In: input, Out: width}, layer.ReLU,
		layer.Dense{Name: "generator.dense2", In: width, Out: width}, layer.ReLU,
		layer.Dense{Name: "generator.output", In: width, Out: output},
		layer.Func(last),
	}
}

// Records are what is learned from.
type Records interface {
	// Place writes where record i is, to to, [Subject.Dim], and returns its class.
	Place(to []float32, i int) (class int)
}

// Method is DP-Sinkhorn for one run. Set the exported fields; they stay as they are.
type Method struct {
	Settings
	Subject    Subject
	Budget     privacy.Budget
	Steps      int     // at most; 0 for as many as suit
	Data       string  // what the run says that it looks at; others can read it
	Classes    int     // of records; 1 for none
	LabelScale float64 // α_c: two classes are 2α_c² further apart than one

	made  *generator.Generator
	tally tally
}

const (
	defaultSteps = 20_000 // where the settings do not say
	told         = 50     // times that a training tells of itself
	toldOf       = 1024

	// GeneratorFile is the artefact with what noisy gradients have trained.
	GeneratorFile = "generator.npz"
	lossName      = "loss"
)

// loss is the semi-debiased Sinkhorn loss (001 Eq. 6).
func (m *Method) loss() semidebiased.Loss {
	return semidebiased.Loss{Classes: m.Classes, LabelScale: m.LabelScale, Entropy: m.Entropy, Debiasing: m.Debiasing, Iterations: 200, Tolerance: 1e-3}
}

// Plan plans as many steps as the settings say with the least noise that proves ε for
// them, or, with noise of their own, as many as the budget pays for.
func (m *Method) Plan(n int) (privacy.Plan, error) {
	if m.Batch > n {
		return privacy.Plan{}, fmt.Errorf("batch is %d of %d records; draw at most all of them, with batch=%[2]d or less", m.Batch, n)
	}
	if _, err := backend.Open(); err != nil { // before anything is paid for
		return privacy.Plan{}, err
	}
	loss := m.loss()
	if err := loss.CheckIterations(m.Subject.Largest() + loss.Largest(0, 0)); err != nil {
		return privacy.Plan{}, err
	}
	s, err := m.sensitivity()
	if err != nil {
		return privacy.Plan{}, err
	}
	plan := privacy.Plan{Sensitivity: s, Sampler: sampling.FixedSize{Size: m.Batch}, Records: n, Steps: m.Steps, Budget: m.Budget, Coordinates: m.coordinates(m.Subject.Dim())}
	if plan.Steps == 0 {
		plan.Steps = defaultSteps
	}
	if m.Noise == 0 || !plan.Budget.Private() {
		return privacy.Calibrate(plan)
	}
	plan.NoiseStd = m.Noise * s.Value
	return plan.WithinBudget()
}

// Learn trains the generator, through as many releases as were planned.
func (m *Method) Learn(ctx context.Context, r *run.Run, records Records, release *privacy.Releaser, steps int) error {
	b, err := backend.Open()
	if err != nil {
		return err
	}
	if err := r.ComputedOn(b.String(), m.Data); err != nil {
		return err
	}
	training, err := m.Start(b, noise.Seeded(r.Spec.Seed), records, release, steps)
	if err != nil {
		return err
	}
	defer training.Close()
	done, _, err := r.Restore(func(done int, from io.Reader) error { return m.restore(from, done) })
	if err != nil {
		return err
	}
	if _, err := training.Tell(); err != nil { // from here on
		return err
	}
	err = run.Loop{Total: steps, Save: m.save, Step: func(done int) (run.Values, error) {
		if err := training.Step(done); err != nil {
			return nil, err
		}
		if done++; done%max(1, steps/told) == 0 || done == steps {
			return training.Tell()
		}
		return nil, nil
	}}.Run(ctx, r, done)
	if err != nil {
		return err
	}
	return r.WriteFile(GeneratorFile, func(to io.Writer) error { return m.made.Save(to, steps) })
}

// save writes all that a training has learned so far.
func (m *Method) save(to io.Writer, done int) error {
	if err := m.tally.save(to); err != nil {
		return err
	}
	return m.made.Save(to, done)
}

func (m *Method) restore(from io.Reader, done int) error {
	if err := m.tally.restore(from, done); err != nil {
		return err
	}
	return m.made.Restore(from, done)
}

// Frequencies are those of the classes, as the releases tell of them.
func (m *Method) Frequencies() []float64 { return m.tally.frequencies() }

// FrequencyNoise is the standard deviation of the noise on a frequency, before all are
// brought nearer to equal ones.
func (m *Method) FrequencyNoise() float64 {
	return m.tally.noise / math.Sqrt(max(1, float64(m.tally.steps)))
}

// Generate makes rows of these classes, which without classes are 0, of noise.
func (m *Method) Generate(classes []int, rng *rand.Rand) (transport.Points, error) {
	return m.made.Generate(m.input(classes, rng))
}

// GenerateAll makes so many rows of these classes, nil without classes, some at a time, of
// which each gets those from a place on (Generate).
func (m *Method) GenerateAll(ctx context.Context, rows int, classes []int, rng *rand.Rand, each func(first int, made transport.Points)) error {
	const atOnce = 1024
	for first := 0; first < rows; first += atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		of := make([]int, min(atOnce, rows-first))
		copy(of, classes[min(first, len(classes)):])
		made, err := m.Generate(of, rng)
		if err != nil {
			return err
		}
		each(first, made)
	}
	return nil
}

// input draws the generator's noise for rows of these classes.
func (m *Method) input(classes []int, rng *rand.Rand) transport.Points {
	dim := m.Latent
	if m.Classes > 1 {
		dim += m.Classes
	}
	z := transport.NewPoints(len(classes), dim)
	for i, class := range classes {
		row := z.Row(i)
		for k := range m.Latent {
			row[k] = float32(rng.NormFloat64())
		}
		if m.Classes > 1 {
			row[m.Latent+class] = 1
		}
	}
	return z
}

// Close releases the generator.
func (m *Method) Close() {
	if m.made != nil {
		m.made.Close()
	}
}

// Told is what a report says of the releases, for generated and private records that
// are called so.
func (m *Method) Told(statement privacy.Statement, records string) string {
	text := fmt.Sprintf("Released were %d gradients, of a Sinkhorn loss between %d generated %[3]s and %d private ones drawn afresh each time.", statement.Steps, m.Generated, records, m.Batch)
	noise := "without any noise"
	if statement.NoiseStd > 0 {
		noise = "under the same noise"
		text += fmt.Sprintf(" The noise on each of a gradient's %d numbers is %.3g times as large as all that one of the private %s can move a release by.",
			m.Generated*m.Subject.Dim(), statement.NoiseStd/statement.Sensitivity.Value, records)
	}
	if m.counts() {
		text += " With each came how many of those drawn were of which class, " + noise + "."
	}
	return text
}
