package flow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
	"molehill/transport/harmonic"
	"molehill/transport/sliced"
)

const diameter = 2 // of the unit sphere

func sphere(seed uint64, n, dim int) transport.Points {
	x := gaussian(rand.New(rand.NewPCG(seed, 5)), n, dim, 0)
	x.OnSphere()
	return x
}

func calibrated(t *testing.T, p privacy.Plan) privacy.Plan {
	t.Helper()
	p, err := privacy.Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestResampledReleasesRowsWithTheNoiseOfItsPlan(t *testing.T) {
	records := sphere(1, 400, 8)
	directions := Directions{Count: 16, Stack: true, Random: noise.Seeded(1)}
	const steps, batch = 30, 50
	worst, each, err := directions.Sensitivities(8, steps, diameter)
	if err != nil {
		t.Fatal(err)
	}
	plan := calibrated(t, privacy.Plan{
		Sensitivity: worst, Each: each, Sampler: sampling.FixedSize{Size: batch}, Records: records.Len(), Steps: steps,
		Coordinates: batch * 16, Budget: privacy.Budget{Epsilon: 5, Delta: 1e-5},
	})
	secret := noise.Seeded(2)
	target := Resampled{Records: records, Directions: directions, Diameter: diameter, Release: plan.Releaser(secret)}
	u, first, err := target.At(3)
	if err != nil {
		t.Fatal(err)
	}
	if u.Count != 16 || len(first) != 16 || len(first[0].Values) != batch {
		t.Fatalf("a release of %d directions and %d rows; want 16 and %d", len(first), len(first[0].Values), batch)
	}
	_, again, _ := target.At(3)
	if !slices.Equal(first[5].Values, again[5].Values) {
		t.Error("the same step was released twice with different noise")
	}
	if _, _, err := target.At(steps); err == nil || !strings.Contains(err.Error(), "budget is spent") {
		t.Errorf("a step beyond the plan: %v, want a refusal", err)
	}
	// Projections are within [−1, 1]; the released spread is the noise's. With
	// 24,000 values the standard deviation is within 3 % (false alarm < 10⁻¹⁰),
	// and halving the noise would be far outside.
	var squares, count float64
	for step := range steps {
		_, quantiles, err := target.At(step)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range quantiles {
			for _, v := range q.Values {
				squares, count = squares+float64(v)*float64(v), count+1
			}
		}
	}
	want := math.Sqrt(plan.NoiseStd*plan.NoiseStd + 1./8) // noise, and ⟨x, θ⟩ of unit vectors in R⁸
	if got := math.Sqrt(squares / count); !(math.Abs(got/want-1) <= 0.03) {
		t.Errorf("released values have standard deviation %v, want %v", got, want)
	}
}

func TestPresampledReleasesOnce(t *testing.T) {
	records := sphere(2, 300, 8)
	directions := Directions{Count: 24, Stack: true, Random: noise.Seeded(1)}
	worst, _, err := directions.Sensitivities(8, 1, diameter)
	if err != nil {
		t.Fatal(err)
	}
	plan := calibrated(t, privacy.Plan{Sensitivity: worst, Records: 300, Steps: 1,
		Coordinates: 300 * 24, Budget: privacy.Budget{Epsilon: 10, Delta: 1e-5}})
	target, err := NewPresampled(records, directions, 10, diameter, plan.Releaser(noise.Seeded(3)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float32][]float32{}
	for step := range 200 {
		u, q, err := target.At(step)
		if err != nil || u.Count != 10 {
			t.Fatalf("step %d: %d directions, %v", step, u.Count, err)
		}
		for j := range u.Count {
			key := u.Row(j)[0]
			if old, ok := seen[key]; ok && !slices.Equal(old, q[j].Values) {
				t.Fatal("one direction was released with two noises")
			}
			seen[key] = q[j].Values
		}
	}
	if len(seen) != 24 {
		t.Errorf("200 steps used %d of 24 directions", len(seen))
	}
	if _, err := NewPresampled(records, directions, 25, diameter, plan.Releaser(noise.Seeded(3))); err == nil {
		t.Error("25 of 24 directions a step were accepted")
	}
}

func TestSketchedFlowLandsOnItsTarget(t *testing.T) {
	records := sphere(4, 20_000, 4)
	for i := range records.Len() { // a cap of the sphere
		records.Row(i)[0] += 2
	}
	records.OnSphere()
	directions := Directions{Count: 80, Random: noise.Seeded(1)}
	const bins = 16
	u, _ := Directions{Count: 80, Stack: true, Random: directions.Random}.Draw(4, 0)
	plan := calibrated(t, privacy.Plan{
		Sensitivity: privacy.Sensitivity{Value: bins / 20_000. * u.SpectralNorm() * diameter * 1.0001, Relation: privacy.ReplaceOne},
		Records:     20_000, Steps: 1, Coordinates: 80 * bins,
		Budget: privacy.Budget{Epsilon: 5, Delta: 1e-6},
	})
	target, err := NewSketched(records, directions, bins, 20, diameter, plan.Releaser(noise.Seeded(2)))
	if err != nil {
		t.Fatal(err)
	}
	for j, q := range target.Quantiles {
		if !slices.IsSorted(q.Values) || !(q.Values[0] >= -1 && q.Values[bins-1] <= 1) {
			t.Fatalf("row %d is not an ascending row in [−1, 1]: %v", j, q.Values)
		}
	}
	f := Flow{StepSize: 2, Random: noise.Seeded(5)}
	x := f.Start(4000, 4)
	for step := range 80 {
		if err := f.Step(x, Slices{target}, step); err != nil {
			t.Fatal(err)
		}
	}
	var mean float64
	for i := range x.Len() {
		mean += float64(x.Row(i)[0]) / float64(x.Len())
	}
	var want float64
	for i := range records.Len() {
		want += float64(records.Row(i)[0]) / float64(records.Len())
	}
	if !(math.Abs(mean-want) <= 0.01) {
		t.Errorf("the particles' mean along the cap is %.4f, the records' %.4f", mean, want)
	}
}

func TestDirectionsThatDoNotStack(t *testing.T) {
	for count, want := range map[int]string{70: "use 64 or 72", 1: "use 8"} {
		_, err := Directions{Count: count, Stack: true, Random: noise.Seeded(1)}.Draw(8, 0)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%d stacked directions in R⁸: %v, want %q", count, err, want)
		}
	}
}

// Whatever a record is, it is brought within its bound before anything is released of it: a
// record far out that becomes one as far out on the other side, or no number at all, moves
// what is released no further than the sensitivity and the noise's grid allow. Noise of the
// same plan is added to both, so the difference of two releases is that of their values. All
// others lie at the origin, where records as far apart as the bound says reach nearly all of
// the sensitivity of projections: twice the bound would be seen.
func TestWildRecordsAreBounded(t *testing.T) {
	const n, dim, bins, degree = 200, 4, 4, 3
	directions := Directions{Count: 8, Stack: true, Random: noise.Seeded(1)}
	u, err := directions.Draw(dim, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := func(s privacy.Sensitivity, err error) privacy.Sensitivity {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	filled := func(v float32) []float32 { return slices.Repeat([]float32{v}, dim) }
	for name, c := range map[string]struct {
		sensitivity privacy.Sensitivity
		coordinates int
		release     func(x transport.Points, release *privacy.Releaser) error
		reach       float64 // of the sensitivity, by opposite records
	}{
		"projections": {sliced.ProjectionSensitivity(u, diameter), n * u.Count, func(x transport.Points, release *privacy.Releaser) error {
			_, err := NewPresampled(x, directions, 8, diameter, release)
			return err
		}, 0.999},
		"projections of a step": {sliced.ProjectionSensitivity(u, diameter), n * u.Count, func(x transport.Points, release *privacy.Releaser) error {
			_, _, err := Resampled{Records: x, Directions: directions, Diameter: diameter, Release: release}.At(0)
			return err
		}, 0.999},
		"sketch": {known(sliced.SketchSensitivity(u, n, bins, diameter)), bins * u.Count, func(x transport.Points, release *privacy.Releaser) error {
			_, err := NewSketched(x, directions, bins, 4, diameter, release)
			return err
		}, 0.7}, // of either side, in a bin of its own
		"moments": {known(MomentsSensitivity(n, diameter/2)), MomentsCount(dim), func(x transport.Points, release *privacy.Releaser) error {
			_, err := NewNormal(x, diameter/2, directions, release)
			return err
		}, 0.94}, // 2 of √4.5
		"embedding": {known(EmbeddingSensitivity(n)), 2 * 40, func(x transport.Points, release *privacy.Releaser) error {
			_, err := NewEmbedding(x, 40, 1, noise.Seeded(3), release)
			return err
		}, 0.1},
		"harmonics": {known(harmonic.Sensitivity(dim, degree, n)), harmonic.Size(dim, degree), func(x transport.Points, release *privacy.Releaser) error {
			_, err := NewSpherical(x, degree, directions, release)
			return err
		}, 0.8},
	} {
		plan := calibrated(t, privacy.Plan{Sensitivity: c.sensitivity, Records: n, Steps: 1, Coordinates: c.coordinates, Budget: privacy.Budget{Epsilon: 1e4, Delta: 1e-5}})
		released := func(record []float32) (values []float64) {
			x := transport.NewPoints(n, dim)
			copy(x.Row(11), record)
			release := plan.Releaser(noise.Seeded(2))
			release.Keep(func(_ int, kept []float64) error {
				values = slices.Clone(kept)
				return nil
			})
			if err := c.release(x, release); err != nil || len(values) != c.coordinates {
				t.Fatalf("%s: %d numbers, %v", name, len(values), err)
			}
			return values
		}
		before, limit := released(filled(50)), c.sensitivity.Value+noise.GridInflation(plan.NoiseStd, 0, c.coordinates)
		for wild, record := range map[string][]float32{
			"opposite": filled(-50), "zero": filled(0), "NaN": filled(float32(math.NaN())), "infinite": filled(float32(math.Inf(1))),
		} {
			moved := floats.Distance(before, released(record), 2)
			if !(moved > 0 && moved <= limit) {
				t.Errorf("%s: a record that becomes %s moves the release by %v, at most %v is planned for", name, wild, moved, limit)
			}
			if wild == "opposite" && !(moved >= c.reach*c.sensitivity.Value) {
				t.Errorf("%s: opposite records reach %v of the sensitivity only", name, moved/c.sensitivity.Value)
			}
		}
	}
}

// A plan for samples cannot be spent on all records: the target draws through
// the plan's releaser.
func TestTheTargetLooksAtWhatThePlanDraws(t *testing.T) {
	records := sphere(8, 100, 4)
	directions := Directions{Count: 8, Stack: true, Random: noise.Seeded(1)}
	worst, _, err := directions.Sensitivities(4, 1, diameter)
	if err != nil {
		t.Fatal(err)
	}
	plan := calibrated(t, privacy.Plan{Sensitivity: worst, Sampler: sampling.FixedSize{Size: 10}, Records: 100, Steps: 1,
		Coordinates: 100 * 8, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}})
	target, err := NewPresampled(records, directions, 8, diameter, plan.Releaser(noise.Seeded(2)))
	if err != nil || len(target.Quantiles[0].Values) != 10 {
		t.Errorf("a plan for 10 of 100 records released %d, %v", len(target.Quantiles[0].Values), err)
	}
	for _, n := range []int{99, 101} {
		plan.Records = n
		want := fmt.Sprintf("a plan for %d records, and 100 are there", n)
		if _, err := NewPresampled(records, directions, 8, diameter, plan.Releaser(noise.Seeded(2))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
