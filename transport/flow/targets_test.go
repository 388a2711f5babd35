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
	worst, err := directions.MaxSensitivity(8, steps, diameter)
	if err != nil {
		t.Fatal(err)
	}
	plan := calibrated(t, privacy.Plan{
		Sensitivity: worst, Sampler: sampling.FixedSize{Size: batch}, Records: records.Len(), Steps: steps,
		Coordinates: batch * 16, Budget: privacy.Budget{Epsilon: 5, Delta: 1e-5},
	})
	secret := noise.Seeded(2)
	target := Resampled{Records: records, Directions: directions, Diameter: diameter,
		Sampler: sampling.FixedSize{Size: batch}, Secret: secret, Release: plan.Releaser(secret)}
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
	if got := math.Sqrt(squares / count); math.Abs(got/want-1) > 0.03 {
		t.Errorf("released values have standard deviation %v, want %v", got, want)
	}
}

func TestPresampledReleasesOnce(t *testing.T) {
	records := sphere(2, 300, 8)
	directions := Directions{Count: 24, Stack: true, Random: noise.Seeded(1)}
	worst, err := directions.MaxSensitivity(8, 1, diameter)
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
		if !slices.IsSorted(q.Values) || q.Values[0] < -1 || q.Values[bins-1] > 1 {
			t.Fatalf("row %d is not an ascending row in [−1, 1]: %v", j, q.Values)
		}
	}
	f := Flow{StepSize: 2, Random: noise.Seeded(5)}
	x := f.Start(4000, 4)
	for step := range 80 {
		if err := f.Step(x, target, step); err != nil {
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
	if math.Abs(mean-want) > 0.01 {
		t.Errorf("the particles' mean along the cap is %.4f, the records' %.4f", mean, want)
	}
}

func TestDirectionsThatDoNotStack(t *testing.T) {
	_, err := Directions{Count: 70, Stack: true, Random: noise.Seeded(1)}.Draw(8, 0)
	if err == nil || !strings.Contains(err.Error(), "64 or 72") {
		t.Errorf("70 stacked directions in R⁸: %v, want 64 or 72 suggested", err)
	}
}
