package tables

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"time"

	"molehill/pkg/dataset/table"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/sliced"
)

// bySketch releases a quantile sketch of the encoded rows (sliced.Sketch), and lets
// particles flow to it. It is for tables of numbers: of many categories a sketch on
// random directions sees little.
type bySketch struct {
	config     *Config
	columns    []table.Column
	starts     []int // of each column's coordinates
	dim        int
	directions sliced.Directions
	released   []float64 // noisy bin means, [directions·bins]
}

// present is the second coordinate of a value that is there, in a column whose values
// may be missing: a missing one lies at (0, −present), so that no two are more than 1
// apart.
var present = float32(math.Sqrt(3) / 4)

func newBySketch(c *Config, columns []table.Column) (*bySketch, error) {
	m := &bySketch{config: c, columns: columns}
	for _, column := range columns {
		m.starts = append(m.starts, m.dim)
		m.dim += coordinates(column)
	}
	return m, sliced.CheckMemory(m.dim, m.dim*c.Stacks)
}

func coordinates(c table.Column) int {
	switch {
	case !c.Ordered():
		return c.Levels() + 1
	case c.Missing:
		return 2
	}
	return 1
}

// diameter bounds how far two encoded rows are apart: by at most 1 in each column.
func (m *bySketch) diameter() float64 { return math.Sqrt(float64(len(m.columns))) * (1 + 1e-6) }

// radius bounds the norm of an encoded row. That it is not far above half the diameter
// is what lets float32 tell neighbours apart as finely as the sketch's sensitivity
// says (sliced.ProjectionSensitivity).
func (m *bySketch) radius() float64 { return math.Sqrt(float64(len(m.columns))/2) * (1 + 1e-6) }

// encode maps codes to points: a name to its corner of a simplex whose sides have
// length 1, a number to its place in the range, from −½ to ½.
func (m *bySketch) encode(t *table.Table) transport.Points {
	x := transport.NewPoints(t.Len(), m.dim)
	for j, c := range m.columns {
		for i, code := range t.Codes[j] {
			at := x.Data[i*m.dim+m.starts[j]:]
			switch {
			case !c.Ordered():
				at[code] = math.Sqrt2 / 2
			case code == 0 && c.Missing:
				at[1] = -present
			case code == 0: // as the middle of the range
			default:
				at[0] = float32(c.Place(code) - 0.5)
				if c.Missing {
					at[1] = present
				}
			}
		}
	}
	return x
}

// decode maps points to the nearest codes that can be.
func (m *bySketch) decode(x transport.Points) [][]table.Code {
	codes := make([][]table.Code, len(m.columns))
	for j, c := range m.columns {
		codes[j] = make([]table.Code, x.Len())
		first := 1
		if c.Missing {
			first = 0
		}
		for i := range codes[j] {
			at := x.Data[i*m.dim+m.starts[j] : i*m.dim+m.starts[j]+coordinates(c)]
			switch {
			case !c.Ordered():
				best := first
				for k := first; k < len(at); k++ {
					if at[k] > at[best] {
						best = k
					}
				}
				codes[j][i] = table.Code(best)
			case c.Missing && at[1] < 0:
			default:
				codes[j][i] = c.Nearest(float64(at[0]) + 0.5)
			}
		}
	}
	return codes
}

// draw draws the directions when they are first needed: they are public, look at nothing,
// and are the same in all runs.
func (m *bySketch) draw() sliced.Directions {
	if m.directions.Count == 0 {
		m.directions = sliced.Orthonormal(m.dim, m.config.Stacks, rand.New(rand.NewPCG(1, 0x6c696e6573)))
	}
	return m.directions
}

func (m *bySketch) Plan(n int) (privacy.Plan, error) {
	u := m.draw()
	s, err := sliced.SketchSensitivity(u, n, m.config.Bins, m.diameter())
	if err != nil {
		return privacy.Plan{}, err
	}
	return m.config.Once(s, n, u.Count*m.config.Bins)
}

// Loudness is that of a mean along a direction, which is somewhere along the diameter.
func (m *bySketch) Loudness(p privacy.Plan) (times float64, of string) {
	return p.NoiseStd / m.diameter(), "each mean along a direction"
}

func (m *bySketch) Learn(_ context.Context, _ *run.Run, t *table.Table, release *privacy.Releaser, _ int) error {
	sketch, err := sliced.NewSketch(m.encode(t), m.draw(), m.config.Bins)
	if err != nil {
		return err
	}
	sensitivity, err := sketch.Sensitivity(m.diameter())
	if err != nil {
		return err
	}
	m.released = make([]float64, 0, len(sketch.Means)*m.config.Bins)
	for _, means := range sketch.Means {
		m.released = append(m.released, means...)
	}
	return release.Release(m.released, sensitivity, 0)
}

func (*bySketch) Close() {}

// defaultFlow is how many steps particles make where the settings do not say.
const defaultFlow = 150

// mostParticles move; more rows are copies of theirs.
const mostParticles = 20_000

func (m *bySketch) Make(ctx context.Context, r *run.Run, n, rows int) ([][]table.Code, error) {
	u := m.draw()
	sketch := sliced.Sketch{Directions: u, Records: n, Means: make([][]float64, u.Count)}
	bins := m.config.Bins
	for j := range sketch.Means {
		sketch.Means[j] = m.released[j*bins : (j+1)*bins]
	}
	public := noise.Seeded(r.Spec.Seed)
	f := flow.Flow{StepSize: m.config.StepSize * float64(m.dim), Random: public}
	guide := flow.Slices{Target: &flow.Released{Directions: u, Quantiles: sketch.Quantiles(m.radius()), PerStep: m.dim, Together: m.dim, Random: public}}
	x := f.Start(min(rows, mostParticles), m.dim)
	began := time.Now()
	steps := cmp.Or(m.config.Steps, defaultFlow)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.Step(x, guide, step); err != nil {
			return nil, err
		}
		if err := r.Emit(run.Event{Step: step + 1, Total: steps, Rate: float64(step+1) / time.Since(began).Seconds()}); err != nil {
			return nil, err
		}
	}
	codes := m.decode(x)
	for j := range codes {
		for i := x.Len(); i < rows; i++ {
			codes[j] = append(codes[j], codes[j][i-x.Len()])
		}
	}
	return codes, nil
}
