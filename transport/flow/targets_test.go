package flow

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
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

// One record that is far out, or no number at all, moves the releases no more
// than the sensitivity says: noise of the same plan is added to both, so the
// difference of two releases is the difference of their values.
func TestWildRecordsAreBounded(t *testing.T) {
	const n, bins = 200, 4
	for name, wild := range map[string]float32{"far": 50, "NaN": float32(math.NaN()), "infinite": float32(math.Inf(1))} {
		records := sphere(7, n, 4)
		neighbour := records.Clone()
		for c := range neighbour.Row(11) {
			neighbour.Row(11)[c] = wild
		}
		directions := Directions{Count: 8, Stack: true, Random: noise.Seeded(1)}
		u, _ := directions.Draw(4, 0)
		sensitivity, err := sliced.SketchSensitivity(u, n, bins, diameter)
		if err != nil {
			t.Fatal(err)
		}
		plan := calibrated(t, privacy.Plan{Sensitivity: sensitivity, Records: n, Steps: 1, Coordinates: 8 * bins, Budget: privacy.Budget{Epsilon: 1e4, Delta: 1e-5}})
		table := func(x transport.Points) (values []float64) {
			sketch, err := NewSketched(x, directions, bins, 4, diameter, plan.Releaser(noise.Seeded(2)))
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range sketch.Quantiles {
				for _, v := range q.Values {
					values = append(values, float64(v))
				}
			}
			return values
		}
		before, after := table(records), table(neighbour)
		var squares float64
		for i := range before {
			squares += (before[i] - after[i]) * (before[i] - after[i])
		}
		// What is compared went through isotonic regression, which brings tables
		// nearer to each other, never further apart.
		if moved := math.Sqrt(squares); !(moved <= sensitivity.Value) {
			t.Errorf("a %s record moved the sketch by %v, its sensitivity is %v", name, moved, sensitivity.Value)
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
	plan.Records = 101
	if _, err := NewPresampled(records, directions, 8, diameter, plan.Releaser(noise.Seeded(2))); err != nil && !strings.Contains(err.Error(), "100 records") {
		t.Errorf("a plan for more records than there are: %v", err)
	}
}
