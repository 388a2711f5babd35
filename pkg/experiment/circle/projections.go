package circle

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"molehill/models/backend"
	"molehill/models/generator"
	"molehill/models/train"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
	"molehill/transport/sliced"
)

// byProjections learns from projections of some records of Z with noise, which are
// released once: Rakotomamonjy and Ralaivola 2021, as Greenewald et al. 2024 mend it
// (Algorithm 1). Points that are made get as much noise on their projections, lest the
// generator learn to make the noise. X is transformed as it is, which protects nothing
// of it.
type byProjections struct {
	config     *Config
	plan       privacy.Plan
	x, z       transport.Points
	directions sliced.Directions // of all steps
	released   [][]float64       // sorted noisy projections of Z, [k, batch]
	made       *generator.Generator
	public     noise.Source
}

func withoutX(c *Config) error {
	if c.Both {
		return fmt.Errorf("both is true; noisy projections protect nothing of X (004 D.1), leave it out")
	}
	return nil
}

// fixed are the directions of all steps.
func (c *Config) fixed(public noise.Source) sliced.Directions {
	return sliced.Orthonormal(2, (c.Projections+1)/2, public.Stream("directions", 0))
}

func projections(c *Config, on *backend.Backend, x, z transport.Points, public noise.Source) (method, []privacy.Claim, error) {
	w := &byProjections{config: c, x: x, z: z, public: public, directions: c.fixed(public)}
	sampler := sampling.FixedSize{Size: c.Batch}
	var err error
	w.plan, err = privacy.Calibrate(privacy.Plan{Sensitivity: sliced.ProjectionSensitivity(w.directions, 2*c.Limit), Sampler: sampler, Records: c.Records,
		Steps: 1, Budget: c.budget(), Coordinates: c.Batch * w.directions.Count})
	if err != nil {
		return nil, nil, err
	}
	w.made, err = generator.NewWith(on, network{}, train.Optimizer{Name: c.Optimizer}, public.Stream("parameters", 0).Uint64())
	return w, nil, err
}

// begin releases projections of some records, moved to within M of the origin.
func (w *byProjections) begin(release *privacy.Releaser) error {
	rows, err := release.Draw(0)
	if err != nil {
		return err
	}
	table, err := sliced.Project(w.z.Subset(rows).Within(w.config.Limit), w.directions)
	if err != nil {
		return err
	}
	var values []float64
	for _, line := range table {
		for _, v := range line {
			values = append(values, float64(v))
		}
	}
	if err := release.Release(values, w.plan.Sensitivity, 0); err != nil {
		return err
	}
	for line := range slices.Chunk(values, len(rows)) {
		slices.Sort(line)
		w.released = append(w.released, line)
	}
	return nil
}

func (w *byProjections) step(step int) error {
	c := w.config
	x := w.x.Subset(w.public.Stream("batch", step).Perm(c.Records)[:c.Batch])
	return w.made.StepByParameters(x, c.LearningRate, func(made transport.Points) ([]float32, error) {
		return w.velocity(made, step)
	}, func(gradient []float32) error { return shorten(c, gradient) })
}

// velocity is −n times the derivative of (1/k)·Σ_l W²₂ between noisy projections by
// made points, [n, 2].
func (w *byProjections) velocity(made transport.Points, step int) ([]float32, error) {
	table, err := sliced.Project(made, w.directions)
	if err != nil {
		return nil, err
	}
	v, order, noisy := make([]float32, len(made.Data)), make([]int, made.Len()), make([]float64, made.Len())
	for l, line := range table {
		if err := w.public.Normal64(noisy, w.plan.NoiseStd, fmt.Sprintf("projections %d", l), step); err != nil {
			return nil, err
		}
		for i, projected := range line {
			order[i], noisy[i] = i, noisy[i]+float64(projected)
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(noisy[i], noisy[j]) })
		direction := w.directions.Row(l)
		for rank, i := range order {
			pull := float32(2 / float64(w.directions.Count) * (w.released[l][rank] - noisy[i]))
			v[2*i] += pull * direction[0]
			v[2*i+1] += pull * direction[1]
		}
	}
	return v, nil
}

// spent is that of the one release; there is nothing to be said of X once a step has
// been made of it.
func (w *byProjections) spent(steps int) (epsilon [2]privacy.Epsilon, err error) {
	if steps > 0 {
		epsilon[ofX] = privacy.Epsilon(math.Inf(1))
	}
	epsilon[ofZ] = privacy.Epsilon(math.Inf(1))
	if w.config.budget().Private() {
		result, err := accountant.Tightest{}.Epsilon(w.plan.Event(), privacy.ReplaceOne, w.config.Delta)
		if err != nil {
			return epsilon, err
		}
		epsilon[ofZ] = privacy.Epsilon(result.Epsilon)
	}
	return epsilon, nil
}

func (w *byProjections) apply(x transport.Points) (transport.Points, error) {
	return w.made.Generate(x)
}
func (w *byProjections) tell(m run.Values) (string, error) {
	m["noise"] = w.plan.NoiseStd
	return "noise is the standard deviation of that on each projection of a record", nil
}
func (w *byProjections) promise() privacy.Plan                  { return w.plan }
func (w *byProjections) close()                                 { w.made.Close() }
func (w *byProjections) save(to io.Writer, done int) error      { return w.made.Save(to, done) }
func (w *byProjections) restore(from io.Reader, done int) error { return w.made.Restore(from, done) }
