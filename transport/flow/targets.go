package flow

import (
	"errors"
	"fmt"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Directions says how a method draws its directions. They are public: they
// never depend on a record.
type Directions struct {
	Count  int  // N_θ
	Stack  bool // orthonormal bases, Count a multiple of the dimension; else independent
	Random noise.Source

	// Rounds is after how many steps the same ones come again; 0 takes fresh ones at
	// each. Particles need fresh ones: those that they have moved along before tell
	// them nothing of what lies between.
	Rounds int
}

// Draw returns the directions of a step.
func (d Directions) Draw(dim, step int) (sliced.Directions, error) {
	if d.Count < 1 {
		return sliced.Directions{}, fmt.Errorf("flow: %d directions; draw at least one", d.Count)
	}
	if dim < 1 {
		return sliced.Directions{}, fmt.Errorf("flow: directions of dimension %d; give points of at least one coordinate", dim)
	}
	if d.Rounds > 0 {
		step %= d.Rounds
	}
	rng := d.Random.Stream("directions", step)
	if !d.Stack {
		return sliced.Uniform(dim, d.Count, rng), nil
	}
	if d.Count%dim != 0 {
		bases := d.Count / dim
		nearest := fmt.Sprint((bases + 1) * dim)
		if bases > 0 {
			nearest = fmt.Sprintf("%d or %s", bases*dim, nearest)
		}
		return sliced.Directions{}, fmt.Errorf("flow: %d directions do not stack into orthonormal bases of dimension %d; use %s", d.Count, dim, nearest)
	}
	return sliced.Orthonormal(dim, d.Count/dim, rng), nil
}

// Sensitivities returns how sensitive projecting rows that are at most diameter
// apart is at each of steps draws, and the most sensitive of them: what a plan
// that serves all the steps with one noise accounts for.
func (d Directions) Sensitivities(dim, steps int, diameter float64) (worst privacy.Sensitivity, each []float64, err error) {
	for step := range steps {
		u, err := d.Draw(dim, step)
		if err != nil {
			return worst, nil, err
		}
		s := sliced.ProjectionSensitivity(u, diameter)
		each = append(each, s.Value)
		if s.Value > worst.Value {
			worst = s
		}
	}
	if steps > 1 {
		worst.Source += fmt.Sprintf("; the largest of %d draws, each accounted for as it is", steps)
	}
	return worst, each, nil
}

// Open is the non-private target (Liutkus et al. 2019 with resampling): fresh
// directions at each step, and on each the quantiles of all points.
type Open struct {
	Points     transport.Points
	Directions Directions
	// Smoothing is the standard deviation of Gaussian noise on the projections,
	// fresh at each step: the flow of the smoothed distance (000 Eq. 12), which
	// is what a private flow follows, without a promise.
	Smoothing float64
}

// At implements Target.
func (t Open) At(step int) (sliced.Directions, []transport.Quantile, error) {
	u, err := t.Directions.Draw(t.Points.Dim, step)
	if err != nil {
		return u, nil, err
	}
	projections, err := sliced.Project(t.Points, u)
	if err != nil {
		return u, nil, err
	}
	if t.Smoothing > 0 {
		n := t.Points.Len()
		smoothing := make([]float32, u.Count*n)
		if err := t.Directions.Random.Normal(smoothing, t.Smoothing, "target smoothing", step); err != nil {
			return u, nil, err
		}
		for j, row := range projections {
			for i := range row {
				row[i] += smoothing[j*n+i]
			}
		}
	}
	return u, sampleQuantiles(projections), nil
}

// sampleQuantiles sorts each row and returns their quantile functions.
func sampleQuantiles(rows [][]float32) []transport.Quantile {
	quantiles := make([]transport.Quantile, len(rows))
	transport.Parallel(len(rows), func() *transport.Sorter { return new(transport.Sorter) }, func(s *transport.Sorter, j int) {
		s.Sort(rows[j])
		quantiles[j] = transport.SampleQuantile(rows[j])
	})
	return quantiles
}

// Resampled is the target of DPSWflow-r (003 Algorithm 1): at each step fresh
// directions, a fresh sample of records, and one release of the sample's noisy
// projections X_S·U + Z.
//
// The shape of a release is public only if every sample has the same size, so
// the plan's sampler is of fixed size.
type Resampled struct {
	Records    transport.Points
	Directions Directions
	Diameter   float64 // bounds the records' distance; rows beyond half of it are shortened
	Release    *privacy.Releaser
}

// At implements Target. Asked again for a step, it draws the same records and
// the same noise.
func (t Resampled) At(step int) (sliced.Directions, []transport.Quantile, error) {
	u, err := t.Directions.Draw(t.Records.Dim, step)
	if err != nil {
		return u, nil, err
	}
	released, err := releaseProjections(t.Records, u, t.Diameter, t.Release, step)
	if err != nil {
		return u, nil, err
	}
	return u, sampleQuantiles(released), nil
}

// drawn are the records that a step of a plan draws.
func drawn(release *privacy.Releaser, step int) ([]int, error) {
	if release == nil {
		return nil, errors.New("flow: no releaser, through which records have to go; take privacy.Plan.Releaser of a calibrated plan")
	}
	return release.Draw(step)
}

// draw returns the records that a release looks at, within their diameter.
func draw(x transport.Points, diameter float64, release *privacy.Releaser, step int) (transport.Points, error) {
	rows, err := drawn(release, step)
	if err != nil {
		return x, err
	}
	if n := release.Records(); n != x.Len() {
		return x, fmt.Errorf("flow: a plan for %d records, and %d are there; calibrate one for as many", n, x.Len())
	}
	if len(rows) == 0 {
		return x, fmt.Errorf("flow: a sample of no records has no quantiles; draw at least one")
	}
	return x.Subset(rows).Within(diameter / 2), nil
}

// releaseProjections releases XU + Z by direction, [Count][n], of the n records
// that the step draws.
func releaseProjections(x transport.Points, u sliced.Directions, diameter float64, release *privacy.Releaser, step int) ([][]float32, error) {
	x, err := draw(x, diameter, release, step)
	if err != nil {
		return nil, err
	}
	rows, err := sliced.Project(x, u)
	if err != nil {
		return nil, err
	}
	n := x.Len()
	values := make([]float64, 0, n*u.Count)
	for _, row := range rows {
		for _, v := range row {
			values = append(values, float64(v))
		}
	}
	if err := release.Release(values, sliced.ProjectionSensitivity(u, diameter), step); err != nil {
		return nil, err
	}
	for j, row := range rows {
		for i := range row {
			row[i] = float32(values[j*n+i])
		}
	}
	return rows, nil
}

// Released is a target that was released once: quantile functions on fixed
// directions, of which each step takes some. Everything after the release is
// post-processing, for as many steps, restarts and particles as one likes.
type Released struct {
	Directions sliced.Directions
	Quantiles  []transport.Quantile // [Directions.Count]
	PerStep    int                  // directions a step takes
	Together   int                  // directions that are only taken together: Dim for whole bases, else 1
	Random     noise.Source         // which are taken
}

// At implements Target: PerStep directions without replacement.
func (t *Released) At(step int) (sliced.Directions, []transport.Quantile, error) {
	if err := t.check(); err != nil {
		return sliced.Directions{}, nil, err
	}
	if len(t.Quantiles) != t.Directions.Count {
		return sliced.Directions{}, nil, fmt.Errorf("flow: %d quantile functions on %d directions; give one a direction", len(t.Quantiles), t.Directions.Count)
	}
	u := sliced.Directions{Dim: t.Directions.Dim, Count: t.PerStep, Data: make([]float32, 0, t.PerStep*t.Directions.Dim)}
	quantiles := make([]transport.Quantile, 0, t.PerStep)
	groups := t.Random.Stream("choice", step).Perm(t.Directions.Count / t.Together)
	for _, group := range groups[:t.PerStep/t.Together] {
		from, to := group*t.Together, (group+1)*t.Together
		u.Data = append(u.Data, t.Directions.Slice(from, to).Data...)
		quantiles = append(quantiles, t.Quantiles[from:to]...)
	}
	return u, quantiles, nil
}

// check returns an error unless steps can be taken.
func (t *Released) check() error {
	if t.Together < 1 {
		return fmt.Errorf("flow: directions that are taken %d together; make the target with NewPresampled or NewSketched", t.Together)
	}
	if t.PerStep < t.Together || t.PerStep > t.Directions.Count || t.PerStep%t.Together != 0 {
		return fmt.Errorf("flow: %d of %d directions a step; take a multiple of %d up to %d",
			t.PerStep, t.Directions.Count, t.Together, t.Directions.Count/t.Together*t.Together)
	}
	return nil
}

// NewPresampled makes the release of DPSWflow (003 Algorithm 2, C.3): all
// directions are drawn once, the noisy projections of the records that the plan
// draws (all, or a sample) are released once, and each step takes perStep = M_θ of the directions. (The public code
// adds fresh noise to the same projections at every step, and so spends the
// budget at every step.)
func NewPresampled(records transport.Points, directions Directions, perStep int, diameter float64, release *privacy.Releaser) (*Released, error) {
	u, err := directions.Draw(records.Dim, 0)
	if err != nil {
		return nil, err
	}
	t := &Released{Directions: u, PerStep: perStep, Together: 1, Random: directions.Random}
	if err := t.check(); err != nil {
		return nil, err
	}
	rows, err := releaseProjections(records, u, diameter, release, 0)
	if err != nil {
		return nil, err
	}
	t.Quantiles = sampleQuantiles(rows)
	return t, nil
}

// NewSketched releases a quantile sketch (sliced.Sketch) on stacked orthonormal
// bases and repairs it (sliced.Sketch.Quantiles). Each step takes whole bases,
// perStep directions in all. It is of the records that the plan draws. Independent directions would do with more noise, for
// a record can move their sketch up to 1.5 times as far.
func NewSketched(records transport.Points, directions Directions, bins, perStep int, diameter float64, release *privacy.Releaser) (*Released, error) {
	directions.Stack = true
	u, err := directions.Draw(records.Dim, 0)
	if err != nil {
		return nil, err
	}
	t := &Released{Directions: u, PerStep: perStep, Together: records.Dim, Random: directions.Random}
	if err := t.check(); err != nil {
		return nil, err
	}
	if records, err = draw(records, diameter, release, 0); err != nil {
		return nil, err
	}
	sketch, err := sliced.NewSketch(records, u, bins)
	if err != nil {
		return nil, err
	}
	sensitivity, err := sketch.Sensitivity(diameter)
	if err != nil {
		return nil, err
	}
	table := make([]float64, 0, u.Count*bins)
	for _, row := range sketch.Means {
		table = append(table, row...)
	}
	if err := release.Release(table, sensitivity, 0); err != nil {
		return nil, err
	}
	for j, row := range sketch.Means {
		copy(row, table[j*bins:])
	}
	t.Quantiles = sketch.Quantiles(diameter / 2)
	return t, nil
}
